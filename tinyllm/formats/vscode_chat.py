"""Requests of VS Code's chat sessions: what a human asked, and the parts of the answer.

Source: https://github.com/microsoft/vscode (src/vs/workbench/contrib/chat/common/chatModel.ts).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    from_json,
    merge,
    string_bytes,
    text_of,
    think,
    tool_call,
)

_CALL = "toolInvocationSerialized"
_THOUGHT = "thinking"
_REFERENCE = "inlineReference"
# Parts without a kind are markdown.
_MARKDOWN = frozenset({"markdownContent", "markdownVuln"})
# What is left of an edit, whose code is no text of the answer.
_EMPTY_FENCE = re.compile(r"^(`{3,10})[ \t]*\n\s{0,100}^\1[ \t]*(?:\n|\Z)", re.MULTILINE)


def requests_of(session: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The requests of a chat session; None if it is none."""
    requests = session.get("requests")
    if not isinstance(requests, list):
        return None
    if not requests:
        return requests if "sessionId" in session or "responderUsername" in session else None
    is_request = all(isinstance(request, dict) and "message" in request for request in requests)
    return requests if is_request and "response" in requests[0] else None


def requests_turns(requests: list[Any]) -> list[Turn]:
    """What is said in requests, and in the answers to them. Raises Misfit."""
    turns: list[Turn] = []
    for request in requests:
        if not isinstance(request, dict):
            raise Misfit
        message = request.get("message")
        turns.append(Turn("user", text_of(message)))
        turns += _rounds(request) or answer_turns(request.get("response"))
    return merge(turns)


def answer_turns(parts: object) -> list[Turn]:
    """The turns in the parts of an answer. Raises Misfit."""
    turns: list[Turn] = []
    words = ""
    for part in parts if isinstance(parts, list) else [parts]:
        shown = _words(part)
        if shown is not None:
            words += shown
            continue
        other = list(_other(part))
        if other:
            turns += [Turn("assistant", _EMPTY_FENCE.sub("", words)), *other]
            words = ""
    return merge([*turns, Turn("assistant", _EMPTY_FENCE.sub("", words))])


def answer_noise(requests: list[Any]) -> int:
    """Bytes in requests that show once more what is said in them."""
    metadata = (_metadata(request) for request in requests if isinstance(request, dict))
    return sum(string_bytes(found.get("renderedUserMessage")) for found in metadata)


def _metadata(request: Mapping[str, Any]) -> Mapping[str, Any]:
    result = request.get("result")
    metadata = result.get("metadata") if isinstance(result, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _rounds(request: Mapping[str, Any]) -> list[Turn]:
    """The agent's calls with arguments and results, where a request holds them.

    What was shown after the last call ends the answer if it isn't in the rounds.
    """
    metadata = _metadata(request)
    rounds, results = metadata.get("toolCallRounds"), metadata.get("toolCallResults")
    listed = [one for one in rounds if isinstance(one, dict)] if isinstance(rounds, list) else []
    turns: list[Turn] = []
    for one in listed:
        turns.append(Turn("assistant", think(_thinking(one.get("thinking")))))
        turns.append(Turn("assistant", first_text(one, ("response",))))
        calls = one.get("toolCalls")
        made = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        turns += [Turn("assistant", tool_call(call)) for call in made]
        turns += [Turn("env", _result(results, call.get("id"))) for call in made]
    if not any(turn.role == "env" or "<tool_call>" in turn.text for turn in turns):
        return []
    shown = answer_turns(request.get("response"))
    said = "\n".join(turn.text for turn in turns)
    if shown and shown[-1].role == "assistant":
        last = shown[-1].text.rpartition("</tool_call>")[2].strip()
        turns.append(Turn("assistant", "" if last in said else last))
    return turns


def _thinking(value: object) -> str:
    text = value.get("text") if isinstance(value, dict) else value
    return "".join(map(text_of, text)) if isinstance(text, list) else text_of(text)


def _result(results: object, name: object) -> str:
    found = results.get(name) if isinstance(results, dict) and isinstance(name, str) else None
    content = found.get("content") if isinstance(found, dict) else found
    listed = content if isinstance(content, list) else [content]
    return "\n".join(text_of(part) for part in listed)


def _words(part: object) -> str | None:
    """A part that is shown as running text; None for another."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    kind = part.get("kind")
    if kind == _REFERENCE:
        return _reference(part)
    if kind is None or (isinstance(kind, str) and kind in _MARKDOWN):
        return first_text(part, ("value", "content")) or _spaces(part)
    return None


def _spaces(part: Mapping[str, Any]) -> str:
    value = part.get("value")
    return value if isinstance(value, str) else ""


def _reference(part: Mapping[str, Any]) -> str:
    """What a link in the text shows: a name, or the last part of a path."""
    target = part.get(_REFERENCE)
    found = target if isinstance(target, dict) else {}
    location = found.get("location", found)
    place = location.get("uri", location) if isinstance(location, dict) else {}
    path = first_text(place, ("path", "fsPath")) if isinstance(place, dict) else ""
    name = first_text(part, ("name",)) or first_text(found, ("name",)) or path.rpartition("/")[2]
    return f"`{name}`" if name else ""


def _other(part: object) -> Iterator[Turn]:
    """Thoughts, calls and their results; other parts are for the screen."""
    if not isinstance(part, dict):
        return
    if part.get("kind") == _THOUGHT:
        yield Turn("assistant", think(_thinking(part.get("value"))))
    if part.get("kind") == _CALL:
        details = part.get("resultDetails")
        found = details if isinstance(details, dict) else {}
        yield Turn("assistant", tool_call({"name": part.get("toolId"), "arguments": _asked(part)}))
        yield Turn("env", text_of(found.get("output")))


def _asked(part: Mapping[str, Any]) -> object:
    """What a call asked for, as far as the screen told it."""
    details, data = part.get("resultDetails"), part.get("toolSpecificData")
    if isinstance(details, dict) and isinstance(details.get("input"), str):
        asked = from_json(details["input"])
        return asked if isinstance(asked, dict) else {"input": details["input"]}
    if isinstance(data, dict):
        line = data.get("commandLine", data.get("command"))
        command = line.get("original") if isinstance(line, dict) else line
        if isinstance(command, str):
            return {"command": command}
    message = first_text(part, ("pastTenseMessage", "invocationMessage"))
    return {"message": message} if message else {}

"""Contents of the Gemini interface: `role` and `parts`, as several agents log them.

Source: https://ai.google.dev/api/caching#Content.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    first_text,
    role_of,
    string_bytes,
    text_of,
    think,
    tool_call,
    turns_of,
)
from tinyllm.formats.human_words import answers_in
from tinyllm.formats.injected import Injected

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "model": "assistant",
    "function": "env",
    "tool": "env",
    "system": "system",
}
_RESULT_KEYS = ("output", "error", "result", "content")
_ASKING = "ask_user"  # also the beginning of `ask_user_question`
_FILE_KEYS = ("inlineData", "inline_data", "fileData", "file_data")
_SIGNATURES = ("thoughtSignature", "thought_signature")
_PART_KEYS = frozenset({
    "text", "thought", "functionCall", "functionResponse", "function_call", "function_response",
    "executableCode", "codeExecutionResult", *_FILE_KEYS,
})  # fmt: skip

_INJECTED = Injected(
    names=[
        r"[a-z]+(?:_[a-z]+)*_(?:context|snapshot|reminder|notification|instructions|history)",
        r"system-reminder|task-notification",
    ],
    openings=[
        "This is the Gemini CLI. We are setting up the context for our chat",
        "This is the Qwen Code. We are setting up the context for our chat",
        "Here is the user's editor context as a JSON object",
        "Here is a summary of changes in the user's editor context",
        "System: Potential loop detected",
    ],
)
_FILES = "--- Content from referenced files ---"
_END_OF_FILES = "--- End of content ---"
# What the program answers itself in the agent's name, to keep the roles in turn.
_CANNED = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")


def is_content(value: object) -> bool:
    """True for a content: a known role, and parts of a kind that only this interface has."""
    if not isinstance(value, dict):
        return False
    role, parts = value.get("role", "user"), value.get("parts")
    if not isinstance(role, str) or role not in _ROLES or not isinstance(parts, list):
        return False
    first = parts[0] if parts else {"text": ""}
    return isinstance(first, dict) and "type" not in first and not _PART_KEYS.isdisjoint(first)


def content_turns(content: Mapping[str, Any]) -> list[Turn]:
    """The turns of a content, one or more a part. Raises Misfit."""
    return parts_turns(content.get("parts"), role_of(content.get("role", "user"), _ROLES))


def parts_turns(parts: object, role: Role) -> list[Turn]:
    """The turns in a text, a part or a list of parts; under `user`, split from what a program
    put there. Raises Misfit.
    """
    listed = parts if isinstance(parts, list) else [parts]
    turns = [turn for part in listed for turn in _part(part, role) if turn.text.strip()]
    return [turn for turn in _split(turns) if turn.text.strip()]


def parts_noise(parts: object) -> int:
    """Bytes of parts that are signatures, or the bytes of files."""
    listed = parts if isinstance(parts, list) else [parts]
    keys = (*_FILE_KEYS, *_SIGNATURES)
    return sum(
        string_bytes(p[key]) for p in listed if isinstance(p, dict) for key in keys if key in p
    )


def _part(part: object, role: Role) -> list[Turn]:
    if not isinstance(part, dict):
        return turns_of(part, role)
    call = part.get("functionCall", part.get("function_call", part.get("executableCode")))
    if isinstance(call, dict):
        name = call.get("name", "code_execution")
        arguments = call.get("args", call if "name" not in call else None)
        return [Turn("assistant", tool_call({"name": name, "arguments": arguments}))]
    keys = ("functionResponse", "function_response", "codeExecutionResult")
    result = next((part[key] for key in keys if isinstance(part.get(key), dict)), None)
    if result is not None:
        text, name = _result(result.get("response", result)), result.get("name")
        is_answer = isinstance(name, str) and name.startswith(_ASKING)
        words = answers_in(text) if is_answer else ""
        return [Turn("user", words) if words else Turn("env", text)]
    if part.get("thought"):
        thought = part["thought"] if isinstance(part["thought"], str) else ""
        return [Turn("assistant", think(first_text(part, ("text",)) or thought))]
    if any(key in part for key in _FILE_KEYS):
        return []
    return turns_of({key: part[key] for key in part if key not in _SIGNATURES}, role)


def _result(response: object) -> str:
    """A result as text: what stands alone under one key, or all of it as JSON."""
    if isinstance(response, dict):
        said = {key: value for key, value in response.items() if key not in ("outcome", "id")}
        if len(said) == 1 and (text := first_text(said, _RESULT_KEYS)):
            return text
    return text_of(response)


def _split(turns: list[Turn]) -> Iterator[Turn]:
    """What a human said apart from what a program put there; its own answers to that."""
    in_files = False
    for turn in turns:
        if turn.role == "assistant" and turn.text.strip() in _CANNED:
            yield Turn("env", turn.text)
            continue
        if turn.role != "user":
            yield turn
            continue
        said, files = ("", turn.text) if in_files else _cut(turn.text, _FILES)
        yield from _INJECTED.split(said)
        if files:
            at = files.find(_END_OF_FILES)
            end = at + len(_END_OF_FILES) if at >= 0 else len(files)
            in_files = at < 0
            yield Turn("env", files[:end].strip("\r\n"))
            yield from _INJECTED.split(files[end:].strip("\r\n"))


def _cut(text: str, mark: str) -> tuple[str, str]:
    """A text before a mark, and from the mark on."""
    at = text.find(mark)
    return (text, "") if at < 0 else (text[:at].rstrip("\r\n"), text[at:])

"""Gemini CLI sessions, and the Gemini interface's `contents` of `role` and `parts`.

A session is one JSON object with `messages`, or in later versions a header line, a line for each
message, and patches. A message is written again when its calls end, with their results: what was
said before is then a duplicate.
Source: https://github.com/google-gemini/gemini-cli (chatRecordingTypes.ts).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    json_text,
    merge,
    string_bytes,
    text_of,
    think,
    tool_call,
)
from tinyllm.formats.gemini_parts import content_turns, is_content, parts_noise, parts_turns
from tinyllm.formats.parsed import Parsed

NAME = "gemini_cli"

_LISTS = ("contents", "history")
_SYSTEM = ("systemInstruction", "system_instruction")
_PATCHES = ("$set", "$rewindTo")
KEYS = frozenset({"messages", "type", "parts", "projectHash", *_LISTS, *_PATCHES})

_THREAD = ""  # a file is a session
_SPEAKERS: Mapping[str, Role] = {
    "user": "user",
    "gemini": "assistant",
    "model": "assistant",
    "info": "env",
    "error": "env",
    "warning": "env",
}
_SAYING = ("content", "parts", "toolCalls", "thoughts")
# Keys of other agents' lines that have such a `type` too.
_OTHERS = frozenset({"message", "uuid", "data", "payload", "parentId", "role"})


def recognise(record: dict[str, Any]) -> bool:
    if is_content(record):
        return "type" not in record or record["type"] == "content"
    if any(_are_contents(record.get(key)) for key in _LISTS):
        return True
    if "messages" in record:
        return _is_session(record)
    if any(key in record for key in _PATCHES):
        return len(record) == 1
    if "type" in record:
        return _is_line(record)
    return isinstance(record.get("projectHash"), str) and "sessionId" in record


def parse(record: dict[str, Any]) -> Parsed | Sequence[Parsed] | None:
    try:
        return _parse(record)
    except (Misfit, RecursionError):
        return None


def _parse(record: dict[str, Any]) -> Parsed | Sequence[Parsed]:
    if is_content(record):
        parts = record.get("parts")
        return _joined(merge(content_turns(record)), noise=parts_noise(parts))
    for key in _LISTS:
        if _are_contents(record.get(key)):
            return _conversation(record, record[key])
    if "messages" in record:
        messages = _members(record["messages"])
        turns = merge(turn for message in messages for turn in _turns(message))
        return Parsed(tuple(turns), noise=sum(map(_noise, messages)))
    if "$set" in record:
        return _patch(record["$set"])
    return _line(record) if "type" in record else Parsed()


def _are_contents(value: object) -> bool:
    return isinstance(value, list) and bool(value) and is_content(value[0])


def _is_session(record: dict[str, Any]) -> bool:
    messages = record["messages"]
    if not isinstance(messages, list):
        return False
    if not messages:
        return "projectHash" in record and "sessionId" in record
    first = messages[0]
    return isinstance(first, dict) and _is_message(first)


def _is_message(message: dict[str, Any]) -> bool:
    kind = message.get("type")
    is_known = isinstance(kind, str) and kind in _SPEAKERS and _OTHERS.isdisjoint(message)
    return is_known and any(key in message for key in _SAYING)


def _is_line(record: dict[str, Any]) -> bool:
    return _is_message(record) and "id" in record and "timestamp" in record


def _members(values: object) -> list[dict[str, Any]]:
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise Misfit
    return values


def _conversation(record: dict[str, Any], contents: object) -> Parsed:
    """A request to the interface, or a saved chat: a document of its own."""
    system = next((record[key] for key in _SYSTEM if key in record), None)
    told = system.get("parts") if isinstance(system, dict) and "parts" in system else system
    turns = parts_turns(told, "system")
    members = _members(contents)
    turns += [turn for content in members for turn in content_turns(content)]
    noise = sum(parts_noise(content.get("parts")) for content in members)
    return Parsed(tuple(merge(turns)), noise=noise)


def _turns(message: dict[str, Any]) -> list[Turn]:
    """What a message says: thoughts, text, calls, and their results, each a turn."""
    kind = message.get("type")
    role = _SPEAKERS.get(kind, "env") if isinstance(kind, str) else "env"
    text = parts_turns(message.get("content", message.get("parts")), role)
    if role != "assistant":
        return text
    thoughts = _thoughts(message.get("thoughts"))
    calls = _members(message.get("toolCalls") or [])
    made = [Turn("assistant", tool_call(call)) for call in calls]
    results = [turn for call in calls for turn in _results(call)]
    return [*thoughts, *text, *made, *results]


def _results(call: dict[str, Any]) -> list[Turn]:
    """What came of a call; of one that never ran, why."""
    return parts_turns(call.get("result"), "env") or parts_turns(call.get("error"), "env")


def _thoughts(thoughts: object) -> Iterator[Turn]:
    listed = thoughts if isinstance(thoughts, list) else [thoughts]
    texts = [_thought(thought) for thought in listed]
    if said := "\n\n".join(text for text in texts if text):
        yield Turn("assistant", think(said))


def _thought(thought: object) -> str:
    """A thought as the model wrote it: its subject in bold, then the rest."""
    if not isinstance(thought, dict):
        return text_of(thought)
    subject, rest = first_text(thought, ("subject",)), first_text(thought, ("description", "text"))
    return f"**{subject}** {rest}".strip() if subject else rest


def _noise(message: dict[str, Any]) -> int:
    calls = message.get("toolCalls")
    listed = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    shown = sum(string_bytes(call.get("resultDisplay")) for call in listed)
    files = sum(parts_noise(call.get("result")) for call in listed)
    return shown + files + parts_noise(message.get("content")) + _display(message)


def _display(message: dict[str, Any]) -> int:
    return string_bytes(message.get("displayContent"))


def _line(message: dict[str, Any]) -> Sequence[Parsed]:
    """A message in pieces: where it is written again, only what is new isn't a duplicate."""
    name = message.get("id")
    known = isinstance(name, str) and bool(name)
    times: Counter[tuple[str | None, str]] = Counter()
    pieces = []
    for turn in _turns(message):
        times[turn.role, turn.text] += 1
        identity = json_text([name, turn.role, times[turn.role, turn.text], turn.text])
        pieces.append(replace(_joined([turn]), identity=identity if known else None))
    if not pieces:
        return [replace(_joined([], _noise(message)), ends=message.get("type") == "user")]
    return [*pieces[:-1], replace(pieces[-1], noise=_noise(message))]


def _patch(patch: object) -> Parsed:
    """A patch of the session; messages in it were written before, as lines."""
    messages = patch.get("messages") if isinstance(patch, dict) else None
    if messages is None:
        return Parsed()
    said = [turn for message in _members(messages) for turn in _turns(message)]
    return Parsed(tuple(said), thread=_THREAD, mirrors=True)


def _joined(turns: Sequence[Turn], noise: int = 0) -> Parsed:
    joins = bool(turns) and turns[0].role == "assistant"
    return Parsed(tuple(turns), thread=_THREAD, joins=joins, noise=noise)

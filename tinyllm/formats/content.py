"""What messages of several formats have in common: content in parts, tool calls, reasoning.

Within one message, neighbouring parts of the same speaker become one turn, with one blank line
between them: reasoning as `<think>…</think>`, text as it stands, a call as `<tool_call>`. Models
open their text with line ends where reasoning or a call went before; those are no speech.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import groupby
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.parsed import Parsed

SEPARATOR = "\n\n"
_LINE_ENDS = "\r\n"

_THOUGHTS = frozenset({"thinking", "reasoning", "think"})
_CALLS = frozenset({"tool_use", "tool_call", "function_call", "server_tool_use", "mcp_tool_use"})
_RESULT = "tool_result"  # also the end of `web_search_tool_result` and its like
_PAGE, _PAGE_KEYS = "web_search_result", ("title", "url")
_DOCUMENT = "document"
_MEDIA = frozenset({"image", "image_url", "input_image", "audio", "input_audio", "video", "file"})
_TEXT_KEYS = ("text", "value", "content", "refusal")
_THOUGHT_KEYS = ("thinking", "reasoning", "think", *_TEXT_KEYS)
_ARGUMENT_KEYS = ("arguments", "input", "args", "parameters")
# Signatures, encrypted reasoning, and what carries the bytes of images and files.
_NOISE_KEYS = ("signature", "encrypted_content", "data", "source", "image_url")


_encode = json.JSONEncoder(ensure_ascii=False).encode


class Misfit(Exception):
    """A record has the keys of a format, but its values don't fit."""


Parse = Callable[[dict[str, Any]], Parsed]


def unfit_is_unknown(parse: Parse) -> Callable[[dict[str, Any]], Parsed | None]:
    """Make None, an unknown shape, of a record that doesn't fit or is nested too deeply."""

    @wraps(parse)
    def checked(record: dict[str, Any]) -> Parsed | None:
        try:
            return parse(record)
        except (Misfit, RecursionError):
            return None

    return checked


def role_of(name: object, table: Mapping[str, Role]) -> Role:
    """The role that a speaker's name stands for, in any letter case. Raises Misfit."""
    role = table.get(name.strip().lower()) if isinstance(name, str) else None
    if role is None:
        raise Misfit
    return role


def json_text(value: object) -> str:
    """A value as JSON on one line, keys in the order of the log. Raises Misfit."""
    try:
        return _encode(value)
    except ValueError as error:  # an integer of more digits than Python prints
        raise Misfit from error


def from_json(text: str) -> Any:
    """The value that a string holds as JSON; None if it holds none."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def first_text(record: Mapping[str, Any], keys: Iterable[str]) -> str:
    """The first string that isn't blank under one of the keys; "" without one."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, dict):  # {"text": {"value": …}}
            value = value.get("value")
        if isinstance(value, str) and value.strip():
            return value
    return ""


def think(reasoning: str) -> str:
    """Reasoning as it stands in the assistant's turn; "" if there is none."""
    return f"<think>{reasoning.strip()}</think>" if reasoning.strip() else ""


def tool_call(call: Mapping[str, Any]) -> str:
    """One call of a tool, whose arguments are an object or JSON text of one.

    Takes `{"name", "arguments" | "input" | "args"}`, the same under `function`, or JSON text
    of it under `value`.
    """
    inner = call.get("function", call.get("value"))
    if isinstance(inner, dict):
        call = inner
    elif isinstance(inner, str) and "name" not in call:
        return written_call(inner)
    given = (call[key] for key in _ARGUMENT_KEYS if call.get(key) is not None)
    arguments: object = next(given, {})
    if isinstance(arguments, str):
        decoded = from_json(arguments) if arguments.strip() else {}
        arguments = decoded if isinstance(decoded, dict) else arguments
    return _wrapped(json_text({"name": call.get("name"), "arguments": arguments}))


def written_call(text: str) -> str:
    """A call that a log holds as JSON text; other text stays as it is within the tags."""
    value = from_json(text)
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return tool_call(value)
    return _wrapped(text.strip()) if text.strip() else ""


def _wrapped(call: str) -> str:
    return f"<tool_call>\n{call}\n</tool_call>"


def turns_of(content: object, role: Role) -> list[Turn]:
    """The turns in a message's content: a string, null, a part, or a list of parts.

    A call is the assistant's, a result the environment's, whoever sends the message; text is
    `role`'s. Raises Misfit.
    """
    parts = content if isinstance(content, list) else [content]
    return merge(turn for part in parts for turn in _part(part, role))


def text_of(content: object) -> str:
    """All that a content says, as one text. Raises Misfit."""
    return SEPARATOR.join(turn.text for turn in turns_of(content, "env"))


def merge(turns: Iterable[Turn]) -> list[Turn]:
    """Neighbours of one role as one turn each; blank ones, and line ends before speech, go."""
    merged: list[Turn] = []
    for turn in turns:
        if not turn.text.strip():
            continue
        if merged and merged[-1].role == turn.role:
            merged[-1] = Turn(turn.role, join(merged[-1].text, turn.text))
        elif turn.role == "assistant" and turn.text[0] in _LINE_ENDS:
            merged.append(Turn(turn.role, turn.text.lstrip(_LINE_ENDS)))
        else:
            merged.append(turn)
    return merged


def answers_joined(turns: Iterable[Turn]) -> list[Turn]:
    """The reasoning, calls and words that follow each other are one turn of the assistant."""
    joined: list[Turn] = []
    for answers, group in groupby(turns, key=lambda turn: turn.role == "assistant"):
        following = list(group)
        joined += merge(following) if answers else following
    return joined


def join(text: str, part: str) -> str:
    """Two parts of a turn as one text, with exactly one blank line between them."""
    return text.rstrip(_LINE_ENDS) + SEPARATOR + part.lstrip(_LINE_ENDS)


def _part(part: object, role: Role) -> list[Turn]:
    if part is None:
        return []
    if isinstance(part, dict):
        return _typed_part(part, role)
    return [Turn(role, part if isinstance(part, str) else json_text(part))]


def _typed_part(part: dict[str, Any], role: Role) -> list[Turn]:
    kind = part.get("type")
    text = first_text(part, _TEXT_KEYS)
    if not isinstance(kind, str):
        return [Turn(role, text or json_text(part))] if part else []
    if kind in _THOUGHTS:
        return [Turn("assistant", think(first_text(part, _THOUGHT_KEYS)))]
    if kind in _CALLS:
        return [Turn("assistant", tool_call(part))]
    if kind.endswith(_RESULT) or kind in (_PAGE, _DOCUMENT):
        return [Turn("env", _found(part, kind) or text)]
    return [] if kind in _MEDIA else [Turn(role, text)]


def _found(part: Mapping[str, Any], kind: str) -> str:
    """The text of what a tool found or a message brought along."""
    if kind == _DOCUMENT:
        return _attached(part)
    if kind == _PAGE:
        return "\n".join(filter(None, (first_text(part, (key,)) for key in _PAGE_KEYS)))
    return text_of(part.get("content"))


def _attached(part: Mapping[str, Any]) -> str:
    """The text of a document that came along with a message; "" if it isn't text."""
    source = part.get("source")
    if not isinstance(source, dict):
        return ""
    if source.get("type") == "text":
        return first_text(source, ("data",))
    return text_of(source.get("content"))


def noise_bytes(content: object) -> int:
    """Bytes of text in a content that are signatures, encrypted, or the bytes of a file."""
    total = 0
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            kind = value.get("type")
            is_text = kind == _DOCUMENT and bool(_attached(value))
            keys = (
                key for key in _NOISE_KEYS if key in value and not (is_text and key == "source")
            )
            total += sum(string_bytes(value[key]) for key in keys)
            if isinstance(kind, str) and kind.endswith(_RESULT):
                waiting.append(value.get("content"))
    return total


def string_bytes(value: object) -> int:
    """Bytes of UTF-8 in all strings of a value, keys left out."""
    total = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            total += len(item) if item.isascii() else len(item.encode("utf-8", "surrogatepass"))
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            waiting += item.values()
    return total

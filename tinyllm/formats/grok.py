"""Grok's command line: `chat_history.jsonl`, lines of `type` and `content` without ids or times.

Source: https://github.com/jazzyalex/agent-sessions, whose fixtures document the shape.
"""

import re
from collections.abc import Iterator
from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.blocks import blocks
from tinyllm.formats.content import (
    Misfit,
    merge,
    noise_bytes,
    text_of,
    think,
    tool_call,
    turns_of,
    unfit_is_unknown,
)
from tinyllm.formats.injected import Injected
from tinyllm.formats.parsed import Parsed

NAME = "grok"
KEYS = frozenset({"type"})

_THREAD = ""  # a file is a session
_SPEAKERS = frozenset({"system", "user", "assistant"})
# Keys of other logs' lines with such a `type`, or of records that nobody says.
_OTHERS = frozenset({
    "message", "messages", "uuid", "id", "timestamp", "time", "sessionId", "session_id", "role",
    "data", "payload", "parts", "text", "name", "from", "title", "subtype",
})  # fmt: skip
_QUERY = re.compile(r"<(user_query)>")
_INJECTED = Injected(
    names=[
        r"user_info|git_status|project_layout|agent_skills|rules|mcp_[a-z_]+|system-reminder",
        r"[a-z]+(?:_[a-z]+)*_(?:context|reminder|instructions|notification)",
    ]
)


def recognise(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _SPEAKERS:
        return "content" in record and _OTHERS.isdisjoint(record)
    if kind == "reasoning":  # beside the Responses interface's, it tells its status and is sealed
        is_sealed = isinstance(record.get("status"), str) and "encrypted_content" in record
        return is_sealed and isinstance(record.get("summary"), list) and "content" not in record
    if kind == "tool_result":
        return "tool_call_id" in record and "content" in record
    return kind == "backend_tool_call" and isinstance(record.get("kind"), dict)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    turns = merge(_turns(record))
    return Parsed(
        tuple(turns),
        thread=_THREAD,
        joins=bool(turns) and turns[0].role == "assistant",
        ends=not turns and record.get("type") in ("tool_result", "user"),
        noise=noise_bytes([record]) + noise_bytes(record.get("content")),
    )


def _turns(record: dict[str, Any]) -> list[Turn]:
    kind, content = record.get("type"), record.get("content")
    if kind == "user":
        return _user(content, record.get("synthetic_reason"))
    if kind == "assistant":
        return [*turns_of(content, "assistant"), *_calls(record.get("tool_calls"))]
    if kind == "reasoning":
        return [Turn("assistant", think(text_of(record.get("summary"))))]
    if kind == "backend_tool_call":
        call = record.get("kind")
        if not isinstance(call, dict):
            raise Misfit
        asked = {"name": call.get("tool_type"), "arguments": call.get("action")}
        return [Turn("assistant", tool_call(asked))]
    return turns_of(content, "system" if kind == "system" else "env")


def _user(content: object, synthetic: object) -> list[Turn]:
    """What stands under `user`: a program's if a reason is given why it was made up."""
    if synthetic:
        return turns_of(content, "env")
    parts = content if isinstance(content, list) else [content]
    texts = [turn.text for part in parts for turn in turns_of(part, "user")]
    return [turn for text in texts for turn in _human(text)]


def _human(text: str) -> Iterator[Turn]:
    """The human's words, which stand in `<user_query>` where a program says more around them."""
    done = 0
    for query in blocks(text, _QUERY):
        yield Turn("env", text[done : query.begin].strip())
        yield Turn("user", text[query.inner : query.inner_end].strip())
        done = query.end
    if done:
        yield Turn("env", text[done:].strip())
    else:
        yield from _INJECTED.split(text)


def _calls(calls: object) -> Iterator[Turn]:
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            yield Turn("assistant", tool_call(call))

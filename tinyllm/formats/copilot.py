"""GitHub Copilot: the command line's events, and the chat sessions that VS Code keeps.

Events are lines of `type` and `data`. A chat session is one JSON object with `requests`, or in
later versions a snapshot of it (`kind` 0) and changes (`kind` 1 to 3): while an answer is written,
the parts of it that are shown already are written again, and calls get their results later.
Source: https://github.com/microsoft/vscode (src/vs/workbench/contrib/chat/common/chatModel.ts).
"""

from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    string_bytes,
    text_of,
    think,
    tool_call,
    turns_of,
    unfit_is_unknown,
)
from tinyllm.formats.parsed import Change, Parsed
from tinyllm.formats.vscode_chat import answer_noise, answer_turns, requests_of, requests_turns

NAME = "copilot"
KEYS = frozenset({"data", "requests", "kind"})

_ENVELOPE = ("type", "id", "timestamp")
_CHANGE_KEYS = frozenset({"kind", "k", "v", "i"})
_SNAPSHOT, _SET, _PUSH, _DELETE = range(4)
_OTHERS_SAY: tuple[tuple[str, Role, str], ...] = (
    ("system.message", "system", "content"),
    ("system.notification", "env", "content"),
    ("skill.invoked", "env", "content"),
    ("session.error", "env", "message"),
    ("session.warning", "env", "message"),
)
# What an event holds beside its speech: the same once more, or sealed.
_COPIES = ("transformedContent", "encryptedContent", "reasoningOpaque")


def recognise(record: dict[str, Any]) -> bool:
    if "requests" in record:
        return requests_of(record) is not None
    if "data" in record:
        return _is_event(record)
    kind = record.get("kind")
    if isinstance(kind, bool) or not isinstance(kind, int) or not _CHANGE_KEYS.issuperset(record):
        return False
    if kind == _SNAPSHOT:
        return isinstance(record.get("v"), dict) and "requests" in record["v"]
    return kind in (_SET, _PUSH, _DELETE) and isinstance(record.get("k"), list)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    if "data" in record:
        return _event(record)
    if "requests" in record:
        return _session(record, thread=None)
    if record.get("kind") == _SNAPSHOT:
        snapshot = _session(record.get("v"), thread="")
        name = first_text(record["v"], ("sessionId",))
        snapshot.change = Change("set", (), record["v"], of=name)
        return snapshot
    added = _added(record)
    added.change = _change(record)
    return added


def _is_event(record: dict[str, Any]) -> bool:
    if not isinstance(record["data"], dict) or not all(key in record for key in _ENVELOPE):
        return False
    kind = record["type"]
    return isinstance(kind, str) and ("parentId" in record or "." in kind)


def _event(record: dict[str, Any]) -> Parsed:
    data = record["data"]
    if not isinstance(data, dict):
        raise Misfit
    kind = record.get("type")
    mirrors = kind == "assistant.reasoning"
    turns = [turn for turn in _turns(kind, data) if turn.text.strip()]
    agent = data.get("parentToolCallId")
    name = record.get("id")
    known = isinstance(name, str) and bool(name) and bool(turns)
    return Parsed(
        tuple(turns),
        thread=agent if isinstance(agent, str) else "",
        joins=not mirrors and bool(turns) and turns[0].role == "assistant",
        ends=not turns and kind in ("tool.execution_complete", "user.message"),
        mirrors=mirrors,
        identity="\0".join([str(name), *map(_sameness, turns)]) if known else None,
        noise=_noise(data),
    )


def _sameness(turn: Turn) -> str:
    return f"{turn.role} {turn.text}"


def _turns(kind: object, data: dict[str, Any]) -> list[Turn]:
    content = data.get("content")
    if kind == "user.message":
        is_agents = isinstance(data.get("parentAgentTaskId"), str)
        return turns_of(content, "env" if is_agents else "user")
    if kind == "assistant.message":
        return _message(data)
    if kind == "assistant.reasoning":
        return [Turn("assistant", think(text_of(content)))]
    if kind == "tool.execution_complete":
        return _result(data)
    for name, role, key in _OTHERS_SAY:
        if kind == name:
            return turns_of(data.get(key), role)
    return []


def _message(data: dict[str, Any]) -> list[Turn]:
    calls = data.get("toolRequests")
    made = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    thought = Turn("assistant", think(text_of(data.get("reasoningText"))))
    words = turns_of(data.get("content"), "assistant")
    return [thought, *words, *(Turn("assistant", tool_call(call)) for call in made)]


def _result(data: dict[str, Any]) -> list[Turn]:
    result, error = data.get("result"), data.get("error")
    said = result.get("content") if isinstance(result, dict) else result
    failure = first_text(error, ("message",)) if isinstance(error, dict) else text_of(error)
    return [Turn("env", text_of(said)), Turn("env", failure)]


def _noise(data: dict[str, Any]) -> int:
    result = data.get("result")
    details = result.get("detailedContent") if isinstance(result, dict) else None
    return string_bytes([data.get(key) for key in _COPIES]) + string_bytes(details)


def _session(session: object, thread: str | None) -> Parsed:
    requests = session.get("requests") if isinstance(session, dict) else None
    if not isinstance(requests, list):
        raise Misfit
    turns = requests_turns(requests)
    return Parsed(tuple(turns), thread=thread, noise=answer_noise(requests))


def _added(record: dict[str, Any]) -> Parsed:
    """Requests, or parts of an answer, where a change tells of them by itself."""
    path, value = record.get("k"), record.get("v")
    if not isinstance(path, list) or not isinstance(value, list):
        return Parsed()
    if path == ["requests"]:
        return Parsed(tuple(requests_turns(value)), thread="", noise=answer_noise(value))
    if len(path) == 3 and path[0] == "requests" and path[2] == "response":
        return Parsed(tuple(answer_turns(value)), thread="", joins=True)
    return Parsed()


def _change(record: dict[str, Any]) -> Change | None:
    path, value, start = record.get("k"), record.get("v"), record.get("i")
    if not isinstance(path, list) or not path or not all(_is_step(step) for step in path):
        return None
    if record.get("kind") == _PUSH:
        is_count = isinstance(start, int) and start >= 0
        return Change("push", tuple(path), value or [], start if is_count else None)
    return Change("set" if record.get("kind") == _SET else "delete", tuple(path), value)


def _is_step(step: object) -> bool:
    return isinstance(step, str | int) and not isinstance(step, bool)

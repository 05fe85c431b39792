"""Claude Code sessions: a line for each block of a message, and lines that are no speech.

Threads are sessions; a sub-agent's lines are a thread of their own. What stands under `user`
is a human's only where neither a flag nor the text says that a program wrote it.
"""

import re
from collections.abc import Sequence
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    merge,
    noise_bytes,
    string_bytes,
    text_of,
    turns_of,
    unfit_is_unknown,
)
from tinyllm.formats.human_words import human_pieces, refusal_pieces
from tinyllm.formats.parsed import Parsed

NAME = "claude_code"
KEYS = frozenset({"type"})

_SPEAKERS = frozenset({"user", "assistant"})
_SESSION_KEYS = ("sessionId", "session_id")
_CALL_ID_KEYS = ("id", "tool_use_id")
_MACHINE_FLAGS = ("isMeta", "isCompactSummary", "isSynthetic", "toolUseResult")
_SUB_AGENT_KEYS = ("isSidechain", "agentId", "parent_tool_use_id")
# Lines about the session, and a key that such a line has.
_NO_SPEECH = {
    "progress": "data",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
    "summary": "summary",
    "attachment": "attachment",
    "permission-mode": "permissionMode",
    "mode": "mode",
    "agent-name": "agentName",
    "custom-title": "customTitle",
    "ai-title": "aiTitle",
    "last-prompt": "lastPrompt",
    "frame-link": "frameUrl",
    "pr-link": "prUrl",
    "relocated": "relocatedCwd",
    "worktree-state": "worktreeSession",
    "bridge-session": "bridgeSessionId",
    "atis-latch": "atis",
    "cost-state": "sessionId",
    "stream_event": "event",
    "rate_limit_event": "session_id",
    "started": "agentId",
    "result": "subtype",
}
_OUTCOME = "result"  # what `claude -p` prints at the end, or a workflow notes: the last words again
_SYSTEM_LINE = "system"
_COMMAND_LINE = "local_command"
_SYNTHETIC = "<synthetic>"

# A line of this type says what the human typed while the agent was at work; others say so too.
_QUEUED_LINE, _QUEUED_ATTACHMENT = "queue-operation", "queued_command"
_QUEUED_OPERATIONS = frozenset({"enqueue", "remove"})
_NOTICE_MODE = "task-notification"
_BARE_COMMAND = re.compile(r"\A\s*/[A-Za-z][\w:.-]*(?:\s+|$)")
# Who sent a message that is no human's: other agents, and the program itself.
_MACHINE_ORIGINS = frozenset({
    "task-notification", "peer", "teammate", "agent", "coordinator", "task", "cron", "hook",
    "scheduled-task", "system", "auto-continuation",
})  # fmt: skip
# An id of a message or a call that is at least so long is no other's; short ones are numbers
# that other sessions have too.
_UNIQUE_LENGTH = 20


def recognise(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _SPEAKERS:
        message = record.get("message")
        if isinstance(message, dict):
            return "role" in message or "content" in message
        return "message" in record and _session(record) is not None
    if kind == _SYSTEM_LINE:
        return "subtype" in record and ("uuid" in record or "session_id" in record)
    if kind == _OUTCOME and "agentId" in record:
        return "result" in record
    return kind in _NO_SPEECH and (_NO_SPEECH[kind] in record or "message" in record)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    kind = _string(record.get("type"))
    if kind == _SYSTEM_LINE:
        return _command_line(record)
    if kind == _QUEUED_LINE:
        return _queued(record, record, record.get("content"))
    attachment = record.get("attachment")
    if kind == "attachment" and isinstance(attachment, dict):
        return _queued(record, attachment, attachment.get("prompt"))
    if kind == _OUTCOME:
        return Parsed(noise=string_bytes(record.get("result")))
    if kind not in _SPEAKERS:
        return Parsed()
    message = record.get("message")
    if not isinstance(message, dict) or "content" not in message:
        raise Misfit
    content = message["content"]
    if kind == "assistant":
        turns = turns_of(content, "assistant")
        if message.get("model") == _SYNTHETIC or record.get("isApiErrorMessage"):
            turns = [Turn("env", turn.text) for turn in turns]
    else:
        turns = _answers(record, content) or _user_turns(record, content)
    return Parsed(
        tuple(turns),
        thread=_thread(record),
        message=_string(message.get("id")) if kind == "assistant" else None,
        identity=_identity(record, message, turns),
        noise=noise_bytes(content) + string_bytes(record.get("toolUseResult")),
    )


def _user_turns(record: dict[str, Any], content: object) -> list[Turn]:
    """What stands under `user`, each part of it judged by itself."""
    role: Role = "user" if _may_be_human(record) else "env"
    parts = content if isinstance(content, list) else [content]
    turns: list[Turn] = []
    for part in parts:
        pieces = refusal_pieces if _is_result(part) else human_pieces
        turns += (piece for turn in turns_of(part, role) for piece in pieces(turn))
    return merge(turns)


def _answers(record: dict[str, Any], content: object) -> list[Turn]:
    """What the human chose or typed when the agent asked; the result has no other words.

    The questions stand in the agent's call.
    """
    result = record.get("toolUseResult")
    answers = result.get("answers") if isinstance(result, dict) else None
    if not isinstance(answers, dict):
        return []
    said = [answer for answer in answers.values() if isinstance(answer, str) and answer.strip()]
    text = text_of(content)
    return [Turn("user", "\n".join(said))] if said and all(words in text for words in said) else []


def _is_result(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_result"


def _command_line(record: dict[str, Any]) -> Parsed:
    """A command that the user gave to the program, or its answer; other lines say nothing."""
    if record.get("subtype") != _COMMAND_LINE:
        return Parsed()
    turns = merge(
        piece for turn in turns_of(record.get("content"), "user") for piece in human_pieces(turn)
    )
    return Parsed(tuple(turns), thread=_thread(record), identity=_identity(record, {}, turns))


def _queued(record: dict[str, Any], said: dict[str, Any], content: object) -> Parsed:
    """What was typed, or notified, while the agent was at work.

    The agent is given it between two calls, and then no `user` line repeats it, or as its next
    message. A command without arguments is left to the line that reports it.
    """
    is_speech = (
        _string(said.get("operation")) in _QUEUED_OPERATIONS
        if said is record
        else said.get("type") == _QUEUED_ATTACHMENT
    )
    if not is_speech:
        return Parsed()
    is_human = _may_be_human(record) and _may_be_human(said)
    is_human = is_human and said.get("commandMode") != _NOTICE_MODE
    turns = merge(
        piece
        for turn in turns_of(content, "user" if is_human else "env")
        for piece in human_pieces(_without_command(turn))
    )
    return Parsed(
        tuple(turns),
        thread=_thread(record),
        mirrors=True,
        series=str(record.get("operation", record["type"])),
        identity=_identity(record, {}, turns),
        noise=noise_bytes(content),
    )


def _without_command(turn: Turn) -> Turn:
    """A human's text without the `/command` that it opens with."""
    if turn.role != "user" or not turn.text.lstrip().startswith("/"):
        return turn
    return Turn("user", _BARE_COMMAND.sub("", turn.text, count=1))


def _may_be_human(record: dict[str, Any]) -> bool:
    """False where a flag says that a program or another agent wrote what stands under `user`."""
    if any(record.get(flag) for flag in _MACHINE_FLAGS):
        return False
    origin = record.get("origin")
    if isinstance(origin, dict):
        kind = _string(origin.get("kind"))
        if kind == "human":
            return True
        if kind in _MACHINE_ORIGINS or "senderTaskId" in origin:
            return False
    return not any(record.get(key) for key in _SUB_AGENT_KEYS)


def _thread(record: dict[str, Any]) -> str:
    agent = _string(record.get("agentId")) or _string(record.get("parent_tool_use_id"))
    agent = agent or ("sidechain" if record.get("isSidechain") else "")
    return f"{_session(record) or ''}/{agent}"


def _session(record: dict[str, Any]) -> str | None:
    return next(filter(None, (_string(record.get(key)) for key in _SESSION_KEYS)), None)


def _identity(record: dict[str, Any], message: dict[str, Any], turns: Sequence[Turn]) -> str | None:
    """What a line has in common with its copy in a resumed session, whose uuid is another.

    That is what its message, its calls or the calls it answers are named, and if no such name
    is sure to be its own, its time; and the words.
    """
    if not turns:
        return None
    names = [name for name in (_string(message.get("id")), *_call_ids(message)) if name]
    if not any(len(name) >= _UNIQUE_LENGTH for name in names):
        time = _string(record.get("timestamp"))
        if time is None:
            return None
        names.append(time)
    return "\0".join([*names, *(f"{turn.role} {turn.text}" for turn in turns)])


def _call_ids(message: dict[str, Any]) -> list[str | None]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [
        _string(part.get(key)) for part in parts if isinstance(part, dict) for key in _CALL_ID_KEYS
    ]


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None

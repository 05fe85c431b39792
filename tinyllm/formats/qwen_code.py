"""Qwen Code sessions: lines like Claude Code's, whose messages hold `parts` as Gemini's do.

Source: https://github.com/QwenLM/qwen-code (packages/core/src/services/chatRecordingService.ts).
"""

from collections.abc import Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    merge,
    string_bytes,
    unfit_is_unknown,
)
from tinyllm.formats.gemini_parts import parts_noise, parts_turns
from tinyllm.formats.parsed import Parsed

NAME = "qwen_code"
KEYS = frozenset({"type"})

_SPEAKERS: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "tool_result": "env"}
_SYSTEM_LINE = "system"
_COMMAND = "slash_command"
# Lines under `user` that the program wrote.
_MACHINE_SUBTYPES = frozenset({
    "notification", "background_task_completed", "cron", "goal_runtime", "goal_turn_end",
    "agent_bootstrap", "agent_launch_prompt", "agent_retry", "omni_recall",
})  # fmt: skip
_MACHINE_SOURCES = frozenset({"goal_control", "goal_runtime", "system", "tool_result"})


def recognise(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str) or "uuid" not in record or "sessionId" not in record:
        return False
    message = record.get("message")
    if kind in _SPEAKERS:
        return isinstance(message, dict) and "parts" in message
    if kind != _SYSTEM_LINE or "content" in record:
        return False
    return "systemPayload" in record or (isinstance(message, dict) and "parts" in message)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    kind = record.get("type")
    turns = _command(record) if kind == _SYSTEM_LINE else merge(_turns(record))
    message = record.get("message")
    noise = parts_noise(message.get("parts")) if isinstance(message, dict) else 0
    return Parsed(
        tuple(turns),
        thread=_thread(record),
        joins=bool(turns) and turns[0].role == "assistant",
        ends=not turns and record.get("type") in ("user", "tool_result"),
        identity=_identity(record, turns),
        noise=noise + string_bytes(record.get("toolCallResult")),
    )


def _turns(record: dict[str, Any]) -> list[Turn]:
    kind, message = record.get("type"), record.get("message")
    if not isinstance(kind, str) or kind not in _SPEAKERS or not isinstance(message, dict):
        raise Misfit
    role = _SPEAKERS[kind]
    if role == "user" and not _may_be_human(record):
        role = "env"
    return parts_turns(message.get("parts"), role)


def _may_be_human(record: dict[str, Any]) -> bool:
    """False where a flag says that a program or another agent wrote what stands under `user`."""
    subtype, source = record.get("subtype"), record.get("provenance")
    if isinstance(subtype, str) and subtype in _MACHINE_SUBTYPES:
        return False
    if isinstance(source, str) and source in _MACHINE_SOURCES:
        return False
    return not (record.get("isSidechain") or record.get("agentId"))


def _command(record: dict[str, Any]) -> list[Turn]:
    """A command to the program itself, or its answer; other lines of this type say nothing."""
    payload = record.get("systemPayload")
    if record.get("subtype") != _COMMAND or not isinstance(payload, dict):
        return []
    if payload.get("phase") == "invocation":
        texts = [first_text(payload, ("rawCommand",))]
    else:
        shown = payload.get("outputHistoryItems")
        items = shown if isinstance(shown, list) else []
        texts = [first_text(item, ("text",)) for item in items if isinstance(item, dict)]
    return merge(Turn("env", text) for text in texts)


def _thread(record: dict[str, Any]) -> str:
    session, agent = record.get("sessionId"), record.get("agentId")
    if not isinstance(agent, str):
        agent = "sidechain" if record.get("isSidechain") else ""
    return f"{session if isinstance(session, str) else ''}/{agent}"


def _identity(record: dict[str, Any], turns: list[Turn]) -> str | None:
    """What a line has in common with its copy in a session that branched off."""
    name = record.get("uuid")
    if not isinstance(name, str) or not name or not turns:
        return None
    return "\0".join([name, *(turn.text for turn in turns)])

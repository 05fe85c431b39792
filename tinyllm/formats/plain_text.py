"""Plain documents, web pages and the like: `text` or `content` is a string, and nobody speaks."""

from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.parsed import Parsed

NAME = "plain_text"
KEYS = frozenset({"text", "content"})

# Keys of records in which somebody speaks, whatever their format: those are never plain text.
# fmt: off
_SPEAKER_KEYS = frozenset({
    "role", "from", "from_id", "sender", "speaker", "direction", "recipient",
    "is_user", "is_bot", "isBot", "mes", "swipes", "messages", "message", "chat_messages",
    "conversations", "conversation", "turns", "history", "trajectory", "traj", "mapping",
    "prompt", "completion", "request", "response", "instruction", "output", "chosen", "rejected",
    "payload", "parts", "action", "observation", "tool_calls", "toolCalls", "tool_call_id",
    "scratchpad", "reasoning", "thoughts", "conversation_id", "conversationId",
})
# Values of `type` under which logs of agents and messengers file what somebody says.
_SPEAKER_TYPES = frozenset({
    "user", "human", "assistant", "ai", "model", "gemini", "system", "developer", "service",
    "tool", "tool_use", "tool_call", "tool_result", "message", "reasoning", "thinking",
    "info", "warning", "error", "queue-operation",
})
# A `type` beside one of these tells an event of a program's log.
_EVENT_KEYS = frozenset({
    "timestamp", "time", "uuid", "parentUuid", "parentId", "sessionId", "session_id", "agentId",
})
# fmt: on


def recognise(record: dict[str, Any]) -> bool:
    if not ("text" in record or "content" in record):
        return False
    if not _SPEAKER_KEYS.isdisjoint(record) or isinstance(record.get("author"), dict):
        return False
    kind = record.get("type")
    if not isinstance(kind, str):
        return True
    return kind not in _SPEAKER_TYPES and _EVENT_KEYS.isdisjoint(record)


def parse(record: dict[str, Any]) -> Parsed | None:
    text = record.get("text")
    if text is None:
        text = record.get("content")
    if not isinstance(text, str):
        return None
    return Parsed((Turn(None, text),) if text.strip() else (), decided="no speaker")

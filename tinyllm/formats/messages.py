"""What chats have in common: a list of messages, each with a role, content and perhaps calls."""

from collections.abc import Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    from_json,
    merge,
    noise_bytes,
    string_bytes,
    text_of,
    think,
    tool_call,
    turns_of,
)

CHAT_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "env",
    "function": "env",
}
CHAT_KEYS = ("messages", "traj")
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")


def chat_of(record: dict[str, Any]) -> list[Any] | None:
    """The messages of a chat: a list, or JSON text of one, whose members have roles.

    None if there are none, or if the record tells which of several answers was preferred.
    """
    if "chosen" in record or "rejected" in record or isinstance(record.get("label"), bool):
        return None
    value = next((record[key] for key in CHAT_KEYS if key in record), None)
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        value = from_json(value)
    if not isinstance(value, list):
        return None
    first = next((message for message in value if message is not None), {"role": None})
    return value if isinstance(first, dict) and "role" in first else None


def members(messages: list[Any]) -> list[dict[str, Any]]:
    """The messages of a list, nulls left out. Raises Misfit if one is no object."""
    said = [message for message in messages if message is not None]
    if not all(isinstance(message, dict) for message in said):
        raise Misfit
    return said


def message_turns(message: dict[str, Any], role: Role) -> list[Turn]:
    """The turns of one message: reasoning, content, then calls. Raises Misfit."""
    content = turns_of(message.get("content"), role)
    if role != "assistant":
        return content
    content = content or turns_of(message.get("refusal"), role)
    said = "\n".join(turn.text for turn in content)
    reasoning = first_text(message, _REASONING_KEYS)
    if "<think>" in said and reasoning.strip() in said:
        reasoning = ""
    calls = [call for call in _calls(message) if call not in said]
    return merge(
        [Turn(role, think(reasoning)), *content, *(Turn(role, call) for call in calls)],
    )


def _calls(message: dict[str, Any]) -> list[str]:
    calls = message.get("tool_calls") or []
    if isinstance(calls, str):
        calls = from_json(calls)
    listed = calls if isinstance(calls, list) else [calls]
    return [
        tool_call(call)
        for call in [*listed, message.get("function_call")]
        if isinstance(call, dict)
    ]


def message_noise(message: dict[str, Any]) -> int:
    """Bytes of a message that are signatures, encrypted reasoning or files."""
    details = message.get("reasoning_details")
    return noise_bytes(message.get("content")) + string_bytes(details)


def system_beside(record: dict[str, Any], messages: list[dict[str, Any]]) -> list[Turn]:
    """The system prompt that stands beside the messages, unless the first message repeats it."""
    prompt = record.get("system")
    text = text_of(prompt) if isinstance(prompt, str | list) else ""
    if not text or (messages and text_of(messages[0].get("content")) == text):
        return []
    return [Turn("system", text)]

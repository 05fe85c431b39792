"""What chats have in common: a list of messages, each with a role, content and perhaps calls."""

import re
from collections.abc import Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    from_json,
    merge,
    noise_bytes,
    role_of,
    string_bytes,
    text_of,
    think,
    tool_call,
    turns_of,
    written_call,
)
from tinyllm.formats.human_words import human_pieces

CHAT_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "bot": "assistant",
    "function_call": "assistant",
    "tool_call": "assistant",
    "tool": "env",
    "function": "env",
    "observation": "env",
    "ipython": "env",
    "function_response": "env",
    "tool_response": "env",
    "tool_result": "env",
}
_CALLERS = frozenset({"function_call", "tool_call"})
CHAT_KEYS = ("messages", "traj")
DISPLAY_KEY = "messages_display"
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
# What stands beside the messages where they are a request and their answer was logged too.
_ANSWER_KEYS = ("response", "choices", "completion")
# How a conversation in one text marks who speaks: after a blank line, or at the start of a line.
_MARK = re.compile(r"(?:\A\s*|\n\n)(Human|Assistant):[ \t]*")
_DISPLAY_MARK = re.compile(r"^(system|user|assistant|tool): ", re.MULTILINE)
_NO_CONTENT = "None"


def chat_of(record: dict[str, Any]) -> list[Any] | None:
    """The messages of a chat: a list, or JSON text of one, whose members have roles.

    None if there are none, if the record tells which of several answers was preferred, or if
    the answer stands beside the messages.
    """
    if "chosen" in record or "rejected" in record or isinstance(record.get("label"), bool):
        return None
    if answer_beside(record) is not None:
        return None
    return message_list(next((record[key] for key in CHAT_KEYS if key in record), None))


def message_list(value: object) -> list[Any] | None:
    """A list, or JSON text of one, whose first member but nulls has a role; None if it is none."""
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        value = from_json(value)
    if not isinstance(value, list):
        return None
    first = next((message for message in value if message is not None), {"role": None})
    return value if isinstance(first, dict) and "role" in first else None


def answer_beside(record: dict[str, Any]) -> object:
    """The answer to a record's messages that stands beside them; None without one."""
    given = (record[key] for key in _ANSWER_KEYS if key in record)
    return next((value for value in given if value and isinstance(value, str | list | dict)), None)


def displayed(text: str) -> list[Turn]:
    """The turns of a conversation that was printed for people, a line or more for each message.

    Calls were printed as None: they are lost. Raises Misfit for other text.
    """
    if not _DISPLAY_MARK.match(text):
        raise Misfit
    _, *pieces = _DISPLAY_MARK.split(text)
    return merge(
        Turn(CHAT_ROLES[name], words.rstrip("\n"))
        for name, words in zip(pieces[::2], pieces[1::2], strict=True)
        if words.strip() != _NO_CONTENT
    )


def marked(text: str) -> list[Turn] | None:
    """The turns of a conversation in one text, told by marks such as `\\n\\nHuman:`.

    None for a text that doesn't open with a mark.
    """
    if not _MARK.match(text):
        return None
    _, *pieces = _MARK.split(text)
    return merge(
        Turn(CHAT_ROLES[name.lower()], words.strip())
        for name, words in zip(pieces[::2], pieces[1::2], strict=True)
    )


def members(messages: list[Any]) -> list[dict[str, Any]]:
    """The messages of a list, nulls left out. Raises Misfit if one is no object."""
    given = [message for message in messages if message is not None]
    if not all(isinstance(message, dict) for message in given):
        raise Misfit
    return given


def said(message: dict[str, Any]) -> list[Turn]:
    """The turns of a message that tells who says it, as `role` or as `from`. Raises Misfit."""
    if "role" not in message and "from" in message:
        message = {"role": message["from"], "content": message.get("value")}
    name, content = message.get("role"), message.get("content")
    role = role_of(name, CHAT_ROLES)
    if isinstance(content, str) and str(name).strip().lower() in _CALLERS:
        return turns_of(written_call(content), role)
    if role != "user":
        return message_turns(message, role)
    parts = content if isinstance(content, list) else [content]
    turns = (turn for part in parts for turn in turns_of(part, role))
    return merge(piece for turn in turns for piece in human_pieces(turn))


def chat_turns(messages: list[Any]) -> list[Turn]:
    """The turns of a list of messages. Raises Misfit."""
    return [turn for message in members(messages) for turn in said(message)]


def message_turns(message: dict[str, Any], role: Role) -> list[Turn]:
    """The turns of one message: reasoning, content, then calls. Raises Misfit."""
    content = turns_of(message.get("content"), role)
    if role != "assistant":
        return content
    content = content or turns_of(message.get("refusal"), role)
    words = "\n".join(turn.text for turn in content)
    reasoning = first_text(message, _REASONING_KEYS)
    if "<think>" in words and reasoning.strip() in words:
        reasoning = ""
    calls = [call for call in _calls(message) if call not in words]
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

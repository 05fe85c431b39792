"""ShareGPT: `conversations` of `from` and `value`, in any letter case, or of `role` and `content`.

Source: https://github.com/lm-sys/FastChat and the function_call and observation of
https://github.com/hiyouga/LLaMA-Factory (data/README.md).
"""

from collections.abc import Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    from_json,
    role_of,
    turns_of,
    unfit_is_unknown,
    written_call,
)
from tinyllm.formats.messages import (
    CHAT_ROLES,
    members,
    message_noise,
    message_turns,
    system_beside,
)
from tinyllm.formats.parsed import Parsed

_KEYS = ("conversations", "conversation")

NAME = "sharegpt"
KEYS = frozenset(_KEYS)

_CALL = "function_call"
_SPEAKERS: Mapping[str, Role] = {
    **CHAT_ROLES,
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "bot": "assistant",
    _CALL: "assistant",
    "observation": "env",
    "function_response": "env",
    "tool_response": "env",
}


def recognise(record: dict[str, Any]) -> bool:
    return _conversation(record) is not None


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    listed = _conversation(record)
    if listed is None:
        raise Misfit
    messages = [_as_message(message) for message in members(listed)]
    turns = system_beside(record, messages)
    for message in messages:
        turns += _turns(message, role_of(message.get("role"), _SPEAKERS))
    return Parsed(tuple(turns), noise=sum(map(message_noise, messages)))


def _conversation(record: dict[str, Any]) -> list[Any] | None:
    if "chosen" in record or "rejected" in record or isinstance(record.get("label"), bool):
        return None
    value = next((record[key] for key in _KEYS if key in record), None)
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        value = from_json(value)
    if not isinstance(value, list):
        return None
    first = next((message for message in value if message is not None), {"from": None})
    return value if isinstance(first, dict) and ("from" in first or "role" in first) else None


def _as_message(message: dict[str, Any]) -> dict[str, Any]:
    """`from` and `value` under the names that a chat gives them."""
    if "from" not in message:
        return message
    return {"role": message["from"], "content": message.get("value")}


def _turns(message: dict[str, Any], role: Role) -> list[Turn]:
    content = message.get("content")
    if str(message.get("role")).strip().lower() != _CALL:
        return message_turns(message, role)
    if isinstance(content, str):
        return turns_of(written_call(content), role)
    return turns_of(content, role)

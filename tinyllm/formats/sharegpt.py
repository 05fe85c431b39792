"""ShareGPT: `conversations` of `from` and `value`, in any letter case, or of `role` and `content`.

Source: https://github.com/lm-sys/FastChat and the function_call and observation of
https://github.com/hiyouga/LLaMA-Factory (data/README.md).
"""

from typing import Any

from tinyllm.formats.content import Misfit, from_json, unfit_is_unknown
from tinyllm.formats.messages import chat_turns, members, message_noise, system_beside
from tinyllm.formats.parsed import Parsed

_KEYS = ("conversations", "conversation")

NAME = "sharegpt"
KEYS = frozenset(_KEYS)


def recognise(record: dict[str, Any]) -> bool:
    return conversation_of(record) is not None


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    listed = conversation_of(record)
    if listed is None:
        raise Misfit
    messages = [_as_message(message) for message in members(listed)]
    turns = system_beside(record, messages) + chat_turns(messages)
    return Parsed(tuple(turns), noise=sum(map(message_noise, messages)))


def conversation_of(record: dict[str, Any]) -> list[Any] | None:
    """The messages of a conversation, which tell who speaks under `from` or `role`.

    None if there are none, or if the record tells which of several answers was preferred.
    """
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

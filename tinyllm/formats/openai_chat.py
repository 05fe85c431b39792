"""Chats as the OpenAI and Anthropic interfaces take them: `messages` of `role` and `content`.

Source: https://platform.openai.com/docs/api-reference/chat and
https://docs.anthropic.com/en/api/messages.
"""

from typing import Any

from tinyllm.formats.content import Misfit, role_of, unfit_is_unknown
from tinyllm.formats.messages import (
    CHAT_KEYS,
    CHAT_ROLES,
    chat_of,
    members,
    message_noise,
    message_turns,
    system_beside,
)
from tinyllm.formats.parsed import Parsed

NAME = "openai_chat"
KEYS = frozenset(CHAT_KEYS)


def recognise(record: dict[str, Any]) -> bool:
    return chat_of(record) is not None


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    listed = chat_of(record)
    if listed is None:
        raise Misfit
    messages = members(listed)
    turns = system_beside(record, messages)
    for message in messages:
        turns += message_turns(message, role_of(message.get("role"), CHAT_ROLES))
    return Parsed(tuple(turns), noise=sum(map(message_noise, messages)))

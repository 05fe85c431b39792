"""Chats as the OpenAI and Anthropic interfaces take them: `messages` of `role` and `content`.

Also `messages_display`, the same printed for people in one text, as tau-bench has its examples.
Source: https://platform.openai.com/docs/api-reference/chat and
https://docs.anthropic.com/en/api/messages.
"""

from typing import Any

from tinyllm.formats.content import Misfit, unfit_is_unknown
from tinyllm.formats.messages import (
    CHAT_KEYS,
    DISPLAY_KEY,
    chat_of,
    chat_turns,
    displayed,
    members,
    message_noise,
    system_beside,
)
from tinyllm.formats.parsed import Parsed

NAME = "openai_chat"
KEYS = frozenset({*CHAT_KEYS, DISPLAY_KEY})


def recognise(record: dict[str, Any]) -> bool:
    return isinstance(record.get(DISPLAY_KEY), str) or chat_of(record) is not None


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    listed = chat_of(record)
    if listed is None:
        shown = record.get(DISPLAY_KEY)
        if not isinstance(shown, str):
            raise Misfit
        return Parsed(tuple(displayed(shown)))
    messages = members(listed)
    turns = system_beside(record, messages) + chat_turns(messages)
    return Parsed(tuple(turns), noise=sum(map(message_noise, messages)))

"""Sessions of an agent's harness: shaped like a chat, but `user` is mostly the environment.

A human's turn opens with `[name @ Channel]:`. Only the first system turn is the identity; later
ones nudge the agent. A fixed map of roles can't tell such a record from a chat, so its turns do.
"""

import re
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import Misfit, first_text, role_of, unfit_is_unknown
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

NAME = "harness_session"
KEYS = frozenset(CHAT_KEYS)

_HUMAN = re.compile(r"\s*\[[^\[\]\n]{1,80} @ [^\[\]\n]{1,80}\]:")
_NUDGE = "Continue your task"
_COMMAND = re.compile(r'<tool_call>\s*\{\s*"name"\s*:\s*"run_command"')


def recognise(record: dict[str, Any]) -> bool:
    messages = chat_of(record)
    return messages is not None and _is_session(messages)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    listed = chat_of(record)
    if listed is None:
        raise Misfit
    messages = members(listed)
    turns = system_beside(record, messages)
    has_identity = bool(turns)
    for message in messages:
        role = role_of(message.get("role"), CHAT_ROLES)
        if role == "system":
            role, has_identity = ("env" if has_identity else "system"), True
        turns += [_by_opening(turn, role) for turn in message_turns(message, role)]
    return Parsed(tuple(turns), decided="harness markers", noise=sum(map(message_noise, messages)))


def _by_opening(turn: Turn, role: Role) -> Turn:
    """A `user` turn is the environment's unless it opens as a human's."""
    if role != "user" or turn.role != "user" or _HUMAN.match(turn.text):
        return turn
    return Turn("env", turn.text)


def _is_session(messages: list[Any]) -> bool:
    """True if one turn can only have come from a harness.

    Those are a human's opening, a nudge after the first turn, and a `run_command` call in the
    assistant's text that a `user` turn answers.
    """
    called = False
    for at, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        role = message.get("role")
        text = _opening(message.get("content"))
        if role == "user" and (called or _HUMAN.match(text)):
            return True
        if role == "system" and at and text.startswith(_NUDGE):
            return True
        called = role == "assistant" and _COMMAND.search(text) is not None
    return False


def _opening(content: object) -> str:
    """The first text of a content."""
    if isinstance(content, list):
        content = next((part for part in content if part), None)
    if isinstance(content, dict):
        return first_text(content, ("text", "value"))
    return content if isinstance(content, str) else ""

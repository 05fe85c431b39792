"""Messages that are records of their own: `role` and `content`, or words to that effect.

The messages of a file are one conversation unless they name theirs.
"""

import re
from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.content import Misfit, json_text, unfit_is_unknown
from tinyllm.formats.flat_message import epoch_seconds
from tinyllm.formats.messages import CHAT_ROLES, message_noise, said
from tinyllm.formats.parsed import Parsed

NAME = "bare_message"
_SPEAKER_KEYS = ("role", "sender", "speaker", "author", "from")
KEYS = frozenset(_SPEAKER_KEYS)

_TEXT_KEYS = ("content", "text", "message", "value")
_THREAD_KEYS = (
    "session_id", "sessionId", "session", "conversation_id", "conversationId", "conversation",
    "chat_id", "chatId", "thread_id", "threadId",
)  # fmt: skip
_TIME_KEYS = ("timestamp", "ts", "time", "created_at", "createdAt", "date")
# Keys of an agent's session, which is not cut where a tool took hours.
_AGENT_KEYS = ("tool_calls", "tool_call_id", "function_call")
# A day or a minute is no message's own time: others were written in it.
_TO_THE_SECOND = re.compile(r"\d:\d\d:\d\d|^\s*\d{9,}(\.\d+)?\s*$")


def recognise(record: dict[str, Any]) -> bool:
    return _message(record) is not None


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    message = _message(record)
    if message is None:
        raise Misfit
    turns = said(message)
    when = next((record[key] for key in _TIME_KEYS if record.get(key) is not None), None)
    thread = [record[key] for key in _THREAD_KEYS if isinstance(record.get(key), str | int)]
    is_agents = any(record.get(key) for key in _AGENT_KEYS) or any(
        turn.role == "env" or "<tool_call>" in turn.text for turn in turns
    )
    return Parsed(
        tuple(turns),
        thread=json_text(thread) if thread else "",
        identity=_identity(when, turns),
        time=None if is_agents else epoch_seconds(when),
        noise=message_noise(message),
    )


def _message(record: dict[str, Any]) -> dict[str, Any] | None:
    """The record as a chat's message; None if it names no speaker of a chat, or has no text."""
    speaker = next((record[key] for key in _SPEAKER_KEYS if key in record), None)
    if not isinstance(speaker, str) or speaker.strip().lower() not in CHAT_ROLES:
        return None
    key = next((key for key in _TEXT_KEYS if key in record), None)
    if key is None:
        return None
    fits = str | list | dict | None if key == "content" else str
    if not isinstance(record[key], fits):
        return None
    return {**record, "role": speaker, "content": record[key]}


def _identity(when: object, turns: list[Turn]) -> str | None:
    """A message's own time, speaker and text: what it has in common with a copy of it."""
    if not turns or epoch_seconds(when) is None or not _TO_THE_SECOND.search(str(when)):
        return None
    return json_text([when, *((turn.role, turn.text) for turn in turns)])

"""Messengers' logs of one message a record: `text` with `direction`, or with `from` and `ts`."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import Misfit, json_text, role_of, unfit_is_unknown
from tinyllm.formats.parsed import Parsed

NAME = "flat_message"
KEYS = frozenset({"text"})

_DIRECTIONS: Mapping[str, Role] = {
    "in": "user",
    "incoming": "user",
    "inbound": "user",
    "received": "user",
    "out": "assistant",
    "outgoing": "assistant",
    "outbound": "assistant",
    "sent": "assistant",
}
_AGENTS = frozenset({"assistant", "agent", "bot", "model", "self", "me"})
_CHAT_KEYS = ("chat_id", "chat", "channel", "conversation_id", "thread_id")
_MILLISECONDS = 1e11  # as seconds, the year 5138


def recognise(record: dict[str, Any]) -> bool:
    return "text" in record and ("direction" in record or ("from" in record and "ts" in record))


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    text = record.get("text")
    if not isinstance(text, str):
        raise Misfit
    sender = record.get("from")
    if record.get("direction") is not None:
        role = role_of(record["direction"], _DIRECTIONS)
        decided = "role map"
    else:
        is_agent = isinstance(sender, str) and sender.strip().lower() in _AGENTS
        role = "assistant" if is_agent else "user"
        decided = "sender's name"
    chat = [record[key] for key in _CHAT_KEYS if isinstance(record.get(key), str | int)]
    return Parsed(
        (Turn(role, text, sender if isinstance(sender, str) else ""),) if text.strip() else (),
        decided=decided,
        thread=json_text(chat),
        identity=_identity(record, role, chat),
        time=epoch_seconds(record.get("ts")),
    )


def _identity(record: dict[str, Any], role: Role, chat: list[str | int]) -> str | None:
    """What a message has in common with its copy that a later `read` flag was added to.

    A number that counts messages says which it is within a chat only.
    """
    when = record.get("ts")
    if when is None and not chat:
        return None
    if when is None and record.get("id") is None:
        return None
    return json_text([when, role, record.get("from"), record.get("id"), record["text"], *chat])


def epoch_seconds(value: object) -> float | None:
    """A time as seconds since 1970: from seconds, milliseconds or ISO 8601 text (UTC unless said).

    None if it is no time.
    """
    if isinstance(value, str):
        return _parsed_time(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    if not math.isfinite(seconds):
        return None
    return seconds / 1000 if abs(seconds) > _MILLISECONDS else seconds


def _parsed_time(text: str) -> float | None:
    try:
        return epoch_seconds(float(text))
    except ValueError:
        pass
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None

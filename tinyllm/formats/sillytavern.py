"""Chats of SillyTavern and TavernAI: a header line, then a line for each message.

`mes` is the message as it was chosen among its `swipes`. A message that was only hidden from the
model carries `is_system` too: its sender is the one who wrote it.
Source: https://github.com/SillyTavern/SillyTavern (public/script.js).
"""

from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    json_text,
    merge,
    string_bytes,
    think,
    unfit_is_unknown,
)
from tinyllm.formats.parsed import Parsed

NAME = "sillytavern"
KEYS = frozenset({"mes", "chat_metadata", "user_name"})

_HEADER_NAMES = ("user_name", "character_name")
_SENDER_KEYS = ("is_user", "is_system", "is_name", "send_date")
# Only a message that a model wrote has these.
_GENERATED = ("gen_started", "swipes", "swipe_info")
# Types of message that the program, or a script in it, puts into a chat.
_INSERTED = frozenset({
    "narrator", "comment", "generic", "help", "welcome", "welcome_prompt", "slash_commands",
    "macros", "hotkeys", "formatting", "empty", "group", "assistant_note", "assistant_message",
})  # fmt: skip


def recognise(record: dict[str, Any]) -> bool:
    if "mes" in record:
        return "name" in record and any(key in record for key in _SENDER_KEYS)
    return isinstance(record.get("chat_metadata"), dict) or all(
        isinstance(record.get(name), str) for name in _HEADER_NAMES
    )


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    if "mes" not in record:
        return Parsed()
    text, name = record["mes"], record.get("name")
    if not isinstance(text, str) or not (name is None or isinstance(name, str)):
        raise Misfit
    extra = record.get("extra")
    extra = extra if isinstance(extra, dict) else {}
    role = _role(record, extra)
    turns = [Turn(role, text)]
    if role == "assistant" and "<think>" not in text:
        turns.insert(0, Turn(role, think(first_text(extra, ("reasoning",)))))
    speaker = name if name and role != "env" else ""
    again = [record.get("swipes"), record.get("swipe_info"), extra.get("display_text")]
    return Parsed(
        tuple(Turn(turn.role, turn.text, speaker) for turn in merge(turns)),
        decided="is_user",
        thread="",
        identity=_identity(record, name, text),
        noise=string_bytes(again),
        unchosen=_unchosen(record.get("swipes"), text),
    )


def _role(record: dict[str, Any], extra: dict[str, Any]) -> Role:
    kind = extra.get("type")
    if isinstance(kind, str) and kind in _INSERTED:
        return "env"
    if record.get("is_user"):
        return "user"
    is_hidden = bool(record.get("is_system"))
    if is_hidden and not any(record.get(key) for key in _GENERATED):
        return "env"
    return "assistant"


def _unchosen(swipes: object, text: str) -> int:
    """Bytes of the swipes that were not chosen."""
    listed = swipes if isinstance(swipes, list) else []
    return string_bytes([swipe for swipe in listed if isinstance(swipe, str) and swipe != text])


def _identity(record: dict[str, Any], name: str | None, text: str) -> str | None:
    """What a message has in common with its copy in a branch of the chat."""
    sent = record.get("send_date")
    if not isinstance(sent, str | int | float) or not sent:
        return None
    return json_text([sent, name, text])

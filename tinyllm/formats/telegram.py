"""Telegram Desktop's JSON export: one chat with its `messages`, or an account's `chats.list[]`.

Everybody is a person, so everybody is `user`, under the name they had; only the other side of a
chat with a bot is an assistant. Forwarded messages, and those a bot wrote for somebody, are
nobody's words here: env.
Source: https://github.com/telegramdesktop/tdesktop (export/output/export_output_json.cpp).
"""

from collections.abc import Iterator
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import Misfit, json_text, string_bytes
from tinyllm.formats.flat_message import epoch_seconds
from tinyllm.formats.parsed import Parsed

NAME = "telegram"
KEYS = frozenset({"messages", "chats", "left_chats"})

_FOLDERS = ("chats", "left_chats")
_KINDS = frozenset({"message", "service", "unsupported"})
_SENDER_KEYS = ("from_id", "from", "actor_id", "actor")
_DATE_KEYS = ("date_unixtime", "date")
_BOT_CHAT = "bot_chat"


def recognise(record: dict[str, Any]) -> bool:
    if any(isinstance(_listed(record.get(folder)), list) for folder in _FOLDERS):
        return True
    return _is_chat(record)


def parse(record: dict[str, Any]) -> list[Parsed] | None:
    try:
        return [parsed for chat in _chats(record) for parsed in _messages(chat)]
    except (Misfit, RecursionError):
        return None


def _is_chat(chat: object) -> bool:
    messages = chat.get("messages") if isinstance(chat, dict) else None
    if not isinstance(messages, list):
        return False
    first = messages[0] if messages else None
    if not isinstance(first, dict):
        return False
    kind = first.get("type")
    return (
        isinstance(kind, str)
        and kind in _KINDS
        and any(key in first for key in _DATE_KEYS)
        and any(key in first for key in _SENDER_KEYS)
    )


def _listed(folder: object) -> object:
    return folder.get("list") if isinstance(folder, dict) else None


def _chats(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if _is_chat(record):
        yield record
    for folder in _FOLDERS:
        listed = _listed(record.get(folder))
        for chat in listed if isinstance(listed, list) else []:
            if isinstance(chat, dict) and isinstance(chat.get("messages"), list):
                yield chat


def _messages(chat: dict[str, Any]) -> Iterator[Parsed]:
    thread = json_text(chat.get("id", chat.get("name")))
    for message in chat["messages"]:
        if not isinstance(message, dict):
            raise Misfit
        text = _text(message.get("text"))
        if message.get("type") != "message" or not text.strip():
            continue
        sender = _sender(message)
        role = _role(chat, message, sender)
        when = next((message[key] for key in _DATE_KEYS if key in message), None)
        yield Parsed(
            (Turn(role, text, "" if role == "env" else sender),),
            decided="names of people",
            thread=thread,
            identity=json_text([thread, message.get("id"), when, sender, text]),
            time=epoch_seconds(when),
            noise=string_bytes(_entity_texts(message.get("text_entities"))),
        )


def _sender(message: dict[str, Any]) -> str:
    """The sender's name; an id in its place for an account that was deleted."""
    names = (message.get(key) for key in ("from", "from_id"))
    return next((name for name in names if isinstance(name, str) and name.strip()), "")


def _role(chat: dict[str, Any], message: dict[str, Any], sender: str) -> Role:
    if chat.get("type") == _BOT_CHAT and _is_bot(chat, message, sender):
        return "assistant"
    if message.get("via_bot"):
        return "env"
    if "forwarded_from" in message or "forwarded_from_id" in message:
        return "user" if message.get("forwarded_from") == message.get("from") else "env"
    return "user"


def _is_bot(chat: dict[str, Any], message: dict[str, Any], sender: str) -> bool:
    """True if a message comes from the account that the chat is with."""
    peer, sender_id = chat.get("id"), message.get("from_id")
    if isinstance(peer, int) and isinstance(sender_id, str):
        return sender_id == "user" + json_text(peer)
    return sender == chat.get("name")


def _text(text: object) -> str:
    """A text in one piece, from a string or a list of strings and styled parts. Raises Misfit."""
    if text is None:
        return ""
    parts = text if isinstance(text, list) else [text]
    pieces = [part.get("text") if isinstance(part, dict) else part for part in parts]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) < len(pieces):
        raise Misfit
    return "".join(texts)


def _entity_texts(entities: object) -> list[object]:
    """The text once more, as new exports store it beside `text`."""
    listed = entities if isinstance(entities, list) else []
    return [entity.get("text") for entity in listed if isinstance(entity, dict)]

"""Discord channels as DiscordChatExporter writes them: `guild`, `channel`, `messages[].author`.

People are `user`, bots are `assistant`, each under the name that the channel shows. A message
forwarded from elsewhere is env.
Source: https://github.com/Tyrrrz/DiscordChatExporter (JsonMessageWriter.cs).
"""

from collections.abc import Iterator
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import SEPARATOR, Misfit, first_text, json_text
from tinyllm.formats.flat_message import epoch_seconds
from tinyllm.formats.parsed import Parsed

NAME = "discord"
KEYS = frozenset({"guild"})

# Messages that somebody wrote, by name or by Discord's number: plain ones, replies, and a bot's
# answers to commands. All other types are notices of the program.
_SPOKEN = frozenset({None, "Default", "Reply", "0", "19", "20", "23"})


def recognise(record: dict[str, Any]) -> bool:
    return (
        isinstance(record.get("guild"), dict)
        and isinstance(record.get("channel"), dict)
        and isinstance(record.get("messages"), list)
    )


def parse(record: dict[str, Any]) -> list[Parsed] | None:
    try:
        return list(_messages(record))
    except (Misfit, RecursionError):
        return None


def _messages(record: dict[str, Any]) -> Iterator[Parsed]:
    channel, messages = record.get("channel"), record.get("messages")
    if not isinstance(channel, dict) or not isinstance(messages, list):
        raise Misfit
    thread = json_text(channel.get("id", channel.get("name")))
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("author"), dict):
            raise Misfit
        turns = _turns(message, message["author"])
        if turns:
            yield Parsed(
                turns,
                decided="isBot",
                thread=thread,
                identity=json_text([message.get("id"), *(turn.text for turn in turns)]),
                time=epoch_seconds(message.get("timestamp")),
            )


def _turns(message: dict[str, Any], author: dict[str, Any]) -> tuple[Turn, ...]:
    kind = message.get("type")
    if not (kind is None or isinstance(kind, str)) or kind not in _SPOKEN:
        return ()
    is_bot = author.get("isBot") is True
    role: Role = "assistant" if is_bot else "user"
    speaker = first_text(author, ("nickname", "name"))
    text = first_text(message, ("content",)) or (_embedded(message) if is_bot else "")
    forwarded = message.get("forwardedMessage")
    elsewhere = first_text(forwarded, ("content",)) if isinstance(forwarded, dict) else ""
    turns = (Turn("env", elsewhere), Turn(role, text, speaker))
    return tuple(turn for turn in turns if turn.text.strip())


def _embedded(message: dict[str, Any]) -> str:
    """The words of a bot that stand in its message's boxes; people's boxes preview links."""
    boxes = message.get("embeds")
    texts: list[str] = []
    for box in boxes if isinstance(boxes, list) else []:
        if not isinstance(box, dict):
            continue
        texts += [first_text(box, ("title",)), first_text(box, ("description",))]
        fields = box.get("fields")
        for field in fields if isinstance(fields, list) else []:
            if isinstance(field, dict):
                pair = (first_text(field, ("name",)), first_text(field, ("value",)))
                texts.append("\n".join(filter(None, pair)))
    return SEPARATOR.join(filter(None, texts))

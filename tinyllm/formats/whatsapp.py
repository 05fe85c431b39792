"""WhatsApp's text export: a whole file is one record, each message a line or several.

Written by Android as `date, time - name: text` and by iOS as `[date, time] name: text`, the date
in the order of the phone's language. The order is decided over the whole file. Everybody is
`user` under their name; lines without a sender, and what stands for media, say nothing.
Source: https://faq.whatsapp.com/1180414079177245 (how to export a chat); the line formats are
those of exports in a dozen languages.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.parsed import Parsed

NAME = "whatsapp"
KEYS = frozenset({"text"})

_BEGINNING = 4096  # characters in which a chat is recognised
_NAME_LENGTH = 80
_QUOTES = re.compile('["“”«»„]')  # around a group's new name, in what the program says
_MARK = "\u200e"  # WhatsApp opens its own words with it
_INVISIBLE = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_IN_TEXT = re.compile("[\u200e\u2066-\u2069]")

_HEADER = re.compile(
    r"""^[\u200e\u200f\u202a-\u202e\ufeff]*
    (?P<open>\[)?
    (?P<a>\d{1,4})\u200f?(?P<sep>[/.-])[ ]?(?P<b>\d{1,2})\u200f?(?P=sep)[ ]?(?P<c>\d{1,4})[.]?
    (?:[ ]?г\.)?(?P<comma>[,\u060c]?)[^\S\n]+(?:(?:klo|kl\.|um|at|à|às|alle)[^\S\n])?
    (?P<before>上午|下午|午前|午後|凌晨|早上|中午|晚上|오전|오후)?[^\S\n]?
    (?P<h>\d{1,2})[:.](?P<m>\d{2})(?:[:.](?P<s>\d{2}))?
    (?:[^\S\n]?(?:(?P<half>[AaPp])\.?[^\S\n]?[Mm]\.?|(?P<sign>[صم]|[πμ]\.μ\.)|ч\.))?
    (?:(?P<close>\])[^\S\n]?|[^\S\n](?P<dash>[-–])[^\S\n]|:[^\S\n])
    """,
    re.VERBOSE | re.MULTILINE,
)
_AFTERNOON = frozenset({"下午", "午後", "中午", "晚上", "오후", "م", "μ.μ."})
_YEAR_FIRST, _DAY_FIRST, _MONTH_FIRST = "ymd", "dmy", "mdy"
_LOG_LEVELS = frozenset(
    {"trace", "debug", "info", "notice", "warn", "warning", "error", "fatal", "critical"}
)

# What stands for a picture, a call or a deleted message; on iOS, and in new Android exports, it
# opens with U+200E or is in angle brackets whatever the language.
_BRACKETED = re.compile(r"<[^<>\n]*(?:[^\x00-\x7f]|[ :])[^<>\n]*>")
_MARKED = re.compile("\u200e<[^<>\n]*>")
_EDITED = re.compile(
    r"\s?<[^<>\n]{0,40}(?:edited|bearbeitet|edit[óa]|modifi[ée]|modificato|bewerkt|изменено|"
    r"düzenlendi|edytowan|redigera|diedit|編集|编辑|編輯|수정)[^<>\n]{0,20}>\Z"
)
_FILE = re.compile(
    r"\S[^\n]*\.\w{2,5} \((?:file attached|Datei angehängt|archivo adjunto|fichier joint|"
    r"arquivo anexado|file allegato|bestand bijgevoegd|файл добавлен|קובץ מצורף)\)"
)
_PLACEHOLDERS = frozenset({
    "image omitted", "video omitted", "audio omitted", "sticker omitted", "gif omitted",
    "document omitted", "contact card omitted", "video note omitted",
    "this message was deleted", "you deleted this message", "missed voice call",
    "missed video call", "waiting for this message. this may take a while", "null",
    "diese nachricht wurde gelöscht", "du hast diese nachricht gelöscht",
    "verpasster sprachanruf", "verpasster videoanruf",
    "se eliminó este mensaje", "este mensaje fue eliminado", "eliminaste este mensaje",
    "llamada perdida", "videollamada perdida",
    "ce message a été supprimé", "vous avez supprimé ce message",
    "appel vocal manqué", "appel vidéo manqué",
    "mensagem apagada", "esta mensagem foi apagada", "você apagou esta mensagem",
    "apagou esta mensagem", "chamada de voz perdida", "chamada de vídeo perdida",
    "questo messaggio è stato eliminato", "hai eliminato questo messaggio",
    "dit bericht is verwijderd", "dit bericht werd verwijderd", "je hebt dit bericht verwijderd",
    "u hebt dit bericht verwijderd",
    "данное сообщение удалено", "это сообщение удалено", "вы удалили данное сообщение",
    "bu mesaj silindi", "bu mesajı sildiniz", "ta wiadomość została usunięta",
    "pesan ini telah dihapus", "anda telah menghapus pesan ini",
    "このメッセージは削除されました", "このメッセージを削除しました",
    "此消息已被删除", "你删除了此消息", "已刪除此訊息", "你已刪除此訊息",
    "삭제된 메시지입니다", "이 메시지를 삭제했습니다",
    "تم حذف هذه الرسالة", "حذفت هذه الرسالة", "הודעה זו נמחקה", "מחקת הודעה זו",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Line:
    """A message: where its header is, who wrote it ("" for the program), and its text."""

    header: re.Match[str]
    sender: str
    text: str


def recognise(record: dict[str, Any]) -> bool:
    text = record.get("text")
    if not isinstance(text, str) or len(record) != 1:
        return False
    first = _HEADER.match(text[:200])
    if first is None or not _is_export_style(first, text[:_BEGINNING]):
        return False
    lines = list(_lines(text[:_BEGINNING]))
    senders = [line.sender for line in lines if line.sender]
    if not senders or senders[0].lower() in _LOG_LEVELS:
        return False
    return len(lines) > 1 or len(text) < _BEGINNING


def parse(record: dict[str, Any]) -> list[Parsed] | None:
    text = record.get("text")
    if not isinstance(text, str) or not _HEADER.match(text[:200]):
        return None
    lines = list(_lines(text.replace("\r\n", "\n")))
    order = _order([line.header for line in lines])
    names = {line.sender for line in lines}
    times_sent = Counter(line.sender for line in lines)
    parsed: list[Parsed] = []
    for line in lines:
        said = _said(line.text)
        if not line.sender or not said or (
            times_sent[line.sender] == 1 and _is_notice(line.sender, names)
        ):  # fmt: skip
            continue
        parsed.append(
            Parsed(
                (Turn("user", said, line.sender),),
                decided="names of people",
                thread="",
                time=_time(line.header, order),
            )
        )
    return parsed


def _is_export_style(header: re.Match[str], beginning: str) -> bool:
    """False for what other programs' logs look like.

    iOS tells the seconds and Android doesn't; only in a chat does a date that opens with the year,
    as most logs have it, have a comma behind it, half of the day told or WhatsApp's own mark near.
    """
    if header["dash"]:
        if header["open"] or header["s"]:
            return False
    elif bool(header["open"]) != bool(header["close"]) or not header["s"]:
        return False
    is_chats = header["comma"] or header["dash"] or header["before"] or _MARK in beginning
    return len(header["a"]) < 4 or bool(is_chats)


def _lines(text: str) -> Iterator[_Line]:
    """The messages of a text. A header of another style than the first's is part of a message."""
    headers: list[re.Match[str]] = []
    for header in _HEADER.finditer(text):
        if not headers or _style(header) == _style(headers[0]):
            headers.append(header)
    ends = [*(header.start() for header in headers[1:]), len(text)]
    for header, end in zip(headers, ends, strict=True):
        sender, body = _sender(text[header.end() : end].rstrip("\n"))
        yield _Line(header, sender, body)


def _style(header: re.Match[str]) -> tuple[object, ...]:
    return (header["open"], header["close"], header["dash"], header["sep"], header["s"] is None)


def _sender(line: str) -> tuple[str, str]:
    """The sender's name and the text behind it; no name in a line of the program's own."""
    first, line_end, rest = line.partition("\n")
    name, colon, text = first.partition(":")
    if text[:1].strip() or not colon:  # the colon of a link or a time of day, or none
        return "", line
    name = _name(name)
    return (name, text[1:] + line_end + rest) if name else ("", line)


@lru_cache(maxsize=1024)
def _name(text: str) -> str:
    """A person's name as WhatsApp writes it, without its marks; "" for what can't be one."""
    name = _INVISIBLE.sub("", text).strip().removeprefix("~").strip()
    return "" if len(name) > _NAME_LENGTH or _QUOTES.search(name) else name


def _is_notice(sender: str, names: set[str]) -> bool:
    """True if a "name" is a person's name and what the program says that person did."""
    words = sender.split(" ")
    return any(
        words[count].islower() and " ".join(words[:count]) in names
        for count in range(1, min(len(words), 12))
    )


def _said(text: str) -> str:
    """A message's words, without what stands for files, calls and deleted messages."""
    if _MARK in text:
        text = _MARKED.sub("", text)
        text = "\n".join(line for line in text.split("\n") if not line.startswith(_MARK))
    if not text.isascii():
        text = _IN_TEXT.sub("", text)
    text = text.strip()
    if text.endswith(">"):
        text = _EDITED.sub("", text)
    if text.startswith("<") or ")" in text:
        first, _, rest = text.partition("\n")
        if _BRACKETED.fullmatch(first) or _FILE.fullmatch(first):
            return rest.strip()
    return "" if text.rstrip(".。").lower() in _PLACEHOLDERS else text


def _order(headers: Sequence[re.Match[str]]) -> str:
    """The order of year, month and day, from all dates of a file.

    Where no day is over 12, messages that follow each other in time decide; then the clock: only
    the United States write the month first, with slashes and a capital AM or PM.
    """
    if any(int(header["a"]) > 31 for header in headers):
        return _YEAR_FIRST
    if any(int(header["a"]) > 12 for header in headers):
        return _DAY_FIRST
    if any(int(header["b"]) > 12 for header in headers):
        return _MONTH_FIRST
    if not headers:
        return _DAY_FIRST
    steps_back = {order: _steps_back(headers, order) for order in (_DAY_FIRST, _MONTH_FIRST)}
    if steps_back[_DAY_FIRST] != steps_back[_MONTH_FIRST]:
        return min(steps_back, key=steps_back.__getitem__)
    american = headers[0]["sep"] == "/" and (headers[0]["half"] or "").isupper()
    return _MONTH_FIRST if american else _DAY_FIRST


def _steps_back(headers: Sequence[re.Match[str]], order: str) -> int:
    times = [time for header in headers if (time := _time(header, order)) is not None]
    return sum(later < earlier for earlier, later in pairwise(times))


def _time(header: re.Match[str], order: str) -> float | None:
    """A message's time as seconds since 1970, the phone's clock taken for UTC; None if none."""
    numbers = header.group("a", "b", "c")
    year, month, day = (int(numbers[order.index(part)]) for part in _YEAR_FIRST)
    half, told = header["half"], header["before"] or header["sign"]
    hour = int(header["h"])
    if half or told:
        hour = hour % 12 + 12 * (half in ("p", "P") or told in _AFTERNOON)
    minute, second = int(header["m"]), int(header["s"] or 0)
    if year < 100:
        year += 2000
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None

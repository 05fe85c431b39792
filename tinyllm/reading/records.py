"""Files to records: every byte of a file belongs to exactly one record or fault, in order."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import Any, Literal

import orjson

from tinyllm.console import in_one_line
from tinyllm.ledger import Fate
from tinyllm.reading import parquet
from tinyllm.reading.inputs import HIDDEN, InputFile
from tinyllm.reading.jsontext import (
    SEPARATORS,
    UTF8_BOM,
    Boundaries,
    Piece,
    decode_line,
    strip_separators,
)
from tinyllm.reading.long_objects import LongObject
from tinyllm.reading.streams import Content, OnRead

# The largest record that is held in memory, unpacked. Python needs up to four bytes for each
# character of a text and a copy or two of it, and preparation has to stay under 1.5 GB.
RECORD_BYTES = 64 << 20
_HEAD_BYTES = 1 << 16
# A compressed file smaller than RECORD_BYTES by more than this holds no value above it.
_MAX_PACKING = 64

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json", ".traj")
TEXT_SUFFIXES = (".txt", ".md", ".markdown", ".text")
_COMPRESSED_SUFFIXES = (".gz", ".zst")
Layout = Literal["lines", "values", "text", "object"]


@dataclass(slots=True)  # not frozen: that makes a record three times as slow to build
class Record:
    """One record of a file, or a stretch of bytes that is none.

    value   the decoded record; None where `fate` is set
    size    its bytes of the file's content (unpacked, if the file is compressed)
    line    where it begins, from 1; in a parquet file, the row
    fate    "" for a record; otherwise what the ledger books the bytes under
    detail  what is wrong with them
    lost    `size` counts bytes of the file on disk, which gave no content
    """

    value: Any
    size: int
    path: str
    line: int
    fate: Fate | Literal[""] = ""
    detail: str = ""
    lost: bool = False


def records(file: InputFile, on_read: OnRead | None = None) -> Iterator[Record]:
    """The records of one file, in order, in memory bounded by RECORD_BYTES.

    The layout is found in the first bytes, not in the name: JSON lines, JSON documents and
    arrays (spread over lines or not), parquet, plain text, each also in gzip or zstd. `on_read`
    is told the number of bytes of each read. Raises nothing for what a file may hold: damage
    comes out as records with a `fate`. Their sizes add up to the content, and those marked
    `lost` are bytes of the file itself.
    """
    if file.passed_by or file.fault:
        yield from _unread(file, on_read)
        return
    if parquet.is_parquet(file.path):
        yield from _parquet_rows(file, on_read)
        return
    content = Content(file, on_read)
    chunks = iter(content)
    head = _head(chunks)
    layout = find_layout(head, len(head) < _HEAD_BYTES, file.path)
    if layout is None:
        yield from _not_a_log(file, chain((head,), chunks))
    else:
        readers = {"lines": _lines, "values": _values, "text": _text, "object": _object}
        if layout != "text" and head.lstrip(SEPARATORS)[:1] == b"{" and _is_long_object(file):
            layout = "object"
        yield from readers[layout](file.path, chain((head,), chunks), content)
    if content.fault:
        yield Record(None, content.lost, file.path, 1, "unreadable", content.fault, lost=True)


def _unread(file: InputFile, on_read: OnRead | None) -> Iterator[Record]:
    if on_read:
        on_read(file.size)
    if file.passed_by:
        fate: Fate = "not a log" if file.passed_by == HIDDEN else "duplicate"
        yield Record(None, file.size, file.path, 1, fate, file.passed_by)
    else:
        yield Record(None, file.size, file.path, 1, "unreadable", file.fault, lost=True)


def _not_a_log(file: InputFile, chunks: Iterator[bytes]) -> Iterator[Record]:
    """A file of another kind: its content is passed over, for the bytes to be counted."""
    size = sum(map(len, chunks))
    kind = in_one_line(PurePath(file.path).suffix.lower()) or "no suffix"
    yield Record(None, size, file.path, 1, "not a log", kind)


def _head(chunks: Iterator[bytes]) -> bytes:
    """The first _HEAD_BYTES of the content, or more."""
    head = b""
    while len(head) < _HEAD_BYTES and (chunk := next(chunks, None)) is not None:
        head += chunk
    return head


# --- layout ----------------------------------------------------------------------------------

_JSON_START = re.compile(rb"\{\s*[\"}]|\[\s*[\[{\"\d\-ntf\]]|\{\s*\Z|\[\s*\Z")
_RECORD_START = re.compile(rb"\{\s*\"|\[\s*\{\s*\"")


def find_layout(head: bytes, complete: bool, path: str) -> Layout | None:
    """How a file is laid out, from its first bytes; None for a file that is no log.

    head      the beginning of its content
    complete  True if that is all of it
    path      decides only what the content leaves open: prose in a `.txt` is a document, in a
              `.jsonl` it is damage, and elsewhere it is no log
    """
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    while suffixes and suffixes[-1] in _COMPRESSED_SUFFIXES:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    body = head.removeprefix(UTF8_BOM).lstrip(b" \t\r\n\0")
    named_json = suffix in JSON_SUFFIXES
    if named_json:
        return (_JSON_START.match(body) and _json_layout(body, complete)) or "lines"
    if _RECORD_START.match(body) and not _prose_follows(body):
        layout = _json_layout(body, complete)
        if layout is not None:
            return layout
    return "text" if suffix in TEXT_SUFFIXES and b"\0" not in head else None


def _json_layout(body: bytes, complete: bool) -> Layout | None:
    """Lines of JSON, or values that spread over lines; None if it is no JSON after all."""
    first, newline, rest = body.partition(b"\n")
    if body.startswith(b"[") and not rest.strip() and (complete or not newline):
        return "values"
    if (not newline and not complete) or not decode_line(first)[0].fault:
        return "lines"
    bounds = Boundaries()
    for _ in bounds.feed(first):
        pass
    if bounds.in_string or not bounds.depth:
        return None
    following = rest.lstrip().partition(b"\n")
    second = decode_line(following[0])[0] if following[1] else None
    whole = second is not None and not second.fault and isinstance(second.value, dict)
    return "lines" if whole and body.startswith(b"{") else "values"


def _prose_follows(body: bytes) -> bool:
    """True where a JSON line is followed by one of something else, as in a page about JSON."""
    first, _, rest = body.partition(b"\n")
    second, newline, _ = rest.lstrip().partition(b"\n")
    if decode_line(first)[0].fault or not newline:
        return False
    return bool(decode_line(second)[0].fault)


# --- the layouts -----------------------------------------------------------------------------


def _lines(path: str, chunks: Iterator[bytes], _: Content) -> Iterator[Record]:
    for line, (text, size) in enumerate(split_lines(chunks, RECORD_BYTES), 1):
        if text is None:
            yield Record(None, size, path, line, "unreadable", _too_large())
            continue
        try:
            yield Record(orjson.loads(text), size, path, line)
            continue
        except orjson.JSONDecodeError:
            pieces = decode_line(text)
        if len(pieces) == 1:
            yield _as_record(pieces[0], size, path, line)
            continue
        rest = size - sum(piece.size for piece in pieces)  # the line's end, blanks around values
        for piece in pieces:
            yield _as_record(piece, piece.size + rest, path, line)
            rest = 0


def _as_record(piece: Piece, size: int, path: str, line: int) -> Record:
    if not piece.fault:
        return Record(piece.value, size, path, line)
    if piece.fault == "blank":
        return Record(None, size, path, line, "blank")
    return Record(None, size, path, line, "unreadable", piece.fault)


def _too_large() -> str:
    return f"over {RECORD_BYTES >> 20} MiB"


def split_lines(chunks: Iterator[bytes], limit: int) -> Iterator[tuple[bytes | None, int]]:
    """Lines without their `\\n`, and their size with it; None for a line above `limit` bytes.

    Only `\\n` ends a line: U+2028, U+0085, form feeds and lone carriage returns are text.
    """
    waiting: list[bytes] = []
    waiting_size = 0
    for chunk in chunks:
        first, newline, rest = chunk.partition(b"\n")
        waiting_size += len(first)
        if waiting_size <= limit:
            waiting.append(first)
        else:
            waiting.clear()
        if not newline:
            continue
        whole = b"".join(waiting) if waiting_size <= limit else None
        yield whole, waiting_size + 1
        *lines, last = rest.split(b"\n")
        for line in lines:
            yield (line if len(line) <= limit else None), len(line) + 1
        waiting = [last]
        waiting_size = len(last)
    if waiting_size:
        yield (b"".join(waiting) if waiting_size <= limit else None), waiting_size


def _values(path: str, chunks: Iterator[bytes], _: Content) -> Iterator[Record]:
    """Values that spread over lines; from an unbalanced one on, the rest is unreadable."""
    bounds = Boundaries()
    span = _Span(path)
    for chunk in chunks:
        done = 0
        for end in bounds.feed(chunk):
            span.add(chunk[done:end])
            done = end
            if (record := span.take()) is not None:
                yield record
        span.add(chunk[done:])
    if (record := span.take(at_end=True)) is not None:
        yield record


def _is_long_object(file: InputFile) -> bool:
    """True if the file's first value is larger than can be held."""
    if file.size < RECORD_BYTES // _MAX_PACKING:
        return False
    bounds = Boundaries()
    seen = 0
    for chunk in Content(file):
        end = next(bounds.feed(chunk), None)
        if end is not None:
            return seen + end > RECORD_BYTES
        seen += len(chunk)
        if seen > RECORD_BYTES:
            return True
    return False


def _object(path: str, chunks: Iterator[bytes], _: Content) -> Iterator[Record]:
    """One object that is larger than can be held, a record for each message in its lists."""
    whole = LongObject(RECORD_BYTES)
    line = 1
    for chunk in chunks:
        for part, size in whole.feed(chunk):
            if part is None:
                yield Record(None, size, path, line, "unreadable", _too_large())
            else:
                yield _as_record(decode_line(part)[0], size, path, line)
        line += chunk.count(b"\n")
    if whole.rest and whole.complete:
        yield Record(None, whole.rest, path, line, "markup")
    elif whole.rest:
        yield Record(None, whole.rest, path, line, "unreadable", "cut line")


class _Span:
    """The bytes from the end of one value to the end of the next."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._parts: list[bytes] = []
        self._size = 0
        self._line = 1
        self._lines = 0

    def add(self, part: bytes) -> None:
        """Go on; the bytes of a span above RECORD_BYTES are only counted."""
        self._size += len(part)
        self._lines += part.count(b"\n")
        if self._size <= RECORD_BYTES:
            self._parts.append(part)
        else:
            self._parts.clear()

    def take(self, *, at_end: bool = False) -> Record | None:
        """The record that ends here; None where only blanks and commas came so far."""
        if not self._size:
            return None
        if self._size > RECORD_BYTES:
            record = Record(None, self._size, self._path, self._line, "unreadable", _too_large())
        else:
            raw = b"".join(self._parts)
            body = strip_separators(raw)
            if not body and not at_end:
                self._parts = [raw]
                return None
            lead = len(raw) - len(raw.lstrip(SEPARATORS))
            record = self._record(body, raw, self._line + raw.count(b"\n", 0, lead))
        self._line += self._lines
        self._lines = self._size = 0
        self._parts.clear()
        return record

    def _record(self, body: bytes, raw: bytes, line: int) -> Record:
        if body in (b"[", b"]"):
            return Record(None, self._size, self._path, line, "markup")
        if not body:
            return Record(None, self._size, self._path, line, "markup" if raw.strip() else "blank")
        pieces = decode_line(body)
        if len(pieces) == 1:
            return _as_record(pieces[0], self._size, self._path, line)
        return Record(None, self._size, self._path, line, "unreadable", "not JSON")


def _text(path: str, chunks: Iterator[bytes], content: Content) -> Iterator[Record]:
    """One document; one for each RECORD_BYTES of a longer text, cut behind a line or word."""
    waiting = bytearray()
    line = 1
    for chunk in chunks:
        waiting += chunk
        if len(waiting) > RECORD_BYTES:
            line_end = waiting.rfind(b"\n", 0, RECORD_BYTES) + 1
            end = line_end or waiting.rfind(b" ", 0, RECORD_BYTES) + 1 or RECORD_BYTES
            yield _as_text(bytes(waiting[:end]), path, line)
            line += waiting.count(b"\n", 0, end)
            del waiting[:end]
    end = waiting.rfind(b"\n") + 1 if content.grew else len(waiting)
    if end:
        yield _as_text(bytes(waiting[:end]), path, line)
    if end < len(waiting):
        line += waiting.count(b"\n", 0, end)
        yield Record(None, len(waiting) - end, path, line, "unreadable", "cut line")


def _as_text(raw: bytes, path: str, line: int) -> Record:
    text = raw.removeprefix(UTF8_BOM).decode("utf-8", "surrogateescape")
    if not text.strip():
        return Record(None, len(raw), path, line, "blank")
    return Record({"text": text}, len(raw), path, line)


def _parquet_rows(file: InputFile, on_read: OnRead | None) -> Iterator[Record]:
    """Rows as records; how much of the file each one takes is told by its size as JSON."""
    row = 0
    try:
        for row, (value, size) in enumerate(parquet.rows(file.path, file.size, on_read), 1):
            yield Record(value, size, file.path, row)
    except parquet.Damaged as error:
        lost = 0 if row else file.size
        yield Record(None, lost, file.path, row + 1, "unreadable", str(error), lost=True)

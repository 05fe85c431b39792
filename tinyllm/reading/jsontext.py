"""JSON text that real programs left behind: decoding that never fails, and finding its bounds."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

UTF8_BOM = b"\xef\xbb\xbf"
# Python refuses to turn more digits than this into an int (`sys.set_int_max_str_digits`).
_MAX_DIGITS = 4000
_BLANK = b" \t\r\n"
SEPARATORS = _BLANK + b",\0"
_NULS = re.compile(rb"\0+")


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a line: a decoded value, or why there is none.

    size    bytes of the line that belong to it; a line's pieces add up to the line
    fault   "" for a value; "blank", or what is wrong with the bytes
    """

    value: Any
    size: int
    fault: str = ""


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float("inf")


# Accepts raw control characters in strings, NaN and Infinity, which strict JSON doesn't.
_LENIENT = json.JSONDecoder(strict=False, parse_int=_parse_int)


def decode_line(line: bytes) -> list[Piece]:
    """Everything in one line: usually one value, sometimes several glued ones, blanks or damage.

    Bytes that are no UTF-8 come out as lone surrogates, for cleaning to replace. Never raises.
    """
    try:
        return [Piece(orjson.loads(line), len(line))]
    except orjson.JSONDecodeError:
        pass
    if b"\0" not in line:
        return list(_decode_span(line))
    pieces: list[Piece] = []
    done = 0
    for nuls in _NULS.finditer(line):
        if nuls.start() > done:
            pieces += _decode_span(line[done : nuls.start()])
        pieces.append(Piece(None, nuls.end() - nuls.start(), "NUL bytes"))
        done = nuls.end()
    if done < len(line):
        pieces += _decode_span(line[done:])
    return pieces


def _decode_span(span: bytes) -> Iterator[Piece]:
    """Values glued to each other, then what can't be decoded."""
    body = span.removeprefix(UTF8_BOM)
    if not body.strip(_BLANK):
        yield Piece(None, len(span), "blank")
        return
    text = body.decode("utf-8", "surrogateescape")
    extra = len(span) - len(body)
    at = 0
    while at < len(text):
        start = _skip(text, at)
        try:
            value, end = _LENIENT.raw_decode(text, start)
        except ValueError as error:
            yield Piece(None, _size(text[at:]) + extra, _damage(error, text))
            return
        except RecursionError:
            yield Piece(None, _size(text[at:]) + extra, "nested too deeply")
            return
        end = _skip(text, end)
        if end < len(text) and not isinstance(value, dict | list):
            yield Piece(None, _size(text[at:]) + extra, "not JSON")
            return
        yield Piece(value, _size(text[at:end]) + extra)
        extra = 0
        at = end


def _skip(text: str, at: int) -> int:
    """Past what may stand around values: blanks, byte order marks, the commas of an array."""
    while at < len(text) and text[at] in " \t\r\n,\ufeff":
        at += 1
    return at


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _damage(error: ValueError, text: str) -> str:
    """Cut at the end, or wrong in the middle?"""
    position = getattr(error, "pos", 0)
    message = getattr(error, "msg", "")
    cut = position >= len(text.rstrip()) or message.startswith("Unterminated string")
    return "cut line" if cut and text.lstrip("\ufeff \t")[:1] in ("{", "[") else "not JSON"


# --- bounds of values that spread over lines ------------------------------------------------

_OUTSIDE = re.compile(rb'["{}\[\],]')
_INSIDE = re.compile(rb'["\\]')
_QUOTE, _COMMA = b'",'
_OPENING, _ARRAY, _CLOSING = b"{[", ord("["), b"}]"


class Strings:
    """Where in a stream of chunks the strings of JSON text are."""

    def __init__(self) -> None:
        self.in_string = False
        self._escaped = False

    def leave_string(self, chunk: bytes, at: int) -> int:
        """Offset behind the closing quote, or the end of the chunk."""
        if self._escaped:
            self._escaped = False
            at += 1
        while match := _INSIDE.search(chunk, at):
            at = match.end()
            if chunk[at - 1] == _QUOTE:
                self.in_string = False
                return at
            self._escaped = at == len(chunk)
            at += 1
        return len(chunk)


class Boundaries(Strings):
    """Finds where JSON values end in a stream of chunks, by brackets and quotes alone.

    The members of a top-level array are values of their own. Values may follow each other with
    or without anything between them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0
        self._base = 0  # 1 inside a top-level array

    def feed(self, chunk: bytes) -> Iterator[int]:
        """Offsets in `chunk` just behind a value, or behind a bracket or comma around values."""
        at = 0
        while at < len(chunk):
            if self.in_string:
                at = self.leave_string(chunk, at)
                continue
            match = _OUTSIDE.search(chunk, at)
            if match is None:
                return
            at = match.end()
            byte = chunk[at - 1]
            if byte == _QUOTE:
                self.in_string = True
            elif byte == _COMMA:
                if self.depth == self._base:
                    yield at
            elif self._bracket(byte):
                yield at

    def _bracket(self, byte: int) -> bool:
        """True if this bracket ends a value, or begins or ends a top-level array."""
        if byte in _OPENING:
            top_array = self.depth == 0 and byte == _ARRAY
            self._base = int(top_array) if self.depth == 0 else self._base
            self.depth += 1
            return top_array
        self.depth = max(0, self.depth - 1)
        at_end = self.depth <= self._base
        self._base = min(self._base, self.depth)
        return at_end


def strip_separators(span: bytes) -> bytes:
    """A value without the blanks and commas before it and the bracket or comma behind it.

    What opens or closes the array around values comes out as that bracket alone.
    """
    body = span.removeprefix(UTF8_BOM).strip(SEPARATORS)
    if body[:1] in (b"{", b"[", b"]", b""):
        return body
    return body.rstrip(SEPARATORS + b"]")

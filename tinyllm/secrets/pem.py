"""PEM blocks (RFC 7468, OpenPGP's armor), whole, cut, or spread over several messages."""

import re

from tinyllm.secrets.checks import is_random
from tinyllm.secrets.kinds import Secret

INSIDE = "pem"

# Line breaks may be escaped, as in the JSON files of service accounts.
_BREAK = rb"(?:\r?\n|(?:\\+r)?\\+n)"
_BEGIN = re.compile(rb"-----BEGIN ([A-Z0-9 ]{3,40})-----")
_END = re.compile(rb"-----END [A-Z0-9 ]{3,40}-----")
# What a reader's line numbers, quoting and diffs put before a line.
_MARGIN = rb"[ \t]{0,40}(?:[0-9]{1,5}(?:\xe2\x86\x92|[:|\t]))?[ \t>|+]{0,12}"
_HEADER = rb"[A-Z][A-Za-z-]{2,20}: [^\r\n\\]{1,100}"
_BASE64 = rb"[A-Za-z0-9+/]{1,76}={0,2}"
_BODY = re.compile(
    rb"(?:" + _BREAK + _MARGIN + rb"(?:" + _HEADER + rb"|" + _BASE64 + rb"|(?=[\r\n\\]|\Z)))+"
)
_LINE = re.compile(
    rb"(?:\A|(?<=\n)|(?<=\\n))" + _MARGIN + rb"([A-Za-z0-9+/]{4,76}={0,2})"
    rb"[ \t]{0,12}(?=[\r\n\\]|\Z|-----END)"
)
_KEY_BYTES = re.compile(rb"[A-Za-z0-9+/]{16,}")
# What may follow the last line of a block at the end of a text.
_TAIL = re.compile(rb"[ \t\r\n\\rn\"'`]*\Z")
_LONGEST = 32_768
_FULL_LINE = 40


def find_pem(raw: bytes, inside: str, found: list[Secret]) -> str:
    """Append the blocks; returns INSIDE if one is open at the text's end, else "".

    Of a block that an earlier text opened, only lines of base64 are secret. A BEGIN line that no
    base64 follows is somebody's words about keys.
    """
    begin = _BEGIN.search(raw)
    end = _END.search(raw)
    if inside == INSIDE:
        stop = min([len(raw), *(mark.start() for mark in (begin, end) if mark is not None)])
        _add_lines(raw, stop, found)
        if end is not None and stop == end.start():
            found.append(Secret("pem", *end.span()))
        elif begin is None:
            return INSIDE
        inside = ""
    while begin is not None:
        while end is not None and end.start() < begin.end():
            end = _END.search(raw, end.end())
        following = _BEGIN.search(raw, begin.end())
        if end is not None and (following is None or end.start() < following.start()):
            inside = ""
            if end.start() - begin.end() < _LONGEST and _is_body(raw[begin.end() : end.start()]):
                found.append(Secret("pem", begin.start(), end.end()))
        else:
            limit = following.start() if following else len(raw)
            inside = _open(raw, begin, limit, found)
        begin = following
    return inside


def _is_body(body: bytes) -> bool:
    """True if at least half of it is base64, as in no sentence or code that names both lines."""
    return 2 * sum(map(len, _KEY_BYTES.findall(body))) >= len(b"".join(body.split())) > 0


def _open(raw: bytes, begin: re.Match[bytes], limit: int, found: list[Secret]) -> str:
    """A block without an end before `limit`: its lines are the secret."""
    body = _BODY.match(raw, begin.end(), limit)
    end = body.end() if body else begin.end()
    if _KEY_BYTES.search(raw, begin.end(), end) or _TAIL.match(raw, end):
        found.append(Secret("pem", begin.start(), end))
        return INSIDE
    return ""


def _add_lines(raw: bytes, end: int, found: list[Secret]) -> None:
    """Full lines of base64, and what ends the last of them."""
    after = -1
    for match in _LINE.finditer(raw, 0, end):
        line = match[1]
        full = len(line) >= _FULL_LINE and is_random(line)
        last = after >= 0 and not raw[after : match.start()].strip(b"\r\n\\rn")
        closes = raw.startswith(b"-----END", match.end() + 1) and len(line) >= 16
        if full or last or closes:
            found.append(Secret("pem", match.start(1), match.end(1)))
            after = match.end() if full else -1

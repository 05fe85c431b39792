"""Machine noise and secrets in text: ids and secrets become placeholders; escapes and base64 go."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase, digits

from tinyllm.documents import SCRUBBED_ID
from tinyllm.secrets import Redactor

# The work is done on UTF-8 bytes: `bytes.translate` and `bytes.find` tell in about 2 ns a byte
# that a text holds nothing to scrub, where regular expressions would take 20 times as long.
_ID = SCRUBBED_ID.encode()
_BYTES = bytes(range(256))
_HEX = b"0123456789abcdefABCDEF"
_UPPER, _LOWER, _DIGITS = ascii_uppercase.encode(), ascii_lowercase.encode(), digits.encode()
_BASE64 = _UPPER + _LOWER + _DIGITS + b"+/"
# Maps hex digits to `h` (and keeps `-`), base64 characters to `b`; everything else to a space.
_HEX_MAP = bytes(ord("h") if b in _HEX else b if b == ord("-") else ord(" ") for b in _BYTES)
_BASE64_MAP = bytes(ord("b") if b in _BASE64 else ord(" ") for b in _BYTES)

_UUID_SHAPE = b"hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh"
_HEX32_SHAPE = b"h" * 32
_HEX_BEGINNING = b"h" * 8  # of both
# Shorter runs are words, paths, hashes and keys; wrapped base64 has lines of 60 to 76 characters.
_MIN_BASE64 = 256
_MIN_BASE64_LINE = 60
_MIN_BASE64_LINES = 4
_SAMPLE = 4096

_UUID = re.compile(
    rb"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])"
)
_HEX32 = re.compile(rb"(?<![0-9A-Za-z])[0-9a-fA-F]{32}(?![0-9A-Za-z])")
_PREFIXES = (b"toolu_", b"call_", b"msg_", b"chatcmpl-")
_ID_BYTES = 16
# A digit before a letter tells an id from a name such as `call_constructorArguments`.
_PREFIXED = re.compile(
    rb"(?<![0-9A-Za-z_])(?:chatcmpl-(?:tool-)?|(?:toolu|msg|call)_(?:[a-z]{2,6}_|[0-9]{1,2}_)?)"
    rb"(?:<id>|(?=[A-Za-z]{0,64}[0-9]+[A-Za-z])[0-9A-Za-z]{16,64}(?![0-9A-Za-z_]))"
)
# ECMA-48: control sequences, operating system commands and strings, two-byte escapes.
_ESCAPE = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])?"
)
_DATA_URI = re.compile(
    rb"data:[a-zA-Z0-9.+/-]{0,100}(?:;[a-zA-Z0-9=._-]{1,100}){0,4};base64,[A-Za-z0-9+/=_-]*"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)  # not frozen: that makes one three times as slow to build
class Clean:
    """A clean text.

    noise         bytes of UTF-8 that ids, escapes and base64 were longer than what stands for them
    secret_bytes  the same of secrets
    secrets       their kinds, and how many of each
    inside        the block that this text leaves open, for the next one of its document
    """

    text: str
    noise: int = 0
    secret_bytes: int = 0
    secrets: tuple[tuple[str, int], ...] = ()
    inside: str = ""


class Cleaner:
    """Cleans texts.

    UUIDs, bare 32-digit hex ids and `toolu_…`, `call_…`, `chatcmpl-…`, `msg_…` ids become
    `<id>`; terminal escapes, data URIs and long base64 runs go; lone surrogates become U+FFFD;
    secrets become the placeholders of `tinyllm.secrets`, save the groups in `keep`. Git hashes,
    camelCase and version numbers stay. Time is linear in the text's length.

    Raises UserError for a group in `keep` that doesn't exist.
    """

    def __init__(self, keep: Collection[str] = ()) -> None:
        self._redact = Redactor(keep)

    def __call__(self, text: str, inside: str = "") -> Clean:
        """Clean one text; `inside` is the block that the text before it left open."""
        try:
            raw = text.encode()
        except UnicodeEncodeError:
            text = _SURROGATE.sub("\ufffd", text)
            raw = text.encode()
        plain = raw
        if b"\x1b" in plain:
            plain = _ESCAPE.sub(b"", plain)
        redacted = self._redact(plain, inside)
        clean = redacted.raw
        if b";base64," in clean:
            clean = _DATA_URI.sub(b"", clean)
        clean = _drop_base64(clean)
        clean = _replace_ids(clean)
        if clean is raw:
            return Clean(text, inside=redacted.inside)
        secret_bytes = len(plain) - len(redacted.raw)
        return Clean(
            clean.decode(),
            len(raw) - len(clean) - secret_bytes,
            secret_bytes,
            redacted.found,
            redacted.inside,
        )


def utf8_length(text: str) -> int:
    """Bytes of UTF-8 in a text; a lone surrogate counts three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _replace_ids(raw: bytes) -> bytes:
    if len(raw) < 20:
        return raw
    shape = raw.translate(_HEX_MAP)
    if _HEX_BEGINNING in shape:
        if _UUID_SHAPE in shape:
            raw = _UUID.sub(_ID, raw)
        if _HEX32_SHAPE in shape:
            raw = _HEX32.sub(_ID, raw)
    for prefix in _PREFIXES:
        if prefix in raw and _may_begin_id(raw, prefix):
            return _PREFIXED.sub(_ID, raw)
    return raw


def _may_begin_id(raw: bytes, prefix: bytes) -> bool:
    """True if the prefix stands somewhere before what may be an id, as in `call_id` it doesn't."""
    at = raw.find(prefix)
    while at >= 0:
        at += len(prefix)
        behind = raw[at : at + _ID_BYTES]
        if _ID in behind or behind.translate(None, b"_-").isalnum():
            return True
        at = raw.find(prefix, at)
    return False


def _drop_base64(raw: bytes) -> bytes:
    """Without long runs of base64, on one line or wrapped over several."""
    if len(raw) < _MIN_BASE64_LINE * _MIN_BASE64_LINES:
        return raw
    shape = raw.translate(_BASE64_MAP)
    kept: list[bytes] = []
    done = 0
    start = shape.find(b"b" * _MIN_BASE64_LINE)
    while start >= 0:
        end = _base64_end(raw, shape, start)
        if end:
            kept.append(raw[done:start])
            done = end
        else:
            end = _run_end(shape, start)
        start = shape.find(b"b" * _MIN_BASE64_LINE, end)
    return b"".join([*kept, raw[done:]]) if kept else raw


def _base64_end(raw: bytes, shape: bytes, start: int) -> int:
    """Where the base64 that starts here ends, its padding included; 0 if it is something else."""
    end = _run_end(shape, start)
    if end - start < _MIN_BASE64 and raw[end : end + 1] != b"\n":
        return 0
    if not _looks_random(raw[start : max(end, start + _MIN_BASE64)][:_SAMPLE]):
        return 0
    width = end - start
    lines = 1
    while raw[end : end + 1] == b"\n" and _run_end(shape, end + 1) == end + 1 + width:
        end += 1 + width
        lines += 1
    if width < _MIN_BASE64 and lines < _MIN_BASE64_LINES - 1:
        return 0
    if lines > 1 and raw[end : end + 1] == b"\n":
        last = _run_end(shape, end + 1)
        if last - end - 1 < width and raw[last : last + 1] in (b"\n", b"=", b""):
            end = last
    while raw[end : end + 1] == b"=":
        end += 1
    return end


def _run_end(shape: bytes, start: int) -> int:
    end = shape.find(b" ", start)
    return len(shape) if end < 0 else end


def _looks_random(sample: bytes) -> bool:
    """True if capitals, small letters and digits are mixed as only an encoding mixes them."""
    upper, lower, numbers = (
        len(sample) - len(sample.translate(None, kind)) for kind in (_UPPER, _LOWER, _DIGITS)
    )
    return min(upper, lower) >= len(sample) // 10 and numbers >= len(sample) // 25

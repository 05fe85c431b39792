"""Keys, tokens and wallet addresses: the secrets that are one long run of letters and digits."""

import re

from tinyllm.secrets.addresses import find_ipv6
from tinyllm.secrets.checks import (
    DIGITS,
    base58check,
    is_hex,
    is_iban,
    is_luhn,
    is_random,
    is_varied,
)
from tinyllm.secrets.kinds import Secret
from tinyllm.secrets.rules import BROKEN, HEAD, PARTS, RULES

RUN = 16
_RUN_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
# Letters, digits, `_`, `-` and `:` become `a`, everything else a space.
RUN_MAP = bytes(ord("a") if byte in _RUN_BYTES + b":" else ord(" ") for byte in range(256))
NEEDLE = b"a" * RUN
_HEADS = frozenset(RULES)
_PARTS = frozenset(PARTS)

# Line breaks, colours and characters written as escapes, which stick to what follows them.
_BEFORE_ESCAPES = frozenset(b"\\[;%")
_ESCAPE = re.compile(
    rb"(?<=\\)(?:[nrtbf]|u00[0-9a-fA-F]{2})|(?<=[\[;])[0-9]{1,3}m|(?<=%)[0-9A-F]{2}"
)
# What may part a key into runs, and how long its first runs are at most.
_BREAKS = frozenset(b"+/=.")
_BROKEN_SPAN = 48

_VALUE = re.compile(rb"[A-Za-z0-9+/=_.~%-]*")
_MOST_JUDGED = 1024  # bytes of a value that are looked at to tell whether it is random
_VALUE_BYTES = frozenset(_RUN_BYTES + b"+/.~%")
_VALUE_SPAN = 96

# What a value's label looks like, and how it is joined to the value, which starts at the end.
_LABEL = re.compile(
    rb"(?:(?:api|access|secret|private|auth|account|encryption|signing|master|service|client"
    rb"|shared|app|webhook|license|subscription|consumer|admin|bot|storage|deploy)[_ -]?key"
    rb"|(?-i:[A-Z]_KEY)|secret|token|passw(?:or)?d|passphrase|pwd|credentials?|auth(?:orization)?"
    rb"|cookie|sig(?:nature)?|(?-i:sessionid|PHPSESSID|JSESSIONID))(?:[_-]?(?:id|value|base64|key|token|[0-9]))?"
    rb"[\"'\\\]`*]{0,4} {0,3}(?:[:=]{1,2}|=>|:=|is:?|was:?|(?:content|value)=)"
    rb"[\"'\\`*(\s]{0,6}"
    rb"(?:(?:bearer|token|basic|bot|key) +)?\Z",
    re.IGNORECASE,
)
_SCHEME = re.compile(
    rb"(?:\bbearer[ :]{1,2}"
    rb"|\bcookie: (?:[A-Za-z0-9_.-]{1,40}=[^\s;]{0,64}; ){0,3}[A-Za-z0-9_.-]{1,40}="
    rb"|--[a-z-]{0,24}(?:key|token|secret)[ =])[\"'`]?\Z",
    re.IGNORECASE,
)
_LABEL_WORDS = (
    b"key",
    b"token",
    b"secret",
    b"pass",
    b"auth",
    b"cred",
    b"cookie",
    b"sess",
    b"sig",
    b"pwd",
    b"bearer",
)
_LABEL_SPAN = 72

_AWS_SECRET = re.compile(rb"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")
_AWS_NEAR = 400
_TELEGRAM = re.compile(rb"(?<![0-9])[0-9]{8,10}:([A-Za-z0-9_-]{30,40})(?![A-Za-z0-9_-])")
_DISCORD = re.compile(rb"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}")
_DISCORD_HEADS = b"MNO"
_ADDRESS_HEADS = b"013"
_WEBHOOK = re.compile(
    rb"(?:/api/webhooks/[0-9]{15,21}|hooks\.slack\.com/(?:services|workflows)/T[A-Z0-9]+/[A-Z0-9]+)"
    rb"/\Z"
)
_WEBHOOK_SPAN = 80
_ETHEREUM = re.compile(rb"0x[0-9a-fA-F]{40}(?![0-9A-Za-z_-])")
_PRIVATE_HEX = re.compile(rb"private[_ -]?key[^0-9A-Za-z]{1,6}\Z", re.IGNORECASE)
_COIN = re.compile(
    rb"solana|\bsol\b|wallet|pubkey|lamport|phantom|monero|xmr|bitcoin|\bbtc\b|\bcoin|\baddr",
    re.IGNORECASE,
)
_BASE58 = re.compile(rb"[1-9A-HJ-NP-Za-km-z]+\Z")
_IBAN = re.compile(rb"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}\Z")
_CARD_LABEL = re.compile(rb"card|visa|amex|payment|\bpan\b|\bcc\b|credit|debit", re.IGNORECASE)
_COIN_SPAN = 64


def find_tokens(raw: bytes, shape: bytes, start: int, found: list[Secret]) -> None:
    """Append what is secret among the runs of `shape`, the first of which is at `start`."""
    while start >= 0:
        end = shape.find(b" ", start + RUN)
        if end < 0:
            end = len(raw)
        # Most runs are names in code: no vendor's head, no digit.
        if raw[start : start + HEAD] in _HEADS or raw[start - HEAD : start] in _PARTS:
            end = _judge_parts(raw, start, end, found)
        else:
            token = raw[start:end]
            if len(token.translate(None, DIGITS)) < len(token):
                end = _judge_parts(raw, start, end, found)
        start = shape.find(NEEDLE, end)


def _judge_parts(raw: bytes, start: int, end: int, found: list[Secret]) -> int:
    """Judge a run, part by part if colons part it; returns the end of what was looked at."""
    if raw.find(b":", start, end) < 0:
        return _judge(raw, start, end, found)
    parts = raw[start:end].split(b":")
    if len(parts) > 2 and find_ipv6(raw, start, end, found):
        return end
    match = _TELEGRAM.search(raw, start, end)
    if match is not None and is_varied(match[1]):
        found.append(Secret("key", *match.span()))
        return end
    for part in parts:
        if len(part) >= RUN:
            end = max(end, _judge(raw, start, start + len(part), found))
        start += len(part) + 1
    return end


def _judge(raw: bytes, start: int, end: int, found: list[Secret]) -> int:
    """Append the run if it is secret; returns the end of what was looked at."""
    if start and raw[start - 1] in _BEFORE_ESCAPES:
        escape = _ESCAPE.match(raw, start)
        start = escape.end() if escape else start
    token = raw[start:end]
    seen, is_key = _apply_rules(raw, start, found)
    if is_key:
        return max(end, seen)
    secret = None
    if is_random(token) or _is_shaped(raw, start, end):
        secret = (
            _joined(raw, start, token)
            or _address(raw, start, token)
            or _labelled(raw, start, token)
        )
    secret = secret or _account(raw, start, token)
    if secret is None:
        return max(end, seen)
    found.append(secret)
    return max(end, seen, secret.end)


def _apply_rules(raw: bytes, start: int, found: list[Secret]) -> tuple[int, bool]:
    """Append the vendor's key that begins at `start`, or before it and has a break such as `/`.

    Returns the end of what the rules looked at, and whether there is a key.
    """
    starts = [start]
    if start and raw[start - 1] in _BREAKS:
        broken = BROKEN.search(raw, max(start - _BROKEN_SPAN, 0), start)
        if broken is not None:
            starts.append(broken.start())
    seen = start
    for at in starts:
        for rule in RULES.get(raw[at : at + HEAD], ()):
            match = rule.pattern.match(raw, at)
            if match is None:
                continue
            seen = max(seen, match.end())  # what is no key as a whole holds none either
            if rule.check(match[0]):
                found.append(Secret(rule.kind, *match.span()))
                if rule.vendor == "AWS":
                    _add_aws_secrets(raw, match, found)
                return seen, True
    return seen, False


def _is_shaped(raw: bytes, start: int, end: int) -> bool:
    """True if it can be a key or an address by its ends, however few digits are in it."""
    if raw[start] in _ADDRESS_HEADS or raw[start - HEAD : start] in PARTS:
        return True
    if raw[start - 1] == ord("/") and raw.find(b"hooks", max(start - _WEBHOOK_SPAN, 0), start) >= 0:
        return True
    return raw[start] in _DISCORD_HEADS and raw[end : end + 1] == b"."


def _joined(raw: bytes, start: int, token: bytes) -> Secret | None:
    """Keys that a dot, a slash or a colon joins to what stands before."""
    before = raw[start - 3 : start]
    for pattern in PARTS.get(before, ()):
        for at in range(max(start - 12, 0), start):
            match = pattern.match(raw, at)
            if match is not None and is_varied(match[0]):
                return Secret("key", at, match.end())
    if before.endswith(b"/") and _WEBHOOK.search(raw, max(start - _WEBHOOK_SPAN, 0), start):
        return Secret("key", start, start + len(token))
    if token[0] in _DISCORD_HEADS and raw[start + len(token) : start + len(token) + 1] == b".":
        match = _DISCORD.match(raw, start)
        if match is not None and is_varied(token):
            return Secret("key", start, match.end())
    return None


def _address(raw: bytes, start: int, token: bytes) -> Secret | None:
    """Addresses and keys of wallets, most of them proved by a checksum."""
    size = len(token)
    if token.startswith(b"0x"):
        if _ETHEREUM.match(raw, start):
            return Secret("wallet", start, start + 42)
        if size == 66 and _PRIVATE_HEX.search(raw, max(start - 24, 0), start):
            return Secret("key", start, start + size)
        return None
    if not 25 <= size <= 111 or not _BASE58.match(token) or is_hex(token):
        return None
    kind = _base58_kind(raw, start, token)
    return Secret(kind, start, start + size) if kind else None


def _base58_kind(raw: bytes, start: int, token: bytes) -> str:
    """What base 58 stands for; "" if nothing says that it is more than an id."""
    size = len(token)
    if 90 <= size <= 108 and token[0] in b"48":  # Monero; its checksum takes a hash of its own
        return "wallet"
    payload = base58check(token) if size <= 36 or size in (51, 52, 111) else 0
    if payload:
        return "wallet" if payload in (21, 22) else "key"
    if size >= 32 and is_random(token) and _COIN.search(raw, max(start - _COIN_SPAN, 0), start):
        return "wallet"
    return ""


def _account(raw: bytes, start: int, token: bytes) -> Secret | None:
    """Numbers of cards and accounts, written without spaces."""
    end = start + len(token)
    if _IBAN.match(token) and is_iban(token):
        return Secret("iban", start, end)
    if not token.isdigit() or len(token) > 19 or token[0] not in b"23456" or not is_luhn(token):
        return None
    if _CARD_LABEL.search(raw, max(start - _COIN_SPAN, 0), start):
        return Secret("card", start, end)
    return None


def _labelled(raw: bytes, start: int, token: bytes) -> Secret | None:
    """Random text whose label says that it is secret."""
    first = start
    while first and raw[first - 1] in _VALUE_BYTES and start - first < _VALUE_SPAN:
        first -= 1
    low = max(first - _LABEL_SPAN, 0)
    before = raw[low:first].lower()
    if not any(word in before for word in _LABEL_WORDS):
        return None
    if not _LABEL.search(raw, low, first) and not _SCHEME.search(raw, low, first):
        return None
    match = _VALUE.match(raw, first, first + _MOST_JUDGED)
    end = match.end() if match else start + len(token)
    value = raw[first:end].rstrip(b".")
    if not is_random(value) or raw[end : end + 1] in (b"(", b"["):
        return None
    if end == first + _MOST_JUDGED:
        rest = _VALUE.match(raw, end)
        value += rest[0] if rest else b""
    return Secret("token", first, first + len(value))


def _add_aws_secrets(raw: bytes, key: re.Match[bytes], found: list[Secret]) -> None:
    """The secret access key stands near the key's id and has no prefix."""
    low, high = max(key.start() - _AWS_NEAR, 0), key.end() + _AWS_NEAR
    for match in _AWS_SECRET.finditer(raw, low, high):
        value = match[0]
        if is_random(value) and not is_hex(value) and value != value.lower():
            found.append(Secret("key", match.start(), match.end()))

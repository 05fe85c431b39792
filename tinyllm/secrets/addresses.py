"""Public IP addresses. Private, loopback and link-local ones, and those of everybody's name
servers, say nothing of a person and stay."""

import re
from ipaddress import AddressValueError, IPv6Address

from tinyllm.secrets.kinds import Secret

_IPV4 = re.compile(rb"\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})(?![0-9A-Za-z_]|[.-][0-9A-Za-z])")
_IPV6 = re.compile(rb"(?<![0-9A-Za-z:.%-])[23][0-9a-fA-F]{3}:[0-9a-fA-F:]{2,34}(?![0-9A-Za-z])")
_VERSION = re.compile(
    rb"(?:version|release|ver|build|[A-Za-z]/|v)[\"']?[ :=]{0,3}[\"']?\Z", re.IGNORECASE
)
_VERSION_PART = 20
_KNOWN = frozenset(
    ((8, 8, 8, 8), (8, 8, 4, 4), (1, 1, 1, 1), (1, 0, 0, 1), (9, 9, 9, 9), (1, 2, 3, 4))
)
_KNOWN_IPV6 = (b"2001:db8:", b"2001:0db8:", b"2001:4860:4860:")
_DIGITS = frozenset(b"0123456789")


def find_ipv4(raw: bytes, dot: int, found: list[Secret]) -> None:
    """Append the public IPv4 address whose first dot is at `dot`.

    Four small numbers are a version, and an address that ends in 0 is a network.
    """
    match = _IPV4.match(raw, dot)
    start = dot
    while start and dot - start < 4 and raw[start - 1] in _DIGITS:
        start -= 1
    if match is None or not 1 <= dot - start <= 3:
        return
    texts = (raw[start:dot], *match.groups())
    if any(text[0] == ord("0") and len(text) > 1 for text in texts):
        return
    octets = (int(texts[0]), int(texts[1]), int(texts[2]), int(texts[3]))
    before = raw[start - 1 : start] if start else b""
    if max(octets) > 255 or before.isalnum() or before in (b".", b"_", b"-"):
        return
    if is_public(octets) and not _is_version(raw, start, octets):
        found.append(Secret("ip", start, match.end()))


def is_public(octets: tuple[int, int, int, int]) -> bool:
    """True if machines on the internet can have this address (RFC 6890)."""
    first, second = octets[:2]
    if first in (0, 10, 127) or first >= 224 or octets in _KNOWN:
        return False
    if first == 100:
        return not 64 <= second <= 127
    if first == 172:
        return not 16 <= second <= 31
    return (first, second) not in ((192, 168), (169, 254))


def _is_version(raw: bytes, start: int, octets: tuple[int, int, int, int]) -> bool:
    if raw[start - 2 : start] == b"//" or raw[start - 1 : start] == b"@":
        return False
    if _VERSION.search(raw, max(start - 14, 0), start):
        return True
    return max(octets[1:]) <= _VERSION_PART or octets[3] == 0


def find_ipv6(raw: bytes, start: int, end: int, found: list[Secret]) -> bool:
    """Append a global unicast address (2000::/3) that stands there; returns whether one does.

    Addresses of documentation (2001:db8::/32) and of Google's name servers stay.
    """
    match = _IPV6.search(raw, start, end)
    if match is None:
        return False
    text = match[0].rstrip(b":")
    if (b"::" not in text and text.count(b":") != 7) or text.lower().startswith(_KNOWN_IPV6):
        return False
    try:
        IPv6Address(text.decode())
    except AddressValueError:
        return False
    found.append(Secret("ip", match.start(), match.start() + len(text)))
    return True

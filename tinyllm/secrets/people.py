"""E-mail addresses, passwords in URLs, phone numbers, payment cards, IBANs."""

import re

from tinyllm.secrets.checks import is_iban, is_luhn
from tinyllm.secrets.kinds import SYSTEM_NAMES, Secret

_LOCAL = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%+-")
_AT = re.compile(
    rb"@(?<=[A-Za-z0-9_%+-]@)((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,6}[A-Za-z]{2,24})"
    rb"(?![A-Za-z0-9_]|\.[A-Za-z0-9])"
)
_LONGEST_LOCAL = 64
_FILE_ENDINGS = frozenset(
    b"png jpg jpeg gif webp svg ico bmp css js mjs ts tsx json html htm tgz gz zip whl jar txt yml "
    b"yaml toml xml exe dll so lock log pdf map".split()
)
_VERSION = re.compile(rb"v?[0-9]+(?:\.[0-9]+|x\.)")
_EXAMPLES = re.compile(
    rb"(?:.*\.)?(?:example\.[a-z]+|(?:.*\.)?(?:test|invalid|example|localhost))\Z"
)
_ACCOUNTS = frozenset(b"git hg svn root ubuntu debian centos ec2-user mailer-daemon".split())
_NOBODY = frozenset(
    b"noreply no-reply donotreply do-not-reply notifications bounce mailer-daemon you your user "
    b"username name your.name yourname email your-email your.email someone somebody foo bar test "
    b"info hello contact support sales a b me x first.last firstname.lastname".split()
)

_URL = re.compile(rb"://([^\s/@:\"'<>`\\]{0,64}(?::[^\s/@\"'<>`]{0,256})?)@(?=[A-Za-z0-9\[$])")
_TEMPLATE = re.compile(
    rb"[<>{}$*]|\A(?:user(?:name)?|login|name)?:(?:pass(?:w(?:or)?d)?|pwd|secret)?\Z"
)

_PLUS = re.compile(
    rb"\+(?<![0-9A-Za-z)\]+\-/_.%]\+)"
    rb"([1-9][0-9]{0,3}(?:[ ().\-]{1,2}[0-9]{2,8}){1,5}|[1-9][0-9]{9,14})"
    rb"(?![0-9A-Za-z_]|[.,:][0-9])"
)
_NATIONAL = re.compile(
    rb"(?<![0-9A-Za-z_.,:/=+-])(?:1[ .-])?(?:\([2-9][0-9]{2}\)[ -]?|[0-9]{3}-|[2-9][0-9]{2}\.)"
    rb"[0-9]{3}[-.][0-9]{4}(?![0-9A-Za-z_]|[-.,:/][0-9])"
)
_PHONE_WORDS = (b"phone", b"mobil", b"cell", b"fax", b"whatsapp", b"tel")
_PHONE_LABEL = re.compile(
    rb"(?<![a-z])(?:(?:tele|mobile|home|work|cell|hand|contact)?phone|mobil|cell|fax|whatsapp|tel)"
    rb"[a-z_ ]{0,10}[\"'\\.]{0,3}\s{0,2}(?:[:=]|is)?"
    rb"[\s\"'\\]{0,5}(\(?[0-9][0-9 ().\-/]{6,18}[0-9])(?![0-9A-Za-z_]|[.:][0-9])",
    re.IGNORECASE,
)
_DATE = re.compile(
    rb"(?:19|20)[0-9]{2}[-./][0-9]{2}[-./][0-9]{2}|[0-9]{1,2}[-./][0-9]{1,2}[-./](?:19|20)"
)
_NUMBER_SPAN = 48
_PHONE_SPAN = 16
_LONGEST_IBAN = 34
_HUNK = re.compile(rb"^(?:@@ |\+\+\+ )", re.MULTILINE)

_CARD = re.compile(
    rb"(?<![0-9A-Za-z_.-])[2-6][0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?![0-9A-Za-z_-])"
)
_IBAN = re.compile(
    rb"(?<![0-9A-Za-z_])[A-Z]{2}[0-9]{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?(?![0-9A-Za-z])"
)


def find_emails(raw: bytes, credentials: set[int], found: list[Secret]) -> None:
    """Append addresses of people; those of programs and of nobody stay.

    credentials  where users and passwords of URLs end: what follows is no address's domain
    """
    for match in _AT.finditer(raw):
        if match.start() in credentials:
            continue
        domain = match[1].lower()
        if domain.rpartition(b".")[2] in _FILE_ENDINGS or _VERSION.match(domain):
            continue
        start = match.start()
        low = max(start - _LONGEST_LOCAL, 0)
        while start > low and raw[start - 1] in _LOCAL:
            start -= 1
        if start and raw[start - 1] == 92 and raw[start] in b"nrt":
            start += 1
        while raw[start] in b".%+-":
            start += 1
        if start == match.start():
            continue
        local = raw[start : match.start()].lower()
        if local in _ACCOUNTS or local.startswith((b"noreply", b"no-reply")):
            continue
        if local in _NOBODY and (_EXAMPLES.match(domain) or b"domain" in domain):
            continue
        found.append(Secret("email", start, match.end()))


def find_credentials(raw: bytes, found: list[Secret]) -> set[int]:
    """Append user and password of URLs; returns where those end that are or aren't secret."""
    ends: set[int] = set()
    for match in _URL.finditer(raw):
        user = match[1]
        ends.add(match.end(1))
        if _TEMPLATE.search(user) or user.rstrip(b":").lower() in SYSTEM_NAMES:
            continue
        found.append(Secret("password", match.start(1), match.end(1)))
    return ends


def find_international(raw: bytes, found: list[Secret]) -> None:
    """Phone numbers with a plus sign."""
    diff: bool | None = None
    for match in _PLUS.finditer(raw):
        digits = match[1].translate(None, b" ().-")
        if not 9 <= len(digits) <= 15 or digits.endswith(b"00000"):
            continue
        if match.start() == 0 or raw[match.start() - 1] == 10:  # the plus may be a diff's
            if diff is None:
                diff = _HUNK.search(raw) is not None
            if diff:
                continue
        found.append(Secret("phone", match.start(), match.end()))


def find_numbers(raw: bytes, at: int, found: list[Secret]) -> None:
    """Append the phone number without a plus sign, or the card or IBAN in groups, around `at`.

    Phone numbers are those of the North American form, and any after a word such as `phone`.
    """
    match = _NATIONAL.search(raw, max(at - _PHONE_SPAN, 0), at + _PHONE_SPAN)
    if match is not None:
        found.append(Secret("phone", match.start(), match.end()))
        return
    low, high = max(at - _NUMBER_SPAN, 0), at + _NUMBER_SPAN
    known = found and found[-1].kind in ("card", "iban") and at < found[-1].end
    if not known and (raw[at + 3 : at + 4] == b" " or raw[at + 5 : at + 6] == b"-"):
        for match in _CARD.finditer(raw, low, high):
            if is_luhn(match[0].translate(None, b" -")):
                found.append(Secret("card", match.start(), match.end()))
        for match in _IBAN.finditer(raw, low, high):
            number = match[0].replace(b" ", b"")
            if len(number) <= _LONGEST_IBAN and is_iban(number):
                found.append(Secret("iban", match.start(), match.end()))
    before = raw[low:at].lower()
    if any(word in before for word in _PHONE_WORDS):
        _add_labelled(raw, low, high, found)


def find_labelled_phone(raw: bytes, at: int, found: list[Secret]) -> None:
    """Append the number that follows `phone`, `mobile` or `tel.` at `at`."""
    _add_labelled(raw, at, at + _NUMBER_SPAN, found)


def _add_labelled(raw: bytes, low: int, high: int, found: list[Secret]) -> None:
    for match in _PHONE_LABEL.finditer(raw, low, high):
        digits = match[1].translate(None, b" ().-/")
        if 7 <= len(digits) <= 15 and len(set(digits)) > 2 and not _DATE.match(match[1]):
            found.append(Secret("phone", match.start(1), match.end(1)))

"""Passwords after labels, in several languages, and in commands."""

import re

from tinyllm.secrets.checks import has_digit
from tinyllm.secrets.kinds import Secret

_LABELLED = re.compile(
    rb"(?:passw(?:or)?d|passwort|passphrase|passwd)[A-Za-z0-9_]{0,12}"
    rb"[\"'\\\]`*]{0,4}\s{0,3}(?::=|=>|[:=]{1,2}|\bis\b:?|\bwas\b:?|(?<=--password)\s)[ \t]{0,3}"
    rb"(?:\\?([\"'`]))?([^\s\"'`\\<>]{6,64})",
    re.IGNORECASE,
)
_CODE = re.compile(rb"[(){}\[\]]|\A\$|\*\*|\A%|\A[a-z_.]+\Z", re.IGNORECASE)
_NEXT_PARAMETER = re.compile(rb"&[A-Za-z_]+=.*\Z")
_SYMBOL = re.compile(rb"[!@#^&*+?~%]")

# Short labels name other things too: a value must be quoted or follow an equals sign.
_SHORT = re.compile(
    rb"(?<![A-Za-z])(?:pass|pwd)(?:\\?[\"'])?"
    rb"(?: {0,2}=>? {0,2}(?:\\?[\"'`])?| {0,2}: {0,2}\\?[\"'`])(?![/~.])([^\s\"'`\\<>]{6,64})",
    re.IGNORECASE,
)
_SSHPASS = re.compile(rb"pass -p ?[\"']?([^\s\"'`<>]{4,64})")
_USER = re.compile(rb"(?:-u|-user)[ =][\"']?[^\s:\"'$<{/]{1,64}:([^\s\"'$<>{}/]{4,128})")
_LETTER = re.compile(rb"[A-Za-z]")
# Each with a byte that texts in other scripts don't have: searching for one byte is fast.
_FOREIGN = tuple(
    (letter.encode()[:1], word.encode())
    for letter, word in (
        *(("п", "пароль"), ("П", "Пароль"), ("密", "密码"), ("密", "密碼")),
        *(("パ", "パスワード"), ("비", "비밀번호"), ("ñ", "contraseña")),
    )
)
_FOREIGN_VALUE = re.compile(
    r"\s{0,2}(?:[:=]|：|是|is|es)\s{0,3}(?:[\"'`]|“|「)?".encode() + rb"([!-&(-;=?-_a-~]{6,64})"
)


def find_password(raw: bytes, at: int, found: list[Secret]) -> None:
    """Append what stands after `password:`, `"passphrase": "`, `DB_PASSWORD=`, unless it is code.

    The label begins at `at`.
    """
    match = _LABELLED.match(raw, at) if at >= 0 else None
    if match is None:
        return
    quote, value = match[1], match[2]
    if not quote:
        value = _NEXT_PARAMETER.sub(b"", value).rstrip(b".,;:)")
        if raw.startswith((b"(", b"["), match.start(2) + len(value)):
            return
    if _may_be_password(value):
        found.append(Secret("password", match.start(2), match.start(2) + len(value)))


def find_short_password(raw: bytes, at: int, found: list[Secret]) -> None:
    """Append what stands after `DB_PASS=`, `"pass": "`, `pwd=` or `sshpass -p`.

    The label begins at `at`.
    """
    match = _SSHPASS.match(raw, at)
    if match is not None and match[1][0] != ord("$"):
        found.append(Secret("password", *match.span(1)))
        return
    match = _SHORT.match(raw, at)
    if match is not None:
        value = _NEXT_PARAMETER.sub(b"", match[1]).rstrip(b".,;:)")
        if _LETTER.search(value) and _may_be_password(value):
            found.append(Secret("password", match.start(1), match.start(1) + len(value)))


def find_user_password(raw: bytes, at: int, found: list[Secret]) -> None:
    """Append the password in `-u USER:PASSWORD`, `--user …`; `at` is the last dash."""
    match = _USER.match(raw, at)
    if match is not None and _LETTER.search(match[1]) and _may_be_password(match[1]):
        found.append(Secret("password", *match.span(1)))


def find_foreign_passwords(raw: bytes, found: list[Secret]) -> None:
    """Append what stands after the word for password in other scripts."""
    for byte, word in _FOREIGN:
        at = raw.find(word) if byte in raw else -1
        while at >= 0:
            match = _FOREIGN_VALUE.match(raw, at + len(word))
            value = match[1].rstrip(b".,;:)") if match else b""
            if match and _may_be_password(value):
                found.append(Secret("password", match.start(1), match.start(1) + len(value)))
            at = raw.find(word, at + len(word))


def _may_be_password(value: bytes) -> bool:
    """True if it is no word, no name in code and no filler."""
    if len(value) < 6 or len(set(value)) < 4 or _CODE.search(value):
        return False
    return has_digit(value) or _SYMBOL.search(value) is not None

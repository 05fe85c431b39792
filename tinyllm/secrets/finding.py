"""Where the secrets of a text are: a quick search for signs, and rules only where one stands."""

import re
from collections.abc import Callable

from tinyllm.secrets.addresses import find_ipv4
from tinyllm.secrets.kinds import Secret
from tinyllm.secrets.passwords import (
    find_foreign_passwords,
    find_password,
    find_short_password,
    find_user_password,
)
from tinyllm.secrets.paths import find_home, find_listing, find_named, find_prompts
from tinyllm.secrets.pem import find_pem
from tinyllm.secrets.people import (
    find_credentials,
    find_emails,
    find_international,
    find_labelled_phone,
    find_numbers,
)
from tinyllm.secrets.seeds import find_seed
from tinyllm.secrets.tokens import NEEDLE, RUN_MAP, find_tokens

_SHORTEST = 8
_LONGEST_PHRASE = 300
_BY_LABEL = frozenset(("seed", "token", "password"))
_MOST_VALUES = 16

# A text is folded before it is searched: letters become small, digits `0`, and the bytes that a
# sign begins with become `X`, to which a search can jump.
_JUMP = b"/\\-.pPmM"
_FOLDED = {**dict.fromkeys(b"0123456789", ord("0")), **dict.fromkeys(_JUMP, ord("X"))}
_FOLDED |= dict.fromkeys(b"@+", ord("Y"))
_FOLD_MAP = bytes(_FOLDED.get(byte, bytes((byte,)).lower()[0]) for byte in range(256))

Rule = Callable[[bytes, int, list[Secret]], None]


def _find_after_phrase(raw: bytes, at: int, found: list[Secret]) -> None:
    find_seed(raw, at, found)
    find_password(raw, at - len(b"pass"), found)


def _find_after_ho(raw: bytes, at: int, found: list[Secret]) -> None:
    if raw[at + 3] in b"nN":
        find_labelled_phone(raw, at, found)
    else:
        find_home(raw, at, found)


def _find_after_pass(raw: bytes, at: int, found: list[Secret]) -> None:
    if raw[at + 4] in b"wW":
        find_password(raw, at, found)
    else:
        find_short_password(raw, at, found)


def _find_after_user(raw: bytes, at: int, found: list[Secret]) -> None:
    if raw[at + 5] in b" =":
        find_user_password(raw, at, found)
    else:
        find_home(raw, at, found)


def _find_number(raw: bytes, at: int, found: list[Secret]) -> None:
    # A separator may stand before the first of the four numbers.
    for dot in (at, at + 2, at + 3, at + 4):
        if raw[dot : dot + 1] == b".":
            find_ipv4(raw, dot, found)
    find_numbers(raw, at, found)


# `/home/`, `phone`, `phrase`, `/Users/`, `-user `, `-u `, `mobil`, `pwd=`, four numbers with dots,
# 555-1234, `-rw`, a PEM block, `mnemonic`, `passw`, `pass=`. Each first byte after the `X` stands
# once: a search leaves a branch at its first byte.
_SIGN = re.compile(
    rb"X(?:h(?:o(?:XeX|ne)|rase)|u(?:ser(?:sX|[ =])| )|obil|wd[\"'=\\X: ]"
    rb"|0(?:0{0,2}X0{1,3}X0|000(?<=000X0000))|rwX|x(?:rX|XX)|XXXXbegin "
    rb"|neXonic|ass[w\"'=: X])"
)
# The rule that looks where a sign is, by the two bytes after the `X`; PEM blocks are no rule's.
_RULES: dict[bytes, Rule] = {
    b"ho": _find_after_ho,
    b"us": _find_after_user,
    b"hr": _find_after_phrase,
    b"ne": find_seed,
    b"as": _find_after_pass,
    b"wd": find_short_password,
    b"u ": find_user_password,
    b"ob": find_labelled_phone,
    b"00": _find_number,
    b"0X": _find_number,
    b"rw": find_listing,
    b"xr": find_listing,
    b"xX": find_listing,
}
# Signs that begin with none of those bytes.
_WORDS: tuple[tuple[bytes, Rule], ...] = (
    (b"000 0000", find_numbers),
    (b"seed", find_seed),
    (b"rwx", find_listing),
    (b"tel:", find_labelled_phone),
    (b"telX", find_labelled_phone),
)


def find_secrets(raw: bytes) -> list[Secret]:
    """The secrets of a UTF-8 text, sorted by place, none overlapping another."""
    return locate(raw, "")[0]


def locate(raw: bytes, inside: str) -> tuple[list[Secret], str]:
    """The secrets, and the block that is open at the text's end.

    inside  the block, "pem" or "", that an earlier text of the same document left open
    """
    if len(raw) < _SHORTEST and not inside:
        return [], ""
    found: list[Secret] = []
    shape = raw.translate(RUN_MAP)
    start = shape.find(NEEDLE)
    if start >= 0:
        find_tokens(raw, shape, start, found)
    folded = raw.translate(_FOLD_MAP)
    begins = _follow_signs(raw, folded, found)
    for word, rule in _WORDS:
        at = folded.find(word)
        while at >= 0:
            rule(raw, at, found)
            at = folded.find(word, at + len(word))
    if len(raw) < _LONGEST_PHRASE and raw.islower():
        find_seed(raw, 0, found)
    if folded.find(b"Y") >= 0:
        _find_around_at(raw, found)
    if not raw.isascii():
        find_foreign_passwords(raw, found)
    if begins or inside:
        inside = find_pem(raw, inside, found)
    if found:
        _find_again(raw, found)
        found = _without_overlaps(found)
    return found, inside


def _follow_signs(raw: bytes, folded: bytes, found: list[Secret]) -> bool:
    """Run the rules that signs ask for; returns whether a PEM block begins."""
    begins = False
    sign = _SIGN.search(folded)
    while sign is not None:
        rule = _RULES.get(sign[0][1:3])
        if rule is None:
            begins = True
        else:
            rule(raw, sign.start(), found)
        sign = _SIGN.search(folded, sign.end())
    return begins


def _find_around_at(raw: bytes, found: list[Secret]) -> None:
    if raw.find(b"+") >= 0:
        find_international(raw, found)
    if raw.find(b"@") >= 0:
        credentials = find_credentials(raw, found) if raw.find(b"://") >= 0 else set()
        find_emails(raw, credentials, found)
        find_prompts(raw, found)
        find_named(raw, {raw[s.start : s.end] for s in found if s.kind == "path"}, found)


def _find_again(raw: bytes, found: list[Secret]) -> None:
    """Append the other places of what only a label gave away."""
    values = {raw[s.start : s.end]: s.kind for s in found if s.kind in _BY_LABEL}
    for value, kind in sorted(values.items())[:_MOST_VALUES]:
        if len(value) < _SHORTEST:
            continue
        at = raw.find(value)
        while at >= 0:
            found.append(Secret(kind, at, at + len(value)))
            at = raw.find(value, at + len(value))


def _without_overlaps(found: list[Secret]) -> list[Secret]:
    """Sorted; those that overlap are joined into one of the kind that begins first."""
    found.sort(key=lambda secret: (secret.start, -secret.end))
    kept = [found[0]]
    for secret in found[1:]:
        if secret.start >= kept[-1].end:
            kept.append(secret)
        elif secret.end > kept[-1].end:
            kept[-1] = Secret(kept[-1].kind, kept[-1].start, secret.end)
    return kept

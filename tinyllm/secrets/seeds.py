"""Seed phrases of wallets: 12 to 24 words of BIP 39, or the 25 of Monero."""

import re

from tinyllm.secrets.checks import is_monero_seed
from tinyllm.secrets.kinds import Secret
from tinyllm.secrets.wordlist import seed_words

SIZES = frozenset((12, 13, 15, 18, 21, 24, 25))
_SHORTEST = 12
_MONERO = 25

_GAP = rb"(?:[ ,;|\t\r\n]|\\n|[\"']|[0-9]{1,2}[.):])+"
_PHRASE = re.compile(
    rb"(?<![A-Za-z0-9_])[a-z]{3,12}(?:" + _GAP + rb"[a-z]{3,12}){11,}(?![A-Za-z0-9_])"
)
_WORD = re.compile(rb"[a-z]{3,12}")
_LABEL = re.compile(
    rb"seed|mnemonic|recovery|phrase|wallet|backup|secret|bip-?39|monero|[0-9]{2}[ -]words?",
    re.IGNORECASE,
)
_LABELS = frozenset((b"seed", b"phrase", b"secret", b"word"))
_LABEL_SPAN = 120
_REACH = 600
# What parts words becomes a space.
_GAP_MAP = bytes(
    ord(" ") if byte in b" ,;|\t\r\n\"'[(1234567890.):=*`\\" else byte for byte in range(256)
)
_NEAR = 240
# Words that sentences have and neither list has.
_GRAMMAR = frozenset(
    b"the and for are but not had her was our out has his how its may new see who did get let she "
    b"with from been some here many take than them well were which their these would could after "
    b"those through should while each both most does down even back against without within your "
    b"being too".split()
)


def find_seed(raw: bytes, at: int, found: list[Secret]) -> None:
    """Append the phrase that begins after `at`, where a word such as `seed` stands, if one does.

    A run of words is one if twelve or more in a row are of BIP 39's list, or 25 have Monero's
    checksum, or its length is that of a phrase, it has no word that only sentences have, and a
    label stands just before it or it is the whole line and most words are of the list.
    """
    if found and found[-1].kind == "seed" and at < found[-1].end:
        return
    words = raw[at : at + _NEAR].translate(_GAP_MAP).split(None, 3 * _SHORTEST)
    if not _has_row(words):
        return
    match = _PHRASE.search(raw, at, at + _REACH)
    if match is not None and match.start() - at <= _LABEL_SPAN:
        span = _phrase(raw, match)
        if span is not None:
            found.append(Secret("seed", *span))


def _has_row(words: list[bytes]) -> bool:
    """True if a dozen words without capitals stand in a row; every such row has a twelfth word."""
    for place in range(_SHORTEST - 1, len(words), _SHORTEST):
        first = last = place
        while first >= 0 and 3 <= len(words[first]) <= 12 and words[first].islower():
            first -= 1
        if first == place:
            continue
        while last < len(words) and 3 <= len(words[last]) <= 12 and words[last].islower():
            last += 1
        if last - first - 1 >= _SHORTEST - 1:  # the last word of all may be cut
            return True
    return False


def _phrase(raw: bytes, match: re.Match[bytes]) -> tuple[int, int] | None:
    words = [(m[0], *m.span()) for m in _WORD.finditer(raw, *match.span())]
    labels = next((place for place, word in enumerate(words) if word[0] not in _LABELS), 0)
    if len(words) - labels in SIZES:
        del words[:labels]
    span = _listed(words) or _checked(words)
    if span is None and len(words) in SIZES:
        texts = {word for word, _, _ in words}
        if len(texts) > len(words) - 3 and not texts & _GRAMMAR and _is_marked(raw, match, texts):
            return words[0][1], words[-1][2]
    return span


def _listed(words: list[tuple[bytes, int, int]]) -> tuple[int, int] | None:
    """The longest row of words of the list, if it is long enough."""
    known = seed_words()
    best, row = 0, 0
    last = 0
    for place, (word, _, _) in enumerate(words):
        row = row + 1 if word in known else 0
        if row > best:
            best, last = row, place
    if best < _SHORTEST:
        return None
    return words[last - best + 1][1], words[last][2]


def _checked(words: list[tuple[bytes, int, int]]) -> tuple[int, int] | None:
    texts = [word for word, _, _ in words]
    for first in range(len(words) - _MONERO + 1):
        if is_monero_seed(texts[first : first + _MONERO]):
            return words[first][1], words[first + _MONERO - 1][2]
    return None


def _is_marked(raw: bytes, match: re.Match[bytes], words: set[bytes]) -> bool:
    start, end = match.span()
    if _LABEL.search(raw, max(start - _LABEL_SPAN, 0), start):
        return True
    known = seed_words()
    if known and len(words) < _MONERO - 2 and 3 * len(words & known) < 2 * len(words):
        return False  # keywords, or names of packages
    alone_before = start == 0 or raw[start - 1] in b"\n\"'`"
    return alone_before and (end == len(raw) or raw[end] in b"\r\n\"'`")

"""Secrets of logs, each with the text in front of it: held in memory, never printed."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tinyllm.documents import Document, Role, Turn
from tinyllm.encoding import Encoder, Segment
from tinyllm.errors import UserError
from tinyllm.secrets import Secret

CANARY = "canary"
PREFIX_CHARACTERS = 400
_SUFFIX_CHARACTERS = 16
# A value that stands at many places is asked for at this many of them.
MAX_PLACES = 2
# Of a long value, such as a private key, this many bytes are asked for.
MAX_PART_BYTES = 32
# Text without the secrets, for `guessing` to learn from; of one document at most the second.
_OPEN_CHARACTERS = 2_000_000
_OPEN_CHARACTERS_OF_DOCUMENT = 20_000

FindSecrets = Callable[[bytes], Iterable[Secret]]

_KNOWN_STARTS = (
    re.compile(r"-----BEGIN [^\n-]*-----\s*\S{32}"),
    re.compile(r"eyJ[\w-]*\.[\w-]*\.(?=[\w-]{16})"),  # a token's header and claims
    re.compile(r"[a-zA-Z][\w+.-]*://(?:[^\s:@/]*:(?=[^\s@/]+@))?"),
    re.compile(r".{0,40}?(?:/home/|/Users/|\\+Users\\+)(?=[^/\\])", re.IGNORECASE),
    # A vendor's part of a key: `sk-ant-api03-`, `ghp_`, `SG.`, `AKIA`.
    re.compile(
        r"(?:(?:(?:[a-z]{2,8}|[A-Z]{2,8})[0-9]{0,2}[-_]){1,3}|SG\.|AKIA|ASIA|AIza)(?=[^@\s]{12,}$)"
    ),
)
_KNOWN_END = re.compile(r"@[\w.-]+(?::[0-9]+)?(?:/\S*)?$")
_NUMBER = re.compile(r"[0-9+()./ -]+")
_WORD = re.compile(r"[^\W\d_]{4,}")
_ECHO = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A secret at one place of the logs.

    kind    as `tinyllm.secrets` calls it, or CANARY
    source  `file:line` of the first record of its document
    prefix  what stands before it: ids of special tokens, and texts
    value   the secret
    suffix  the few characters after it
    """

    kind: str
    source: str
    prefix: tuple[Segment, ...] = field(repr=False)
    value: str = field(repr=False)
    suffix: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Value:
    """A secret at its places, at most MAX_PLACES.

    `head`, `part` and `tail` make up the value: `part` is asked for, the others are given.
    """

    places: tuple[Candidate, ...]
    head: str = field(repr=False)
    part: str = field(repr=False)
    tail: str = field(repr=False)

    @property
    def kind(self) -> str:
        """The kind of secret."""
        return self.places[0].kind

    @property
    def source(self) -> str:
        """Where it stands first."""
        return self.places[0].source


def group(candidates: Iterable[Candidate]) -> list[Value]:
    """The different values, in order of their first places."""
    places: dict[tuple[str, str], list[Candidate]] = {}
    for candidate in candidates:
        known = places.setdefault((candidate.kind, candidate.value), [])
        if len(known) < MAX_PLACES and candidate.prefix not in [other.prefix for other in known]:
            known.append(candidate)
    return [
        Value(tuple(known), *split_value(value, whole=kind == CANARY))
        for (kind, value), known in places.items()
    ]


def split_value(value: str, whole: bool = False) -> tuple[str, str, str]:
    """(head, part, tail) of a value: what is known of it, what is secret, what is known.

    Known are a private key's header, a token's claims, an address's domain, a vendor's prefix and
    the first digits of a number, unless the value is secret as a `whole`. The part ends after
    MAX_PART_BYTES; what is left of it counts as tail.
    """
    start, end = 0, len(value)
    if not whole:
        starts = (pattern.match(value) for pattern in _KNOWN_STARTS)
        start = next((match.end() for match in starts if match), 0)
        host = _KNOWN_END.search(value, start + 1)
        end = host.start() if host else end
        if not start and _NUMBER.fullmatch(value):
            start = _known_digits(value)
    part = value[start:end].encode()[:MAX_PART_BYTES].decode(errors="ignore")
    return value[:start], part, value[start + len(part) :]


def _known_digits(number: str) -> int:
    """Where the unknown digits begin: after half of an IP address, else the last seven."""
    if number.count(".") == 3:
        return number.index(".", number.index(".") + 1) + 1
    digits = [place for place, char in enumerate(number) if char.isdigit()]
    return digits[-7] if len(digits) > 7 else 0


def split_canary(source: str, text: str) -> tuple[str, str]:
    """A planted text as (what is given, its secret last word).

    Raises UserError for a text without a space before its last word; the message names `source`
    alone.
    """
    given, space, secret = text.strip().rpartition(" ")
    if not space:
        raise UserError(
            f"{source} has no space in it: plant and give a sentence whose last word is the secret"
        )
    return given + space, secret


class Finder:
    """Collects the secrets of documents that were read without redaction.

    find      finds the secrets of a text's UTF-8 bytes
    kept      kinds that are let through on purpose: only counted
    canaries  (source, text) of texts that were planted

    candidates  the secrets, each at a few of its places
    places      how many places hold a secret of a kind that isn't let through
    let_through how many hold one of a kind that is
    open_text   text of the documents without their secrets
    """

    def __init__(
        self,
        encoder: Encoder,
        find: FindSecrets,
        kept: Collection[str] = (),
        canaries: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.candidates: list[Candidate] = []
        self.places = 0
        self.let_through = 0
        self.open_text: list[str] = []
        self._encoder = encoder
        self._end_of_turn = list(encoder.segments(Document((Turn("user", ""),), "")))[-1]
        self._find = find
        self._kept = kept
        self._canaries = [(source, *split_canary(source, text)) for source, text in canaries]
        self._seen: dict[tuple[str, str], int] = {}
        self._documents = self._open_characters = 0
        self._stride = 1

    def add(self, document: Document) -> None:
        """Take one document."""
        before: list[Segment] = []
        left = 0 if self._documents % self._stride else _OPEN_CHARACTERS_OF_DOCUMENT
        opened_text = ""
        for turn in document.turns:
            opened = _opening(self._encoder, turn.role, turn.text)
            if before:
                opened = opened[1:]  # <|endoftext|> stands before the first turn alone
            before = [*before[-8:], *opened[:-1]]
            spans = self._take(turn.text, tuple(before), document.source)
            if len(opened_text) < left:
                opened_text += _without(turn.text.encode(), spans)[: left - len(opened_text)] + "\n"
            before.append(turn.text[-PREFIX_CHARACTERS:])
            if turn.role is not None:
                before.append(self._end_of_turn)
        self._open(opened_text)

    def _open(self, text: str) -> None:
        """Keep the text of every `stride`-th document, so that they come from all of the logs."""
        if self._documents % self._stride == 0:
            self.open_text.append(text)
            self._open_characters += len(text)
        self._documents += 1
        while self._open_characters > _OPEN_CHARACTERS and len(self.open_text) > 1:
            self._stride *= 2
            self.open_text = self.open_text[::2]
            self._open_characters = sum(map(len, self.open_text))

    def _take(self, text: str, before: tuple[Segment, ...], source: str) -> list[tuple[int, int]]:
        """Note the secrets of a turn; where they are."""
        raw = text.encode()
        spans = [(secret.kind, secret.start, secret.end) for secret in self._find(raw)]
        spans += self._planted_in(text)
        for kind, start, end in spans:
            if kind in self._kept:
                self.let_through += 1
                continue
            self.places += kind != CANARY
            value = raw[start:end].decode(errors="ignore")
            times = self._seen[kind, value] = self._seen.get((kind, value), 0) + 1
            if value and times <= MAX_PLACES:
                part = split_value(value, whole=kind == CANARY)[1]
                stop = end + 4 * _SUFFIX_CHARACTERS
                suffix = raw[end:stop].decode(errors="ignore")[:_SUFFIX_CHARACTERS]
                prefix = prefix_of(before, raw[:start].decode(errors="ignore"), part)
                self.candidates.append(Candidate(kind, source, prefix, value, suffix))
        return sorted((start, end) for _, start, end in spans)

    def _planted_in(self, text: str) -> Iterator[tuple[str, int, int]]:
        for _, given, secret in self._canaries:
            place = text.find(given + secret)
            if place >= 0:
                start = len(text[: place + len(given)].encode())
                yield CANARY, start, start + len(secret.encode())

    def missing_canaries(self) -> list[Candidate]:
        """Canaries that no document held, in front of documents as they may have been trained."""
        roles: tuple[Role | None, ...] = (None, "user", "assistant")
        return [
            Candidate(CANARY, source, (*_opening(self._encoder, role, given),), secret)
            for source, given, secret in self._canaries
            if (CANARY, secret) not in self._seen
            for role in roles
        ]


def _opening(encoder: Encoder, role: Role | None, text: str) -> list[Segment]:
    """`<|endoftext|>`, the role's token, and the text, without the end of the turn."""
    segments = list(encoder.segments(Document((Turn(role, ""),), "")))
    return [*(segments if role is None else segments[:-1]), text]


def _without(raw: bytes, spans: Sequence[tuple[int, int]]) -> str:
    """The text without these bytes."""
    pieces: list[bytes] = []
    done = 0
    for start, end in spans:
        pieces.append(raw[done : max(done, start)])
        done = max(done, end)
    return b"\n".join([*pieces, raw[done:]]).decode(errors="ignore")


def prefix_of(before: Sequence[Segment], text: str, part: str) -> tuple[Segment, ...]:
    """The last PREFIX_CHARACTERS in front of a secret, cut where they echo it.

    A model that copies what it has just read knows nothing of it, so the prefix begins after the
    last sight of the part, of six characters of it, or of a word in it.
    """
    kept: list[Segment] = []
    left = PREFIX_CHARACTERS
    for segment in reversed([*before, text]):
        if isinstance(segment, int):
            kept.append(segment)
            continue
        piece = segment[max(0, len(segment) - left) :]
        echo = _end_of_echo(piece, part)
        kept.append(piece[echo:])
        left -= len(piece)
        if echo or left <= 0:
            break
    return tuple(reversed(kept))


def _end_of_echo(text: str, part: str) -> int:
    """Where the last echo of the part ends; 0 without one."""
    low, part = text.lower(), part.lower()
    echoes = {part, *_WORD.findall(part)}
    echoes |= {part[start : start + _ECHO] for start in range(len(part) - _ECHO + 1)}
    ends = [place + len(echo) for echo in echoes if echo and (place := low.rfind(echo)) >= 0]
    return max(ends, default=0)

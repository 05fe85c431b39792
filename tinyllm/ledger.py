"""The ledger: every byte of input ends in one line of it."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from tinyllm.console import in_one_line
from tinyllm.documents import Role, role_name
from tinyllm.scopes import count_by_scope

Fate = Literal[
    "kept",
    "out of scope",
    "duplicate",
    "noise removed",
    "no speech",
    "markup",
    "blank",
    "unknown shape",
    "unreadable",
    "not a log",
]

# What each fate means, in the order of the table.
FATES: dict[Fate, str] = {
    "kept": "text of the documents that are trained on",
    "out of scope": "turns that the scope leaves out",
    "duplicate": "said before: documents, system prompts, repeated records",
    "noise removed": "secrets, ids, terminal escapes, base64, text that stands twice in a record, "
    "answers that were not chosen",
    "no speech": "records in which nobody speaks: progress, snapshots, headers",
    "markup": "JSON syntax, keys and fields around the speech",
    "blank": "empty lines and files",
    "unknown shape": "records that no format claims",
    "unreadable": "damaged records and files",
    "not a log": "files of other kinds",
}

MAX_DETAILS = 200
MAX_PLACES = 100
MAX_SPEAKERS = 1000
OTHER_DETAILS = "others"

# How many turns, or characters, of each role; a plain document's role is "plain".
ByRole = Counter[str]


def apportion(total: int, weights: Sequence[int]) -> list[int]:
    """Split `total` in proportion to `weights`, exactly (largest remainder, ties to the first).

    Without any weight everything falls to the first share.
    """
    whole = sum(weights)
    if whole == total:
        return list(weights)
    if not whole:
        return [total, *[0] * (len(weights) - 1)] if weights else []
    shares = [total * weight // whole for weight in weights]
    by_remainder = sorted(
        range(len(weights)), key=lambda index: (-(total * weights[index] % whole), index)
    )
    for index in by_remainder[: total - sum(shares)]:
        shares[index] += 1
    return shares


@dataclass(slots=True)
class Tally:
    """Bytes on disk, records, and where the first of them stands (`file:line`).

    examples  `file:line repeats file:line`, of duplicates
    """

    bytes: int = 0
    records: int = 0
    first: str = ""
    details: dict[str, "Tally"] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    _file: int = sys.maxsize
    _line: int = sys.maxsize

    def add(self, account: "Account", line: int, records: int) -> None:
        """Count `records` records of a file, the first of them at `line`."""
        self.records += records
        if account.number < self._file or (account.number == self._file and line < self._line):
            self._file, self._line = account.number, line
            self.first = f"{in_one_line(account.path)}:{line}"

    def detail(self, name: str) -> "Tally":
        """The tally of one kind within a fate; past MAX_DETAILS kinds, of all the rest."""
        if name not in self.details and len(self.details) >= MAX_DETAILS:
            name = OTHER_DETAILS
        part = self.details.get(name)
        if part is None:
            part = self.details[name] = Tally()
        return part


@dataclass(slots=True)
class FormatTally:
    """What one format held.

    turns, chars  of the documents kept
    left_out      turns by what became of them
    decided       all turns found, by what told who speaks
    speaking      documents by who speaks in them, before duplicates are dropped
    speakers      turns by name, where a log names several people
    """

    files: int = 0
    records: int = 0
    documents: int = 0
    turns: ByRole = field(default_factory=Counter)
    chars: ByRole = field(default_factory=Counter)
    left_out: dict[Fate, ByRole] = field(default_factory=lambda: defaultdict(Counter))
    decided: dict[str, ByRole] = field(default_factory=lambda: defaultdict(Counter))
    speaking: Counter[frozenset[Role | None]] = field(default_factory=Counter)
    speakers: Counter[str] = field(default_factory=Counter)
    _last_file: int = 0

    @property
    def scopes(self) -> dict[str, int]:
        """Documents that each scope would keep, before duplicates are dropped."""
        return count_by_scope(self.speaking)

    def record(self, account: "Account") -> None:
        """Count a record of this format."""
        self.records += 1
        if self._last_file != account.number:
            self._last_file = account.number
            self.files += 1

    def keep(self, role: Role | None, chars: int) -> None:
        """Count a turn that reaches the corpus."""
        self.turns[role_name(role)] += 1
        self.chars[role_name(role)] += chars

    def leave_out(self, fate: Fate, roles: Iterable[Role | None]) -> None:
        """Count turns that don't reach the corpus."""
        counts = self.left_out[fate]
        for role in roles:
            counts[role_name(role)] += 1

    def decide(self, by: str, role: Role | None) -> None:
        """Count a turn whose role was told by `by`."""
        self.decided[by][role_name(role)] += 1

    def speak(self, name: str) -> None:
        """Count a turn of somebody with a name."""
        if name in self.speakers or len(self.speakers) < MAX_SPEAKERS:
            self.speakers[name] += 1


@dataclass(slots=True)
class SecretTally:
    """Secrets of one kind, and the first MAX_PLACES places (`file:line`); never their values."""

    count: int = 0
    places: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Account:
    """One file's bytes.

    number    of the file, from 1
    content   bytes of its content by fate and detail
    deferred  bytes of its content whose fate is told when all files are read; None without any
    owed      bytes on disk that the deferred ones stand for
    lost      bytes on disk that gave no content
    """

    path: str
    number: int
    content: Counter[tuple[Fate, str]] = field(default_factory=Counter)
    deferred: int | None = None
    owed: int = 0
    lost: int = 0


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shape_of(value: Any) -> str:
    """A record's shape for people: its sorted keys, or what it is if it has none."""
    if isinstance(value, dict):
        keys = sorted(in_one_line(str(key)[:40]) for key in value)
        shown = ", ".join(keys[:12]) + (f", … {len(keys) - 12} more" if len(keys) > 12 else "")
        return "{" + shown + "}"
    names = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


class Ledger:
    """Books every byte of the files read; the fates' bytes sum to the sizes on disk.

    Within a file, bytes are counted in its content (what a compressed file holds unpacked); when
    the file is done they are scaled to its size on disk, exactly. Bytes of documents wait in the
    file's account until all files are read; then the account is settled."""

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0
        self.records = 0
        self.documents = 0
        self.fates: dict[Fate, Tally] = {}
        self.formats: dict[str, FormatTally] = {}
        self.secrets: dict[str, SecretTally] = {}
        self.changed: list[str] = []
        self.account = Account("", 0)

    @property
    def scopes(self) -> dict[str, int]:
        """Documents that each scope would keep, before duplicates are dropped."""
        speaking: Counter[frozenset[Role | None]] = Counter()
        for tally in self.formats.values():
            speaking.update(tally.speaking)
        return count_by_scope(speaking)

    @contextmanager
    def file(self, path: str, size: int) -> Iterator[Account]:
        """Everything booked inside belongs to this file of `size` bytes."""
        account = self.account = Account(path, self.files + 1)
        yield account
        self.files += 1
        self.bytes += size
        rest = size - account.lost
        if rest and not account.content and account.deferred is None:
            self.book("blank", rest, 1)
        weights = list(account.content.values())
        if account.deferred is not None:
            weights.append(account.deferred)
        shares = apportion(rest, weights if any(weights) else [1] * len(weights))
        if account.deferred is not None:
            account.owed = shares.pop()
        self._pay(account, shares)

    @contextmanager
    def settling(self, account: Account) -> Iterator[None]:
        """What is booked inside is all of a file's deferred bytes."""
        self.account = account
        yield
        weights = list(account.content.values())
        self._pay(account, apportion(account.owed, weights if any(weights) else [1] * len(weights)))
        account.owed = 0

    def _pay(self, account: Account, shares: list[int]) -> None:
        for (fate, detail), share in zip(account.content, shares, strict=True):
            self._add(fate, detail, share)
        account.content.clear()

    def defer(self, size: int) -> None:
        """Bytes of the open file's content that wait for `settling`."""
        self.account.deferred = (self.account.deferred or 0) + size

    def book(self, fate: Fate, size: int, line: int, detail: str = "", records: int = 1) -> None:
        """Book `size` bytes of the open file's content, found at `line`."""
        tally = self._count(fate, line, detail, records)
        if detail and detail not in tally.details:
            detail = OTHER_DETAILS
        self.account.content[fate, detail] += size

    def book_lost(self, size: int, line: int, detail: str) -> None:
        """Book `size` bytes of the open file as it lies on disk, which gave no content."""
        self._count("unreadable", line, detail, 1)
        self._add("unreadable", detail, size)
        self.account.lost += size

    def _count(self, fate: Fate, line: int, detail: str, records: int) -> Tally:
        tally = self.fates.get(fate)
        if tally is None:
            tally = self.fates[fate] = Tally()
        tally.add(self.account, line, records)
        if detail:
            tally.detail(detail).add(self.account, line, records)
        return tally

    def _add(self, fate: Fate, detail: str, size: int) -> None:
        tally = self.fates[fate]
        tally.bytes += size
        if detail in tally.details:
            tally.details[detail].bytes += size

    def format(self, name: str) -> FormatTally:
        """The tally of one format."""
        tally = self.formats.get(name)
        if tally is None:
            tally = self.formats[name] = FormatTally()
        return tally

    def secret(self, kind: str, count: int, line: int) -> None:
        """Count secrets replaced in the record at `line`."""
        tally = self.secrets.setdefault(kind, SecretTally())
        tally.count += count
        if len(tally.places) < MAX_PLACES:
            tally.places.append(f"{in_one_line(self.account.path)}:{line}")

    def to_json(self) -> dict[str, Any]:
        """The ledger as plain values: bytes on disk, characters, `file:line`."""
        unknown = self.fates.get("unknown shape", Tally())
        return {
            "bytes": self.bytes,
            "fates": {
                fate: _tally_json(self.fates[fate], with_details=fate != "unknown shape")
                for fate in FATES
                if fate in self.fates
            },
            "formats": {name: _format_json(self.formats[name]) for name in sorted(self.formats)},
            "documents": self.documents,
            "files": self.files,
            "records": self.records,
            "scopes": self.scopes,
            "secrets": {
                kind: {"count": tally.count, "places": tally.places}
                for kind, tally in sorted(self.secrets.items())
            },
            "changed": self.changed,
            "unknown_shapes": [
                {"keys": shape, **_tally_json(tally, with_details=False)}
                for shape, tally in most_common(unknown.details)
            ],
        }


def most_common(details: Mapping[str, Tally]) -> list[tuple[str, Tally]]:
    """Kinds within a fate, the ones with the most records first."""
    return sorted(details.items(), key=lambda item: (-item[1].records, item[0]))


def _tally_json(tally: Tally, *, with_details: bool) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "bytes": tally.bytes,
        "records": tally.records,
        "first": tally.first,
        **({"examples": tally.examples} if tally.examples else {}),
    }
    if not (with_details and tally.details):
        return numbers
    details = {
        name: _tally_json(part, with_details=False) for name, part in most_common(tally.details)
    }
    return {**numbers, "details": details}


def _format_json(tally: FormatTally) -> dict[str, Any]:
    return {
        "files": tally.files,
        "records": tally.records,
        "documents": tally.documents,
        "turns": dict(sorted(tally.turns.items())),
        "chars": dict(sorted(tally.chars.items())),
        "left_out": {fate: dict(sorted(roles.items())) for fate, roles in tally.left_out.items()},
        "decided": {by: dict(sorted(roles.items())) for by, roles in tally.decided.items()},
        "scopes": tally.scopes,
        "speakers": dict(tally.speakers.most_common(20)),
    }

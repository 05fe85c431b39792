"""The ledger: every byte of input ends in one line of it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

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
    "noise removed": "ids, terminal escapes, base64, text that stands twice in a record",
    "no speech": "records in which nobody speaks: progress, snapshots, headers",
    "markup": "JSON syntax, keys and fields around the speech",
    "blank": "empty lines and files",
    "unknown shape": "records that no format claims",
    "unreadable": "damaged records and files",
    "not a log": "files of other kinds",
}

MAX_DETAILS = 200
SHOWN_DETAILS = 8
SHOWN_SHAPES = 20
OTHER_DETAILS = "others"


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
    """Bytes on disk, records, and where the first of them stands (`file:line`)."""

    bytes: int = 0
    records: int = 0
    first: str = ""
    details: dict[str, "Tally"] = field(default_factory=dict)

    def add(self, size: int, records: int, path: str, line: int) -> None:
        """Count `records` records of `size` bytes."""
        self.bytes += size
        self.records += records
        if not self.first:
            self.first = f"{printable(path)}:{line}"

    def detail(self, name: str) -> "Tally":
        """The tally of one kind within a fate; past MAX_DETAILS kinds, of all the rest."""
        if name not in self.details and len(self.details) >= MAX_DETAILS:
            name = OTHER_DETAILS
        return self.details.setdefault(name, Tally())


@dataclass(slots=True)
class FormatTally:
    """What one format held: turns and characters are those of the documents kept."""

    records: int = 0
    documents: int = 0
    turns: Counter[str] = field(default_factory=Counter)
    chars: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    decided: Counter[str] = field(default_factory=Counter)


def printable(text: str) -> str:
    """Text that can be written anywhere: undecodable bytes of names and keys are replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shape_of(value: Any) -> str:
    """A record's shape for people: its sorted keys, or what it is if it has none."""
    if isinstance(value, dict):
        keys = sorted(printable(str(key))[:40] for key in value)
        shown = ", ".join(keys[:12]) + (f", … {len(keys) - 12} more" if len(keys) > 12 else "")
        return "{" + shown + "}"
    names = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


class Ledger:
    """Books every byte of the files read; the fates' bytes sum to the sizes on disk.

    Within a file, bytes are counted in its content (what a compressed file holds unpacked);
    when the file is done they are scaled to its size on disk, exactly. `scopes` counts the
    documents that each scope would keep, before duplicates are dropped.
    """

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0
        self.records = 0
        self.documents = 0
        self.fates: dict[Fate, Tally] = {}
        self.formats: dict[str, FormatTally] = {}
        self.scopes: Counter[str] = Counter()
        self._path = ""
        self._content: Counter[tuple[Fate, str]] = Counter()
        self._lost = 0

    @contextmanager
    def file(self, path: str, size: int) -> Iterator[None]:
        """Everything booked inside belongs to this file of `size` bytes."""
        self._path = path
        self._content.clear()
        self._lost = 0
        yield
        self.files += 1
        self.bytes += size
        rest = size - self._lost
        if rest and not self._content:
            self.book("blank", rest, 1)
        weights = list(self._content.values())
        shares = apportion(rest, weights if any(weights) else [1] * len(weights))
        for (fate, detail), share in zip(self._content, shares, strict=True):
            self._add(fate, detail, share)

    def book(self, fate: Fate, size: int, line: int, detail: str = "", records: int = 1) -> None:
        """Book `size` bytes of the open file's content, found at `line`."""
        tally = self.fates.get(fate)
        if tally is None:
            tally = self.fates[fate] = Tally()
        tally.add(0, records, self._path, line)
        if detail:
            tally.detail(detail).add(0, records, self._path, line)
        self._content[fate, detail] += size

    def book_lost(self, size: int, line: int, detail: str) -> None:
        """Book `size` bytes of the open file as it lies on disk, which gave no content."""
        tally = self.fates.setdefault("unreadable", Tally())
        tally.add(0, 1, self._path, line)
        tally.detail(detail).add(0, 1, self._path, line)
        self._add("unreadable", detail, size)
        self._lost += size

    def _add(self, fate: Fate, detail: str, size: int) -> None:
        tally = self.fates[fate]
        tally.bytes += size
        if detail:
            tally.detail(detail).bytes += size

    def format(self, name: str) -> FormatTally:
        """The tally of one format."""
        tally = self.formats.get(name)
        if tally is None:
            tally = self.formats[name] = FormatTally()
        return tally

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
            "scopes": dict(self.scopes),
            "unknown_shapes": [
                {"keys": shape, **_tally_json(tally, with_details=False)}
                for shape, tally in most_common(unknown.details)
            ],
        }

    def table(self) -> str:
        """The ledger for people: where the bytes went, then what each format held."""
        head = (
            f"{counted(self.files, 'file')}, {counted(self.records, 'record')}, "
            f"{counted(self.bytes, 'byte')}: {counted(self.documents, 'document')}"
        )
        parts = [[head], self._fate_lines(), self._format_lines(), self._unknown_lines()]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def _fate_lines(self) -> list[str]:
        lines = [f"{'':22}{'bytes':>16}  share{'records':>12}  first"]
        for fate in FATES:
            if fate in self.fates:
                tally = self.fates[fate]
                lines.append(_fate_line(fate, tally, self.bytes))
                if fate != "unknown shape":
                    lines += _detail_lines(tally)
        return [*lines, f"{'total':22}{self.bytes:>16,}"]

    def _format_lines(self) -> list[str]:
        if not self.formats:
            return []
        lines = [f"{'format':18}{'records':>10}{'documents':>11}  turns kept (characters)"]
        for name in sorted(self.formats):
            tally = self.formats[name]
            turns = [
                f"{role} {count:,} ({tally.chars[role]:,})"
                for role, count in sorted(tally.turns.items())
            ]
            lines.append(
                f"{name:18}{tally.records:>10,}{tally.documents:>11,}  {', '.join(turns) or '-'}"
            )
            left_out = ", ".join(f"{role} {n:,}" for role, n in sorted(tally.left_out.items()))
            if left_out:
                lines.append(f"{'':39}  left out: {left_out}")
            decided = ", ".join(f"{why} ({n:,})" for why, n in tally.decided.most_common())
            if decided:
                lines.append(f"{'':39}  who speaks, by: {decided}")
        return lines

    def _unknown_lines(self) -> list[str]:
        if "unknown shape" not in self.fates:
            return []
        shapes = most_common(self.fates["unknown shape"].details)
        lines = [
            f"  {tally.records:,} x {shape}  first {tally.first}"
            for shape, tally in shapes[:SHOWN_SHAPES]
        ]
        if len(shapes) > SHOWN_SHAPES:
            lines.append(f"  and {len(shapes) - SHOWN_SHAPES:,} more shapes: see --json")
        return ["unknown shapes (no format claims records with these keys)", *lines]


def _fate_line(name: str, tally: Tally, total: int) -> str:
    share = f"{tally.bytes / total:6.1%}" if total else "     -"
    return f"{name:22}{tally.bytes:>16,} {share}{tally.records:>12,}  {tally.first}"


def _detail_lines(tally: Tally) -> list[str]:
    """The kinds within a fate; with a single one that is the fate itself, its name is enough."""
    kinds = most_common(tally.details)
    lines = [
        f"  {name:22}{part.bytes:>14,}{'':7}{part.records:>12,}  {part.first}"
        for name, part in kinds[:SHOWN_DETAILS]
    ]
    if len(kinds) > SHOWN_DETAILS:
        lines.append(f"  and {len(kinds) - SHOWN_DETAILS:,} more kinds: see --json")
    return lines


def most_common(details: Mapping[str, Tally]) -> list[tuple[str, Tally]]:
    """Kinds within a fate, the ones with the most records first."""
    return sorted(details.items(), key=lambda item: (-item[1].records, item[0]))


def _tally_json(tally: Tally, *, with_details: bool) -> dict[str, Any]:
    numbers = {"bytes": tally.bytes, "records": tally.records, "first": tally.first}
    if not (with_details and tally.details):
        return numbers
    details = {
        name: _tally_json(part, with_details=False) for name, part in most_common(tally.details)
    }
    return {**numbers, "details": details}


def _format_json(tally: FormatTally) -> dict[str, Any]:
    return {
        "records": tally.records,
        "documents": tally.documents,
        "turns": dict(sorted(tally.turns.items())),
        "chars": dict(sorted(tally.chars.items())),
        "left_out": dict(sorted(tally.left_out.items())),
        "decided": dict(sorted(tally.decided.items())),
    }

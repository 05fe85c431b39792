"""Records to documents: threads joined and cut, scope applied, what was said before dropped."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from tinyllm.cleaning import scrub, utf8_length
from tinyllm.dedup import FirstSight
from tinyllm.documents import Document, Role, Turn
from tinyllm.formats import as_record
from tinyllm.formats.content import join
from tinyllm.formats.parsed import Format, Parsed
from tinyllm.ledger import Fate, Ledger, apportion, printable, shape_of
from tinyllm.reading.records import Record
from tinyllm.scopes import SCOPE_ROLES, Relabel, role_name, scopes_that_keep

THREAD_GAP_SECONDS = 4 * 3600
# Bounds on what is held of threads that may go on: one that outgrows the first is closed; where
# all together outgrow the second, those that were quiet longest are.
MAX_THREAD_BYTES = 16 << 20
MAX_OPEN_BYTES = 64 << 20
_THREAD_OVERHEAD_BYTES = 1 << 10

Recognise = Callable[[dict[str, Any]], Format | None]


@dataclass(slots=True)
class _Said:
    """A turn in scope: the bytes of input it stands for, and the line of its first record."""

    role: Role | None
    text: str
    size: int
    line: int


@dataclass(slots=True)
class _Draft:
    """A document that may still grow.

    bytes    what it takes of memory, about
    time     of its last record that has one
    message  the last message that came in parts
    part     the turn that more parts of this message belong to
    """

    format: str
    path: str
    said: list[_Said] = field(default_factory=list)
    roles: set[Role | None] = field(default_factory=set)
    bytes: int = _THREAD_OVERHEAD_BYTES
    time: float | None = None
    message: str | None = None
    part: _Said | None = None


class Assembler:
    """Makes documents of records, and books every byte of them in the ledger.

    Threads live within a file: call `end_file` after its last record. What was said before is
    remembered over all files.
    """

    def __init__(self, ledger: Ledger, scope: str, recognise: Recognise, relabel: Relabel) -> None:
        self._ledger = ledger
        self._scope = scope
        self._roles = SCOPE_ROLES[scope]
        self._recognise = recognise
        self._relabel = relabel
        self._first_document = FirstSight()
        self._first_system = FirstSight()
        self._threads: dict[tuple[str, str], _Draft] = {}
        self._identities: set[bytes] = set()
        self._open_bytes = 0

    def add(self, record: Record) -> Iterator[Document]:
        """The documents that this record completes."""
        if record.fate:
            self._book(record.fate, record.size, record.line, record.detail)
            return
        self._ledger.records += 1
        value = as_record(record.value)
        found = self._recognise(value) if value is not None else None
        parsed = found.parse(value) if found and value is not None else None
        if found is None or parsed is None:
            hint = f" (like {found.NAME}, but its values don't fit)" if found else ""
            self._book("unknown shape", record.size, record.line, shape_of(record.value) + hint)
            return
        tally = self._ledger.format(found.NAME)
        tally.records += 1
        pieces = (parsed,) if isinstance(parsed, Parsed) else tuple(parsed) or (Parsed(),)
        sizes = apportion(record.size, [_weight(piece) for piece in pieces])
        for piece, size in zip(pieces, sizes, strict=True):
            tally.decided[piece.decided] += 1
            yield from self._place(replace(record, size=size), found.NAME, piece)

    def end_file(self) -> Iterator[Document]:
        """The documents that were still open, in the order of their last records."""
        for key in list(self._threads):
            yield from self._close(key)
        self._identities.clear()

    def _place(self, record: Record, name: str, parsed: Parsed) -> Iterator[Document]:
        """Put a record's speech into its document."""
        if parsed.thread is None:
            draft = _Draft(name, record.path)
            self._say(draft, record, parsed)
            yield from self._finish(draft)
            return
        key = (name, parsed.thread)
        if parsed.identity is not None and not self._is_new(*key, parsed.identity):
            self._book("duplicate", record.size, record.line, "repeated record")
            return
        known = self._threads.get(key)
        if known is not None and _apart(known.time, parsed.time):
            yield from self._close(key)
            known = None
        draft = known or _Draft(name, record.path)
        before = draft.bytes if known else 0
        self._threads.pop(key, None)  # the threads are in the order of their last records
        self._threads[key] = draft
        self._say(draft, record, parsed)
        self._open_bytes += draft.bytes - before
        if draft.bytes > MAX_THREAD_BYTES:
            yield from self._close(key)
        while self._open_bytes > MAX_OPEN_BYTES:
            yield from self._close(next(iter(self._threads)))

    def _is_new(self, name: str, thread: str, identity: str) -> bool:
        text = "\0".join((name, thread, identity))
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key in self._identities:
            return False
        self._identities.add(key)
        return True

    def _close(self, key: tuple[str, str]) -> Iterator[Document]:
        draft = self._threads.pop(key)
        self._open_bytes -= draft.bytes
        yield from self._finish(draft)

    def _say(self, draft: _Draft, record: Record, parsed: Parsed) -> None:
        """Add a record's turns to a document, and book the bytes that are no speech in scope."""
        if not parsed.turns:
            self._book_split(record, parsed.noise, [], rest="no speech")
            return
        turns, noise = self._in_scope_clean(draft.format, parsed)
        sizes = self._book_split(record, noise, [weight for _, _, weight in turns], rest="markup")
        # An agent's calls run while its message is still being written: their results, which
        # belong to no message, may stand between its parts. Anything else ends the message.
        is_result = parsed.message is None and all(role == "env" for role, _, _ in turns)
        if not parsed.joins and not is_result and parsed.message != draft.message:
            draft.message, draft.part = parsed.message, None
        for (role, text, _), size in zip(turns, sizes, strict=True):
            draft.roles.add(role)
            said = None
            if role in self._roles:
                said = _Said(role, text, size, record.line)
                said = _add(draft, said, None if is_result and not parsed.joins else draft.part)
            else:
                self._book("out of scope", size, record.line, role_name(role))
                self._ledger.format(draft.format).left_out[role_name(role)] += 1
            if parsed.message is not None or parsed.joins:
                draft.part = said
        draft.time = parsed.time if parsed.time is not None else draft.time

    def _in_scope_clean(
        self, name: str, parsed: Parsed
    ) -> tuple[list[tuple[Role | None, str, int]], int]:
        """The turns that say something, with role, text (clean if in scope) and weight; the noise.

        Weight and noise are bytes of UTF-8.
        """
        noise = parsed.noise
        turns: list[tuple[Role | None, str, int]] = []
        for turn in parsed.turns:
            role = self._relabel(name, turn.role)
            text, removed = scrub(turn.text) if role in self._roles else (turn.text, 0)
            noise += removed
            if text.strip():
                turns.append((role, text, utf8_length(text)))
        return turns, noise

    def _book_split(self, record: Record, noise: int, weights: list[int], rest: Fate) -> list[int]:
        """Book a record's noise and the rest around its turns; the bytes that each turn gets.

        Bytes are UTF-8 lengths where those fit into the record, and scaled to it where the
        decoded text is longer than its source.
        """
        markup = max(0, record.size - noise - sum(weights))
        noise, markup, *sizes = apportion(record.size, [noise, markup, *weights])
        if noise:
            self._book("noise removed", noise, record.line)
        if markup or not (noise or any(sizes)):
            self._book(rest, markup, record.line)
        return sizes

    def _finish(self, draft: _Draft) -> Iterator[Document]:
        """The document, unless its scope is empty or it was said before."""
        if not draft.roles:
            return
        keeping = scopes_that_keep(draft.roles)
        self._ledger.scopes.update(keeping)
        turns = tuple(Turn(said.role, said.text) for said in draft.said)
        if not turns:
            return
        if self._scope not in keeping:
            self._book_turns("out of scope", draft, draft.said, "system prompt alone")
            return
        if not self._first_document(*turns):
            self._book_turns("duplicate", draft, draft.said, "whole document")
            return
        kept: list[_Said] = []
        repeated: list[_Said] = []
        for said, turn in zip(draft.said, turns, strict=True):
            is_new = said.role != "system" or self._first_system(turn)
            (kept if is_new else repeated).append(said)
        if repeated:
            self._book_turns("duplicate", draft, repeated, "system prompt")
        if kept:
            yield self._keep(draft, kept)

    def _book_turns(self, fate: Fate, draft: _Draft, turns: list[_Said], detail: str) -> None:
        """Book turns that don't reach the corpus."""
        size = sum(said.size for said in turns)
        count = len({said.line for said in turns})
        self._book(fate, size, turns[0].line, detail, records=count)
        left_out = self._ledger.format(draft.format).left_out
        for said in turns:
            left_out[role_name(said.role)] += 1

    def _keep(self, draft: _Draft, turns: list[_Said]) -> Document:
        size = sum(said.size for said in turns)
        count = len({said.line for said in turns})
        self._book("kept", size, turns[0].line, records=count)
        tally = self._ledger.format(draft.format)
        tally.documents += 1
        self._ledger.documents += 1
        for said in turns:
            tally.turns[role_name(said.role)] += 1
            tally.chars[role_name(said.role)] += len(said.text)
        source = f"{printable(draft.path)}:{turns[0].line}"
        return Document(tuple(Turn(said.role, said.text) for said in turns), source)

    def _book(self, fate: Fate, size: int, line: int, detail: str = "", records: int = 1) -> None:
        self._ledger.book(fate, size, line, detail, records)


def _weight(piece: Parsed) -> int:
    """Bytes of UTF-8 that a piece of a record stands for; 1 at least."""
    return 1 + piece.noise + sum(utf8_length(turn.text) for turn in piece.turns)


def _add(draft: _Draft, said: _Said, part: _Said | None) -> _Said:
    """Add a turn, to `part` if it is of the same role; the turn that the text is in now."""
    draft.bytes += len(said.text) + 200
    if part is None or part.role != said.role:
        draft.said.append(said)
        return said
    part.text = join(part.text, said.text)
    part.size += said.size
    return part


def _apart(earlier: float | None, later: float | None) -> bool:
    """True if two times are known and so far apart that a new conversation begins."""
    return earlier is not None and later is not None and abs(later - earlier) > THREAD_GAP_SECONDS

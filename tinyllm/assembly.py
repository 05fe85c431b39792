"""Records to drafts of documents: threads joined and cut, scope applied, text cleaned."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tinyllm.cleaning import Cleaner, utf8_length
from tinyllm.dedup.exact import hash_of
from tinyllm.documents import Role, role_name
from tinyllm.drafts import Draft, Said
from tinyllm.formats import as_record
from tinyllm.formats.changes import Replay
from tinyllm.formats.content import join
from tinyllm.formats.parsed import Change, Format, Parsed
from tinyllm.ledger import Fate, Ledger, apportion, shape_of
from tinyllm.reading.records import Record
from tinyllm.scopes import SCOPE_ROLES, WhoSpeaks, scopes_that_keep

THREAD_GAP_SECONDS = 4 * 3600
# Bounds on what is held of threads that may go on: one that outgrows the first is closed; where
# all together outgrow the second, those that were quiet longest are.
MAX_THREAD_BYTES = 16 << 20
MAX_OPEN_BYTES = 64 << 20
_THREAD_OVERHEAD_BYTES = 1 << 10
_TURN_OVERHEAD_BYTES = 200
_EARLIER_STATE = "earlier state"
_STANDS_TWICE = "stands twice, or encoded"
_UNCHOSEN = "not the chosen answer"
_ENCODED = "ids, escapes, base64"
_SECRETS = "secrets"

Recognise = Callable[[dict[str, Any]], Format | None]


@dataclass(slots=True)
class _Thread:
    """A draft that may still grow.

    bytes    what it takes of memory, about
    time     of its last record that has one
    message  the last message that came in parts
    part     the turn that more parts of this message belong to
    roles    of all its turns, in scope or not
    plainly  how often records that mirror no others said what, by hash
    inside   a block of text that a turn opened and none has closed yet, for cleaning
    """

    draft: Draft
    bytes: int = _THREAD_OVERHEAD_BYTES
    time: float | None = None
    message: str | None = None
    part: Said | None = None
    roles: set[Role | None] = field(default_factory=set)
    plainly: Counter[int] = field(default_factory=Counter)
    inside: str = ""


@dataclass(slots=True)
class _Built:
    """A value that a file's records build up by changes: the first of them, and their bytes."""

    format: Format
    name: str
    first: Record
    replay: Replay
    size: int


@dataclass(slots=True)
class _Clean:
    """A turn that says something; `weight` is bytes of UTF-8."""

    role: Role | None
    text: str
    weight: int


class Assembler:
    """Makes drafts of records, and books every byte that can't become a document.

    The bytes of drafts are deferred in the ledger. Threads live within a file: call `end_file`
    after its last record.
    """

    def __init__(
        self,
        ledger: Ledger,
        scope: str,
        recognise: Recognise,
        who_speaks: WhoSpeaks,
        clean: Cleaner,
    ) -> None:
        self._ledger = ledger
        self._scope = scope
        self._roles = SCOPE_ROLES[scope]
        self._recognise = recognise
        self._who_speaks = who_speaks
        self._clean = clean
        self._threads: dict[tuple[str, str], _Thread] = {}
        self._identities: set[tuple[str, str, int]] = set()
        self._built: dict[str, _Built] = {}
        self._open_bytes = 0

    def add(self, record: Record) -> Sequence[Draft]:
        """The drafts that this record completes."""
        if record.fate:
            self._ledger.book(record.fate, record.size, record.line, record.detail)
            return ()
        self._ledger.records += 1
        value = as_record(record.value)
        found = self._recognise(value) if value is not None else None
        parsed = found.parse(value) if found and value is not None else None
        if found is None or parsed is None:
            hint = f" (like {found.NAME}, but its values don't fit)" if found else ""
            shape = shape_of(record.value) + hint
            self._ledger.book("unknown shape", record.size, record.line, shape)
            return ()
        self._ledger.format(found.NAME).record(self._ledger.account)
        change = parsed.change if isinstance(parsed, Parsed) else None
        if change is not None:
            drafts = self._build(found, record, change)
            if drafts is not None:
                return drafts
        return self._take(record, found.NAME, parsed)

    def end_file(self) -> Sequence[Draft]:
        """The drafts that were still open, in the order of their last records."""
        drafts = [draft for built in self._built.values() for draft in self._read(built)]
        drafts += [draft for key in list(self._threads) for draft in self._close(key)]
        self._identities.clear()
        self._built.clear()
        return drafts

    def _take(
        self, record: Record, name: str, parsed: Parsed | Sequence[Parsed]
    ) -> Sequence[Draft]:
        """Put what a record says where it belongs; the drafts that are complete."""
        if isinstance(parsed, Parsed):
            return self._place(record, name, parsed)
        pieces = tuple(parsed) or (Parsed(),)
        sizes = apportion(record.size, [_weight(piece) for piece in pieces])
        drafts: list[Draft] = []
        for piece, size in zip(pieces, sizes, strict=True):
            drafts += self._place(replace(record, size=size), name, piece)
        return drafts

    def _build(self, found: Format, record: Record, change: Change) -> Sequence[Draft] | None:
        """Apply a change to what the file's records build up; None if there is no such value.

        Returns the drafts of a value that is complete, as another begins. A value that has become
        too large takes no more changes.
        """
        built = self._built.get(found.NAME)
        if not change.path and (built is None or change.of != built.name):
            begun = _Built(found, change.of, record, Replay(change.value), record.size)
            self._built[found.NAME] = begun
            return () if built is None else self._read(built)
        if built is None or built.size > MAX_OPEN_BYTES or not built.replay.apply(change):
            return None
        built.size += record.size
        return ()

    def _read(self, built: _Built) -> Sequence[Draft]:
        """Take the value that a file's records built up as one record."""
        value, replaced = built.replay.value, min(built.replay.replaced, built.size)
        record = replace(built.first, value=value, size=built.size - replaced)
        if replaced:
            self._ledger.book("duplicate", replaced, record.line, _EARLIER_STATE)
        parsed = built.format.parse(value)
        if parsed is None:
            self._ledger.book("unknown shape", record.size, record.line, shape_of(value))
            return ()
        return self._take(record, built.format.NAME, parsed)

    def _place(self, record: Record, name: str, parsed: Parsed) -> Sequence[Draft]:
        """Put a record's speech into its draft; those that are complete."""
        if not parsed.turns:
            if parsed.ends and (
                open_thread := self._threads.get((parsed.family or name, parsed.thread or ""))
            ):
                open_thread.message = open_thread.part = None
            if parsed.noise:
                self._book_split(record, _noise_of(parsed), [], rest="no speech")
            else:
                self._ledger.book("no speech", record.size, record.line)
            return ()
        if parsed.thread is None:
            thread = _Thread(Draft(name, record.path))
            self._say(thread, record, parsed, 0)
            return self._finish(thread)
        key = (parsed.family or name, parsed.thread)
        identity = hash_of(name, parsed.identity) if parsed.identity is not None else 0
        if identity:
            if (*key, identity) in self._identities:
                self._ledger.book("duplicate", record.size, record.line, "repeated record")
                return ()
            self._identities.add((*key, identity))
        complete: list[Draft] = []
        thread_before = self._threads.pop(key, None)
        if thread_before is not None and _apart(thread_before.time, parsed.time):
            self._open_bytes -= thread_before.bytes
            complete += self._finish(thread_before)
            thread_before = None
        thread = thread_before or _Thread(Draft(name, record.path))
        self._threads[key] = thread  # the last one: they are in the order of their last records
        self._open_bytes -= thread.bytes if thread_before else 0
        self._say(thread, record, parsed, identity)
        self._open_bytes += thread.bytes
        if thread.bytes > MAX_THREAD_BYTES:
            complete += self._close(key)
        while self._open_bytes > MAX_OPEN_BYTES:
            complete += self._close(next(iter(self._threads)))
        return complete

    def _close(self, key: tuple[str, str]) -> Sequence[Draft]:
        thread = self._threads.pop(key)
        self._open_bytes -= thread.bytes
        return self._finish(thread)

    def _say(self, thread: _Thread, record: Record, parsed: Parsed, identity: int) -> None:
        """Add a record's turns to a thread, and book the bytes that are no speech in scope."""
        turns, noise = self._in_scope_clean(thread, record, parsed)
        sizes = self._book_split(record, noise, [turn.weight for turn in turns], rest="markup")
        part = self._open_part(thread, parsed, turns)
        for place, (turn, size) in enumerate(zip(turns, sizes, strict=True)):
            thread.roles.add(turn.role)
            said = None
            if turn.role in self._roles:
                said = Said(turn.role, turn.text, size, record.line)
                if identity:
                    said.identity = hash_of(f"{identity} {place}") if place else identity
                if parsed.mirrors:
                    said.mirrored = parsed.series
                elif parsed.thread is not None:
                    thread.plainly[_sameness(said)] += 1
                said = _add(thread, said, part)
            else:
                self._leave_out(thread, "out of scope", size, record.line, turn.role)
            if not parsed.mirrors and (parsed.message is not None or parsed.joins):
                thread.part = part = said
            else:
                part = None
        thread.time = parsed.time if parsed.time is not None else thread.time

    @staticmethod
    def _open_part(thread: _Thread, parsed: Parsed, turns: list[_Clean]) -> Said | None:
        """The turn that a record's first one goes on with, if it is of the same role.

        An agent's calls run while its message is still being written: their results, which belong
        to no message, may stand between its parts. Anything else ends the message.
        """
        if parsed.mirrors:
            return None
        if parsed.joins:
            thread.message = None
            return thread.part
        if parsed.message is None and all(turn.role == "env" for turn in turns):
            if thread.message is None:
                thread.part = None
            return None
        if parsed.message is None or parsed.message != thread.message:
            thread.message, thread.part = parsed.message, None
        return thread.part

    def _in_scope_clean(
        self, thread: _Thread, record: Record, parsed: Parsed
    ) -> tuple[list[_Clean], dict[str, int]]:
        """The turns that say something, clean if in scope, and the bytes of noise by kind."""
        encoded = secret = 0
        turns: list[_Clean] = []
        name = thread.draft.format
        tally = self._ledger.format(name)
        for turn in parsed.turns:
            role, by = self._who_speaks(name, turn, parsed.decided)
            text = turn.text
            if role in self._roles:
                cleaned = self._clean(text, thread.inside)
                text, thread.inside = cleaned.text, cleaned.inside
                encoded += cleaned.noise
                secret += cleaned.secret_bytes
                for kind, count in cleaned.secrets:
                    self._ledger.secret(kind, count, record.line)
            if text and not text.isspace():
                turns.append(_Clean(role, text, utf8_length(text)))
                tally.decide(by, role)
                if turn.speaker:
                    tally.speak(turn.speaker)
        return turns, {**_noise_of(parsed), _ENCODED: encoded, _SECRETS: secret}

    def _book_split(
        self, record: Record, noise: dict[str, int], weights: list[int], rest: Fate
    ) -> list[int]:
        """Book a record's noise and the rest around its turns; the bytes that each turn gets.

        Bytes are UTF-8 lengths where those fit into the record, and scaled to it where the
        decoded text is longer than its source.
        """
        kinds = [kind for kind, size in noise.items() if size > 0]
        parts = [noise[kind] for kind in kinds] if kinds else []
        markup = record.size - sum(parts) - sum(weights)
        if markup < 0:
            markup, *shares = apportion(record.size, [0, *parts, *weights])
            parts, weights = shares[: len(kinds)], shares[len(kinds) :]
        for kind, size in zip(kinds, parts, strict=True):
            self._ledger.book("noise removed", size, record.line, kind)
        if markup or not (kinds or weights):
            self._ledger.book(rest, markup, record.line)
        return weights

    def _finish(self, thread: _Thread) -> Sequence[Draft]:
        """The draft, unless nothing of it is in scope."""
        if not thread.roles:
            return ()
        draft = thread.draft
        roles = frozenset(thread.roles)
        self._ledger.format(draft.format).speaking[roles] += 1
        self._drop_mirrors(thread)
        if not draft.said:
            return ()
        if self._scope in scopes_that_keep(roles):
            self._ledger.defer(draft.size)
            return (draft,)
        for said in draft.said:
            self._leave_out(thread, "out of scope", said.size, said.line, said.role)
        return ()

    def _drop_mirrors(self, thread: _Thread) -> None:
        """What mirrors stays only where no other record said it, and as often as one set has it."""
        said = thread.draft.said
        if all(turn.mirrored is None for turn in said):
            return
        have = thread.plainly
        seen: Counter[tuple[str, int]] = Counter()
        thread.draft.said = []
        for turn in said:
            same = _sameness(turn)
            if turn.mirrored is not None:
                seen[turn.mirrored, same] += 1
                if seen[turn.mirrored, same] <= have[same]:
                    self._ledger.book("duplicate", turn.size, turn.line, "mirrored record")
                    self._ledger.format(thread.draft.format).leave_out("duplicate", [turn.role])
                    continue
                have[same] += 1
            thread.draft.said.append(turn)

    def _leave_out(
        self, thread: _Thread, fate: Fate, size: int, line: int, role: Role | None
    ) -> None:
        self._ledger.book(fate, size, line, role_name(role))
        self._ledger.format(thread.draft.format).leave_out(fate, [role])


def _noise_of(parsed: Parsed) -> dict[str, int]:
    """The bytes of noise that a format named, by kind."""
    return {_STANDS_TWICE: parsed.noise - parsed.unchosen, _UNCHOSEN: parsed.unchosen}


def _weight(piece: Parsed) -> int:
    """Bytes of UTF-8 that a piece of a record stands for; 1 at least."""
    return 1 + piece.noise + sum(utf8_length(turn.text) for turn in piece.turns)


def _sameness(said: Said) -> int:
    return hash((said.role, said.text.strip()))


def _add(thread: _Thread, said: Said, part: Said | None) -> Said:
    """Add a turn, to `part` if it is of the same role; the turn that the text is in now."""
    thread.bytes += len(said.text) + _TURN_OVERHEAD_BYTES
    if part is None or part.role != said.role:
        thread.draft.said.append(said)
        return said
    both = part.identity and said.identity
    part.identity = hash_of(str(part.identity), str(said.identity)) if both else 0
    part.text = join(part.text, said.text)
    part.size += said.size
    return part


def _apart(earlier: float | None, later: float | None) -> bool:
    """True if two times are known and so far apart that a new conversation begins."""
    return earlier is not None and later is not None and abs(later - earlier) > THREAD_GAP_SECONDS

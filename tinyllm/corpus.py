"""A corpus: the documents of files, each said once, and the ledger of where every byte went."""

from collections.abc import Callable, Iterator, Sequence

from tinyllm.assembly import Assembler
from tinyllm.cleaning import Cleaner
from tinyllm.console import in_one_line
from tinyllm.dedup.near import NearDuplicates
from tinyllm.documents import Document
from tinyllm.errors import UserError
from tinyllm.formats import FORMATS, recognise
from tinyllm.gathering import Gathering
from tinyllm.ledger import Ledger, counted
from tinyllm.reading.inputs import InputFile, StrPath, find_files, has_changed
from tinyllm.reading.records import records
from tinyllm.scopes import SCOPES, WhoSpeaks

Progress = Callable[[int, int], None]


class NothingKept(UserError):
    """The inputs were read to the end and no document is left."""


class Corpus:
    """Iterates once over the documents of `paths`; then `ledger` is complete.

    files   what is read, in order
    ledger  where every byte went; complete after the iteration

    The first document comes when all files were read: which of several copies is kept depends on
    all of them. Meanwhile documents lie, packed, in a temporary file.

    Raises UserError at once for a path, scope, rule or group that doesn't exist, and while
    iterating: with `strict`, at the first record that is unreadable or of unknown shape; at the
    end, if no document was kept (NothingKept). `progress` is called with the bytes read so far
    and the bytes in all.
    """

    def __init__(
        self,
        paths: Sequence[StrPath],
        scope: str,
        *,
        relabel: Sequence[str] = (),
        me: Sequence[str] = (),
        keep: Sequence[str] = (),
        near_dedup: float = 0.0,
        near_dedup_human: bool = False,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> None:
        if scope not in SCOPES:
            raise UserError(f"there is no scope {scope!r}: use one of {', '.join(SCOPES)}")
        who_speaks = WhoSpeaks(relabel, me, [format_.NAME for format_ in FORMATS])
        clean = Cleaner(keep)
        self.files: list[InputFile] = find_files(paths)
        self.ledger = Ledger()
        self._paths = [str(path) for path in paths]
        self._scope = scope
        self._strict = strict
        self._progress = progress
        self._total = sum(file.size for file in self.files)
        self._done = 0
        self._started = False
        assembler = Assembler(self.ledger, scope, recognise, who_speaks, clean)
        near = NearDuplicates(near_dedup, human=near_dedup_human) if near_dedup else None
        self._gathered = Gathering(self.ledger, scope, assembler, near)

    def __iter__(self) -> Iterator[Document]:
        assert not self._started, "a corpus is read once; make another to read it again"
        self._started = True
        listed = 0
        for file in self.files:
            with self._gathered.file(file.path, file.size):
                for record in records(file, self._on_read):
                    self._gathered.add(record)
                    if self._strict:
                        self._refuse_loss()
            listed += file.size
            self._on_read(listed - self._done)  # what of a damaged file wasn't read
            if has_changed(file):
                self.ledger.changed.append(in_one_line(file.path))
        yield from self._gathered.documents()
        if not self.ledger.documents:
            raise NothingKept(self._nothing_kept())

    def _on_read(self, size: int) -> None:
        self._done += size
        if self._progress:
            self._progress(self._done, self._total)

    def _refuse_loss(self) -> None:
        for fate in ("unreadable", "unknown shape"):
            tally = self.ledger.fates.get(fate)
            if tally:
                reason = next(iter(tally.details), "")
                raise UserError(
                    f"{tally.first} is {'of ' if fate == 'unknown shape' else ''}"
                    f"{fate}{f': {reason}' if reason else ''}; "
                    "mend or remove it, or leave out --strict"
                )

    def _nothing_kept(self) -> str:
        """What was searched, what was in it, and which scopes would keep some of it."""
        ledger = self.ledger
        seen = ", ".join(
            f"{tally.records:,} {fate}" for fate, tally in ledger.fates.items() if fate != "markup"
        )
        others = ", ".join(
            f"--scope {scope} ({counted(count, 'document')})"
            for scope, count in ledger.scopes.items()
        )
        advice = f"would keep some: {others}" if others else "no scope would keep any"
        return (
            f"nothing to learn under --scope {self._scope} in {', '.join(self._paths)}: "
            f"{counted(ledger.files, 'file')} with {counted(ledger.records, 'record')} seen, "
            f"0 documents kept "
            f"({seen or 'all empty'}); {advice}"
        )

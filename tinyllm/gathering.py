"""Drafts of all files to documents: what is said twice is told apart once everything was read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from tinyllm.assembly import Assembler
from tinyllm.console import in_one_line
from tinyllm.dedup.exact import Facts, Kind, Verdicts
from tinyllm.dedup.near import NearDuplicates
from tinyllm.documents import Document
from tinyllm.drafts import Draft, Said, Shelf
from tinyllm.ledger import Account, Ledger
from tinyllm.reading.records import Record
from tinyllm.scopes import scopes_that_keep


class Gathering:
    """Takes the records of files, one file after another, then gives the documents.

    near  compares drafts for near duplicates; None for a corpus that keeps those
    """

    def __init__(
        self, ledger: Ledger, scope: str, assembler: Assembler, near: NearDuplicates | None = None
    ) -> None:
        self._ledger = ledger
        self._scope = scope
        self._assembler = assembler
        self._near = near
        self._shelf = Shelf()
        self._facts = Facts()
        self._accounts: list[tuple[Account, int]] = []  # and how many drafts its file gave

    @contextmanager
    def file(self, path: str, size: int) -> Iterator[None]:
        """Every record added inside belongs to this file of `size` bytes."""
        before = self._shelf.count
        with self._ledger.file(path, size) as account:
            yield
            self._put(self._assembler.end_file())
        if self._shelf.count > before:
            self._accounts.append((account, self._shelf.count - before))

    def add(self, record: Record) -> None:
        """Take one record of the open file."""
        if record.lost:
            self._ledger.book_lost(record.size, record.line, record.detail)
        elif drafts := self._assembler.add(record):
            self._put(drafts)

    def documents(self) -> Iterator[Document]:
        """The documents, in the order of files; afterwards every byte is booked."""
        verdicts = self._facts.decide()
        if self._near:
            self._near.decide(verdicts, self._shelf.get)
        drafts = enumerate(self._shelf)
        for account, count in self._accounts:
            with self._ledger.settling(account):
                for _ in range(count):
                    index, draft = next(drafts)
                    yield from self._keep(draft, verdicts.document(index), verdicts.turns(index))
        self._tell_examples(verdicts)

    def _put(self, drafts: Sequence[Draft]) -> None:
        for draft in drafts:
            self._shelf.put(draft)
            self._facts.add(draft)
            if self._near:
                self._near.add(draft)

    def _keep(
        self, draft: Draft, duplicate: Kind | None, turns: list[Kind | None]
    ) -> Iterator[Document]:
        """The document without what is a duplicate, and each byte of it booked."""
        kept = draft.said
        if duplicate or turns:
            kinds = [duplicate] * len(draft.said) if duplicate else turns
            kept = [said for said, kind in zip(draft.said, kinds, strict=True) if kind is None]
            for kind in dict.fromkeys(filter(None, kinds)):
                repeated = [said for said, of in zip(draft.said, kinds, strict=True) if of == kind]
                self._book("duplicate", draft, repeated, kind)
        if not kept:
            return
        if self._scope not in scopes_that_keep(frozenset(said.role for said in kept)):
            self._book("out of scope", draft, kept, "system prompt alone")
            return
        self._book("kept", draft, kept)
        tally = self._ledger.format(draft.format)
        tally.documents += 1
        self._ledger.documents += 1
        yield Document(tuple(said.turn() for said in kept), _place(draft, kept[0]), draft.format)

    def _book(
        self,
        fate: Literal["kept", "duplicate", "out of scope"],
        draft: Draft,
        turns: list[Said],
        detail: str = "",
    ) -> None:
        size = sum(said.size for said in turns)
        count = len({said.line for said in turns})
        self._ledger.book(fate, size, turns[0].line, detail, records=count)
        tally = self._ledger.format(draft.format)
        if fate != "kept":
            tally.leave_out(fate, [said.role for said in turns])
            return
        for said in turns:
            tally.keep(said.role, len(said.text))

    def _tell_examples(self, verdicts: Verdicts) -> None:
        """Name a few duplicates together with what they repeat."""
        duplicates = self._ledger.fates.get("duplicate")
        if not duplicates:
            return
        for kind, pairs in verdicts.examples.items():
            for index, other in pairs:
                draft, repeated = self._shelf.get(index), self._shelf.get(other)
                duplicates.detail(kind).examples.append(
                    f"{_place(draft, draft.said[0])} repeats {_place(repeated, repeated.said[0])}"
                )


def _place(draft: Draft, said: Said) -> str:
    return f"{in_one_line(draft.path)}:{said.line}"

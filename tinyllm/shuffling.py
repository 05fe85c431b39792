"""Documents' ids on disk: written as they come, read in a seeded random order."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

_BUCKET_BITS = 6
_BUCKET_BUFFER_BYTES = 1 << 18
_READ_TOKENS = 1 << 20
_INDEX = np.dtype([("key", "<u8"), ("hash", "<u8"), ("tokens", "<u8"), ("text_bytes", "<u8")])


@dataclass(frozen=True, slots=True)
class DocumentEnd:
    """What is known at a document's end: a 64-bit hash of its text, and the text's size."""

    hash: int
    text_bytes: int


class ShuffledStore:
    """Ids of documents, written in the order they come and read in a random one.

    Every document gets a key from a hash of `seed` and its position, and the documents are read in
    the order of keys. The key's first bits say in which of 64 pairs of files it waits: what has to
    be sorted at once is a 64th of the index, and reading jumps about in a 64th of the ids.
    """

    def __init__(self, folder: Path, dtype: np.dtype, seed: int) -> None:
        self.dtype = dtype
        self._seed = seed
        self.documents = 0
        self.text_bytes = 0
        self._choice = _HeldoutChoice()
        # The ids and the index of each bucket, and what is still to be written to them.
        self._files = [
            (folder / f"{bucket:02}.tokens", folder / f"{bucket:02}.index")
            for bucket in range(1 << _BUCKET_BITS)
        ]
        self._buffers: dict[Path, bytearray] = {}
        self._key = self._next_key()
        self._tokens = 0

    def add(self, ids: np.ndarray, end: DocumentEnd | None) -> None:
        """Append ids to the current document, and close it if `end` is given."""
        tokens, index = self._files[self._key >> (64 - _BUCKET_BITS)]
        self._write(tokens, ids.tobytes())
        self._tokens += len(ids)
        if end is None:
            return
        row = np.array([(self._key, end.hash, self._tokens, end.text_bytes)], dtype=_INDEX)
        self._write(index, row.tobytes())
        self._choice.add(end)
        self.text_bytes += end.text_bytes
        self.documents += 1
        self._key, self._tokens = self._next_key(), 0

    def flush(self) -> None:
        """Write out what is still in memory."""
        for path, buffer in self._buffers.items():
            with path.open("ab") as file:
                file.write(buffer)
        self._buffers.clear()

    def _write(self, path: Path, data: bytes) -> None:
        buffer = self._buffers.setdefault(path, bytearray())
        buffer += data
        if len(buffer) >= _BUCKET_BUFFER_BYTES:
            with path.open("ab") as file:
                file.write(buffer)
            del self._buffers[path]

    def _next_key(self) -> int:
        digest = hashlib.blake2b(f"{self._seed} {self.documents}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big")

    def choose_heldout(self, eval_fraction: float) -> Callable[[int], bool]:
        """Which documents are held out, by their hash; asked once all are in.

        The lowest `eval_fraction` of all hashes, and the lowest one in any case; never the longest
        document, which with few of them may be most of the corpus. Equal documents are therefore
        never on both sides.
        """
        threshold = int(eval_fraction * 2**64)
        longest = self._choice.longest[1]
        at_least = next((low for low in self._choice.lowest if low != longest), None)

        def is_heldout(content: int) -> bool:
            return content != longest and (content < threshold or content == at_least)

        return is_heldout if eval_fraction else lambda _: False

    def count_tokens(self, is_heldout: Callable[[int], bool]) -> tuple[int, int]:
        """Tokens that are not held out, and tokens in all."""
        kept = total = 0
        for rows in self._indexes():
            for content, tokens in zip(rows["hash"].tolist(), rows["tokens"].tolist(), strict=True):
                total += tokens
                kept += 0 if is_heldout(content) else tokens
        return kept, total

    def _indexes(self) -> Iterator[np.ndarray]:
        for _, index in self._files:
            if index.exists():
                yield np.fromfile(index, dtype=_INDEX)

    def shuffled(self) -> Iterator[tuple[np.void, Iterator[np.ndarray]]]:
        """Every document in the order of keys: its row of the index, and its ids in slices.

        A bucket's files are removed once they are read. The slices of one document have to be
        taken before the next document.
        """
        for tokens, index in self._files:
            if not index.exists():
                continue
            rows = np.fromfile(index, dtype=_INDEX)
            starts = np.cumsum(rows["tokens"]) - rows["tokens"]
            with tokens.open("rb", buffering=0) as file:
                for position in np.argsort(rows["key"], kind="stable"):
                    file.seek(int(starts[position]) * self.dtype.itemsize)
                    yield rows[position], self._slices(file, int(rows["tokens"][position]))
            tokens.unlink()
            index.unlink()

    def _slices(self, file: Any, count: int) -> Iterator[np.ndarray]:
        while count:
            ids = np.fromfile(file, dtype=self.dtype, count=min(count, _READ_TOKENS))
            yield ids
            count -= len(ids)


@dataclass
class _HeldoutChoice:
    """What has to be remembered of all documents to choose those held out."""

    lowest: list[int] = field(default_factory=list)  # the two lowest hashes
    longest: tuple[int, int] = (-1, 0)  # bytes of text, hash

    def add(self, end: DocumentEnd) -> None:
        """Note one document."""
        if end.text_bytes > self.longest[0]:
            self.longest = (end.text_bytes, end.hash)
        if (len(self.lowest) < 2 or end.hash < self.lowest[-1]) and end.hash not in self.lowest:
            self.lowest = sorted([*self.lowest, end.hash])[:2]

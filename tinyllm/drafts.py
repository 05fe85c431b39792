"""Drafts: documents as they were read, on a shelf until it is known what others say too."""

import tempfile
import weakref
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import orjson
import zstandard

from tinyllm.documents import Role, Turn
from tinyllm.errors import UserError

_BATCH_BYTES = 1 << 20
# Below this the shelf stays in memory.
_MEMORY_BYTES = 16 << 20
_LEVEL = 1


@dataclass(slots=True)
class Said:
    """A turn in scope.

    size      bytes of the file's content that it stands for
    line      of its first record
    identity  a hash of the identities of its records; 0 if the log gives them none
    mirrored  the set of records that say it again; None if it is said by itself
    """

    role: Role | None
    text: str
    size: int
    line: int
    identity: int = 0
    mirrored: str | None = None

    def turn(self) -> Turn:
        """Who speaks and what is said."""
        return Turn(self.role, self.text)


@dataclass(slots=True)
class Draft:
    """Turns of one format and file that belong together."""

    format: str
    path: str
    said: list[Said] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of the file's content that its turns stand for."""
        return sum(said.size for said in self.said)


class Shelf:
    """Drafts in the order in which they were put, packed, in a temporary file.

    Takes memory for one batch. The file has no name, so nothing is left of it, however the
    process ends. Raises UserError where the temporary folder is full.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_MEMORY_BYTES)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._pack = zstandard.ZstdCompressor(level=_LEVEL).compress
        self._unpack = zstandard.ZstdDecompressor().decompress
        self._batch: list[bytes] = []
        self._batch_bytes = 0
        self._starts: list[int] = []  # the first draft of each batch
        self._places: list[tuple[int, int]] = []  # offset and size of each batch
        self._end = 0
        self._cached: tuple[int, list[bytes]] = (-1, [])
        self.count = 0

    def put(self, draft: Draft) -> None:
        """Add one draft behind the others."""
        said = [(s.role, s.text, s.size, s.line) for s in draft.said]
        raw = orjson.dumps((draft.format, _utf8(draft.path), said))
        if not self._batch:
            self._starts.append(self.count)
        self._batch.append(raw)
        self._batch_bytes += len(raw)
        self.count += 1
        if self._batch_bytes >= _BATCH_BYTES:
            self._flush()

    def __iter__(self) -> Iterator[Draft]:
        """All drafts, in order."""
        self._flush()
        for batch in range(len(self._places)):
            for raw in self._load(batch):
                yield _draft(raw)

    def get(self, index: int) -> Draft:
        """The draft at this place; quick for neighbours."""
        self._flush()
        batch = bisect_right(self._starts, index) - 1
        if self._cached[0] != batch:
            self._cached = (batch, self._load(batch))
        return _draft(self._cached[1][index - self._starts[batch]])

    def _flush(self) -> None:
        if not self._batch:
            return
        packed = self._pack(b"\n".join(self._batch))
        try:
            self._file.seek(self._end)
            self._file.write(packed)
        except OSError as error:
            raise UserError(
                f"the temporary folder {tempfile.gettempdir()} can't hold the documents while "
                f"they are compared ({error.strerror or error}): "
                "make room there, or name another folder in TMPDIR"
            ) from error
        self._places.append((self._end, len(packed)))
        self._end += len(packed)
        self._batch.clear()
        self._batch_bytes = 0

    def _load(self, batch: int) -> list[bytes]:
        offset, size = self._places[batch]
        self._file.seek(offset)
        return self._unpack(self._file.read(size)).split(b"\n")


def _draft(raw: bytes) -> Draft:
    name, path, said = orjson.loads(raw)
    return Draft(name, path, [Said(*fields) for fields in said])


def _utf8(text: str) -> str:
    """A path that can be written: bytes that are no text are replaced."""
    return text.encode("utf-8", "replace").decode()

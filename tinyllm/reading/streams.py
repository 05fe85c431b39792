"""The content of a file as a stream of bytes: gzip and zstd unpacked, UTF-16 made UTF-8."""

import codecs
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Protocol

import zstandard

from tinyllm.reading.inputs import InputFile

OnRead = Callable[[int], None]

CHUNK_BYTES = 1 << 20
# Compressed bytes that are unpacked at once: a run of zeros grows a thousandfold under gzip,
# thirty thousandfold under zstd, and all of it comes out in one piece.
_PIECE_BYTES = 1 << 12
# Packed logs are seldom a hundredth of their size, even those that repeat a growing conversation
# in every record; what goes on like this was made to fill a disk.
_BOMB_BYTES = 1 << 30
_BOMB_RATIO = 2000

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte of 0x50 to 0x5f
_UTF16_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class _Member(Protocol):
    """One gzip member or zstd frame being unpacked."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class Content:
    """The content of one file, chunk by chunk, once.

    Reads no further than the size the file had when listed. After the iteration `fault` says
    what went wrong ("" if nothing), `lost` is the number of bytes on disk that gave no content,
    and `grew` tells that the file has become longer meanwhile: its last line may be half written.
    """

    def __init__(self, file: InputFile, on_read: OnRead | None = None) -> None:
        self.fault = ""
        self.lost = 0
        self.grew = False
        self._file = file
        self._on_read = on_read

    def __iter__(self) -> Iterator[bytes]:
        raw = self._raw()
        first = next(raw, b"")
        chunks = chain((first,), raw)
        start = _unpacker(first)
        return _as_utf8(self._unpack(chunks, start) if start else self._told(chunks))

    def _tell(self, size: int) -> None:
        if self._on_read:
            self._on_read(size)

    def _told(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._tell(len(chunk))
            yield chunk

    def _raw(self) -> Iterator[bytes]:
        """The bytes on disk, in chunks."""
        left = self._file.size
        try:
            with Path(self._file.path).open("rb") as stream:
                while left and (chunk := stream.read(min(CHUNK_BYTES, left))):
                    left -= len(chunk)
                    yield chunk
                self.grew = Path(self._file.path).stat().st_size > self._file.size
        except OSError as error:
            self.fault = (error.strerror or type(error).__name__).lower()
        if left:
            self.lost = left
            self.fault = self.fault or "became shorter while it was read"

    def _unpack(self, chunks: Iterator[bytes], start: Callable[[], _Member]) -> Iterator[bytes]:
        """Every member or frame, one after another; from damage on, the rest is lost."""
        done = unpacked = 0
        member = start()
        for chunk in chunks:
            for at in range(0, len(chunk), _PIECE_BYTES):
                waiting = piece = chunk[at : at + _PIECE_BYTES]
                self._tell(len(piece))
                try:
                    while waiting:
                        member = start() if member.eof else member
                        content = member.decompress(waiting)
                        unpacked += len(content)
                        yield from self._in_chunks(content)
                        # gzip allows zeros after a member, as padding.
                        waiting = member.unused_data.lstrip(b"\0") if member.eof else b""
                except (zlib.error, zstandard.ZstdError):
                    self.lost = self._file.size - (done + len(piece) - len(waiting))
                    self.fault = "damaged compressed data"
                    return
                done += len(piece)
                if unpacked > _BOMB_BYTES and unpacked > _BOMB_RATIO * done:
                    self.lost = self._file.size - done
                    self.fault = f"unpacks to more than {_BOMB_RATIO:,} times its size"
                    return
        if not member.eof:
            self.fault = self.fault or "compressed data ends early"

    def _in_chunks(self, content: bytes) -> Iterator[bytes]:
        """What a piece unpacks to, in parts that may be split into lines at once.

        A zero is told with each: a piece of a bomb lasts for minutes, and progress shows its time.
        """
        for at in range(0, len(content), CHUNK_BYTES):
            self._tell(0)
            yield content[at : at + CHUNK_BYTES]


def _unpacker(first: bytes) -> Callable[[], _Member] | None:
    """What unpacks a file that begins with these bytes; None for one that isn't compressed."""
    if first.startswith(_GZIP_MAGIC):
        return lambda: zlib.decompressobj(wbits=31)
    if first.startswith(_ZSTD_MAGIC) or (
        first[1:4] == _ZSTD_SKIPPABLE and 0x50 <= first[0] <= 0x5F
    ):
        start: Callable[[], _Member] = zstandard.ZstdDecompressor().decompressobj
        return start
    return None


def _as_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """UTF-16 with a byte order mark re-encoded; anything else as it is."""
    first = next(chunks, b"")
    encoding = _UTF16_MARKS.get(first[:2])
    if encoding is None:
        yield first
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in chain((first,), chunks):
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", final=True).encode()

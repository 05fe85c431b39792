"""Documents to token blocks: shuffled, packed end to end, in Arrow files that are memory-mapped.

Two passes over the corpus, both in bounded memory. The first encodes documents as they come and
appends their ids to one of 64 files by a seeded random key; the second reads these files in turn,
each in the order of its documents' keys, and cuts the stream into blocks.
"""

import hashlib
import json
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa

from tinyllm.documents import Document
from tinyllm.encoding import Encoder, Segment
from tinyllm.errors import UserError
from tinyllm.shuffling import DocumentEnd, ShuffledStore

FORMAT_VERSION = 1
META_FILE = "meta.json"
TRAIN_FILE = "train.arrow"
HELDOUT_FILE = "heldout.arrow"

# `progress(phase, done, total)`: "encoding" counts bytes of text, and its total is unknown (None);
# "packing" counts tokens.
Progress = Callable[[str, int, int | None], None]

_BATCH_CHARACTERS = 1 << 17
_BATCH_SEGMENTS = 1 << 13
_RECORD_BATCH_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class PackStats:
    """What a packed corpus holds; kept in its meta.json.

    documents, tokens      trained on; the tokens count the `<|endoftext|>` that closes the stream
    text_bytes             UTF-8 bytes of text in these documents
    blocks                 of `block_size` tokens; `lost_tokens` is what the last one lacked to be
    heldout_*              the same for the documents never trained on; 0 where there are none
    block_size             as asked for (`requested_block_size`), or lowered to `tokens`
    dtype                  of the ids: "uint16" or "uint32"
    content_sha256         of block size, type and both streams: equal on every machine
    """

    documents: int
    tokens: int
    text_bytes: int
    blocks: int
    lost_tokens: int
    heldout_documents: int
    heldout_tokens: int
    heldout_bytes: int
    heldout_blocks: int
    block_size: int
    requested_block_size: int
    dtype: str
    content_sha256: str


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed corpus, memory-mapped.

    train    column `input_ids`, `block_size` ids a row
    heldout  the same and `length`: how many ids of the row are real; the rest of the last is pad
    """

    train: datasets.Dataset
    heldout: datasets.Dataset
    stats: PackStats


def prepare(
    documents: Iterable[Document],
    encoder: Encoder,
    folder: Path,
    *,
    block_size: int,
    seed: int,
    eval_fraction: float,
    num_proc: int,
    progress: Progress | None = None,
) -> PackStats:
    """Encode, shuffle and pack `documents` into `folder`, an empty one.

    block_size     tokens a block; lowered if there are fewer in all
    seed           of the shuffle and of the choice of held-out documents
    eval_fraction  share of documents held out, chosen by a hash of their text: at least one where
                   there are two different ones, never the longest; 0 holds out none
    num_proc       threads that encode; the files are the same byte for byte whatever it is

    meta.json is written last. Raises UserError if the documents hold no text at all.
    """
    assert block_size > 1 and 0 <= eval_fraction < 1 and num_proc > 0
    spill = folder / "spill"
    spill.mkdir()
    store = ShuffledStore(spill, encoder.dtype, seed)
    for ids, end in _encoded(documents, encoder, seed, num_proc):
        store.add(ids, end)
        if progress is not None:
            progress("encoding", store.text_bytes, None)
    store.flush()
    if not store.text_bytes:
        raise UserError(
            f"nothing to train on: {store.documents} documents, and no text in them; "
            "`python data.py PATH` shows what becomes of each byte, and --scope full keeps most"
        )
    stats = _pack(
        store,
        folder,
        end_of_text=encoder.end_of_text,
        block_size=block_size,
        eval_fraction=eval_fraction,
        progress=progress,
    )
    shutil.rmtree(spill)
    meta = {"format": FORMAT_VERSION, **asdict(stats)}
    (folder / META_FILE).write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")
    return stats


def open_packed(folder: Path) -> Packed:
    """The packed corpus of a folder that `prepare` filled.

    Raises UserError if it is incomplete, damaged or of another format.
    """
    try:
        meta = json.loads((folder / META_FILE).read_text(encoding="utf-8"))
        version = meta.pop("format")
        stats = PackStats(**meta)
        train = datasets.Dataset.from_file(str(folder / TRAIN_FILE))
        heldout = datasets.Dataset.from_file(str(folder / HELDOUT_FILE))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"the prepared data in {folder} is damaged ({error}): remove that folder, start again"
        ) from error
    if version != FORMAT_VERSION or (len(train), len(heldout)) != (
        stats.blocks,
        stats.heldout_blocks,
    ):
        raise UserError(
            f"the prepared data in {folder} has format {version} with {len(train)} and "
            f"{len(heldout)} blocks where format {FORMAT_VERSION} with {stats.blocks} and "
            f"{stats.heldout_blocks} is expected: remove that folder and start again"
        )
    return Packed(train, heldout, stats)


def _pack(
    store: ShuffledStore,
    folder: Path,
    *,
    end_of_text: int,
    block_size: int,
    eval_fraction: float,
    progress: Progress | None,
) -> PackStats:
    """The second pass."""
    is_heldout = store.choose_heldout(eval_fraction)
    train_tokens, all_tokens = store.count_tokens(is_heldout)
    size = min(block_size, train_tokens + 1)
    train = _BlockWriter(folder / TRAIN_FILE, store.dtype, size, with_length=False)
    heldout = _BlockWriter(folder / HELDOUT_FILE, store.dtype, size, with_length=True)
    for row, slices in store.shuffled():
        (heldout if is_heldout(int(row["hash"])) else train).add(row, slices)
        if progress is not None:
            progress("packing", train.tokens + heldout.tokens, all_tokens)
    lost = train.close(end_of_text, pad_last=False)
    heldout.close(end_of_text, pad_last=True)
    identity = f"{size} {store.dtype.name} {train.sha256} {heldout.sha256}"
    return PackStats(
        documents=train.documents,
        tokens=train.tokens,
        text_bytes=train.text_bytes,
        blocks=train.blocks,
        lost_tokens=lost,
        heldout_documents=heldout.documents,
        heldout_tokens=heldout.tokens,
        heldout_bytes=heldout.text_bytes,
        heldout_blocks=heldout.blocks,
        block_size=size,
        requested_block_size=block_size,
        dtype=store.dtype.name,
        content_sha256=hashlib.sha256(identity.encode()).hexdigest(),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Some segments of a document; the last part ends it."""

    segments: list[Segment]
    end: DocumentEnd | None = None


def _encoded(
    documents: Iterable[Document], encoder: Encoder, seed: int, num_proc: int
) -> Iterator[tuple[np.ndarray, DocumentEnd | None]]:
    """Every part's ids, in the order of the documents. Threads encode a few batches ahead."""
    running: deque[tuple[list[_Part], Future[list[np.ndarray]]]] = deque()
    with ThreadPoolExecutor(num_proc, thread_name_prefix="encode") as pool:
        for batch in _batches(_parts(documents, encoder, seed)):
            task = pool.submit(encoder.encode_segments, [part.segments for part in batch])
            running.append((batch, task))
            if len(running) >= 2 * num_proc:
                yield from _results(*running.popleft())
        while running:
            yield from _results(*running.popleft())


def _results(
    parts: list[_Part], task: Future[list[np.ndarray]]
) -> Iterator[tuple[np.ndarray, DocumentEnd | None]]:
    return zip(task.result(), (part.end for part in parts), strict=True)


def _parts(documents: Iterable[Document], encoder: Encoder, seed: int) -> Iterator[_Part]:
    """Every document as parts that are small enough for a batch."""
    for document in documents:
        digest = hashlib.blake2b(str(seed).encode(), digest_size=8)
        text_bytes = 0
        for turn in document.turns:
            text = turn.text.encode("utf-8", "replace")
            text_bytes += len(text)
            digest.update(f"\0{turn.role}\0{len(text)}\0".encode())
            digest.update(text)
        segments: list[Segment] = []
        characters = 0
        for segment in encoder.segments(document):
            segments.append(segment)
            characters += len(segment) if isinstance(segment, str) else 1
            if characters >= _BATCH_CHARACTERS:
                yield _Part(segments)
                segments, characters = [], 0
        content = int.from_bytes(digest.digest(), "big")
        yield _Part(segments, DocumentEnd(content, text_bytes))


def _batches(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """Parts put together until they are worth a thread's while."""
    batch: list[_Part] = []
    characters = segments = 0
    for part in parts:
        batch.append(part)
        segments += 1 + len(part.segments)
        characters += sum(len(text) for text in part.segments if isinstance(text, str))
        if characters >= _BATCH_CHARACTERS or segments >= _BATCH_SEGMENTS:
            yield batch
            batch, characters, segments = [], 0, 0
    if batch:
        yield batch


class _BlockWriter:
    """A stream of ids cut into blocks, in an Arrow file."""

    def __init__(self, path: Path, dtype: np.dtype, block_size: int, with_length: bool) -> None:
        self._dtype = dtype
        self._block_size = block_size
        fields = [("input_ids", pa.list_(pa.from_numpy_dtype(dtype), block_size))]
        if with_length:
            fields.append(("length", pa.int32()))
        self._schema = pa.schema(fields)
        self._sink = pa.OSFile(str(path), "wb")
        self._file = pa.ipc.new_stream(self._sink, self._schema)
        self._with_length = with_length
        self._waiting: list[np.ndarray] = []
        self._waiting_tokens = 0
        rows = max(1, _RECORD_BATCH_BYTES // (block_size * dtype.itemsize))
        self._batch_tokens = rows * block_size
        self._digest = hashlib.sha256()
        self.documents = self.tokens = self.text_bytes = self.blocks = 0

    def add(self, row: np.void, slices: Iterable[np.ndarray]) -> None:
        """Append a document."""
        self.documents += 1
        self.text_bytes += int(row["text_bytes"])
        for ids in slices:
            self.append(ids)

    def append(self, ids: np.ndarray) -> None:
        """Append ids to the stream."""
        self._waiting.append(ids)
        self._waiting_tokens += len(ids)
        self.tokens += len(ids)
        if self._waiting_tokens >= self._batch_tokens:
            stream = np.concatenate(self._waiting)
            whole = len(stream) - len(stream) % self._batch_tokens
            for start in range(0, whole, self._batch_tokens):
                self._write(stream[start : start + self._batch_tokens])
            self._waiting = [stream[whole:].copy()]
            self._waiting_tokens = len(stream) - whole

    @property
    def sha256(self) -> str:
        """Hash of the stream so far, padding left out."""
        return self._digest.hexdigest()

    def close(self, end_of_text: int, pad_last: bool) -> int:
        """End the stream with `<|endoftext|>`; the last, partial block is padded with it or lost.

        Returns the number of tokens lost.
        """
        if self.tokens:
            self.append(np.array([end_of_text], dtype=self._dtype))
        rest = np.concatenate([np.array([], dtype=self._dtype), *self._waiting])
        partial = len(rest) % self._block_size
        if partial and pad_last:
            pad = np.full(self._block_size - partial, end_of_text, dtype=self._dtype)
            self._write(np.concatenate([rest, pad]), self._block_size - partial)
            partial = 0
        else:
            self._write(rest[: len(rest) - partial])
            self._digest.update(rest[len(rest) - partial :].tobytes())
        self._file.close()
        self._sink.close()
        return partial

    def _write(self, ids: np.ndarray, padding: int = 0) -> None:
        """Write whole blocks as one record batch."""
        if not len(ids):
            return
        rows = len(ids) // self._block_size
        columns = [pa.FixedSizeListArray.from_arrays(pa.array(ids), self._block_size)]
        if self._with_length:
            lengths = np.full(rows, self._block_size, dtype=np.int32)
            lengths[-1] -= padding
            columns.append(pa.array(lengths))
        self._file.write_batch(pa.record_batch(columns, schema=self._schema))
        self._digest.update(ids[: len(ids) - padding].tobytes())
        self.blocks += rows

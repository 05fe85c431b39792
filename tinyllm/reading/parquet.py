"""Rows of a parquet file as plain records, a batch at a time."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

_MAGIC = b"PAR1"
_BATCH_ROWS = 64


class Damaged(Exception):
    """A parquet file that can't be read, or not to its end."""


def is_parquet(path: str) -> bool:
    """True if a file begins as parquet does."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def rows(
    path: str, size: int, on_read: Callable[[int], None] | None = None
) -> Iterator[tuple[dict[str, Any], int]]:
    """Each row as a record, and its length as JSON in bytes. Raises Damaged."""
    import pyarrow  # noqa: PLC0415  (0.1 s to import, and most corpora hold no parquet)
    import pyarrow.parquet  # noqa: PLC0415

    done = told = 0
    try:
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False, memory_map=False) as table:
            total = max(1, table.metadata.num_rows)
            for batch in table.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
                for value in batch.to_pylist():
                    yield value, len(orjson.dumps(value, default=str, option=_OPTIONS))
                done += batch.num_rows
                if on_read:
                    on_read(size * done // total - told)
                    told = size * done // total
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Damaged(f"damaged parquet ({type(error).__name__})") from error


_OPTIONS = orjson.OPT_NON_STR_KEYS

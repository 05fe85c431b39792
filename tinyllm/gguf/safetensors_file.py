"""Reads tensors from a safetensors file one at a time, bf16 included, without torch.

The safetensors package gives numpy no bf16. The format is a length, a JSON header and raw bytes:
https://github.com/huggingface/safetensors#format
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tinyllm.errors import UserError

Float32Array = npt.NDArray[np.float32]

# safetensors dtype -> how its bytes are read
_DTYPES: dict[str, str] = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a tensor lies: dtype as safetensors names it, shape, byte range in the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class SafetensorsFile:
    """The tensors of one file by name; a tensor's bytes are read when it is asked for.

    Raises UserError if the file is missing, cut off or not safetensors.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.entries = _read_header(path)
        except OSError as error:
            raise UserError(
                f"{path} can't be read ({error.strerror or error}): give a folder with a model"
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{path} is cut off or not a safetensors file ({error}): export another checkpoint"
            ) from error

    def tensor(self, name: str) -> Float32Array:
        """The tensor `name` in fp32, a copy of its own.

        Raises UserError if it is stored in another dtype than F32, F16 or BF16.
        """
        entry = self.entries[name]
        if entry.dtype not in _DTYPES:
            raise UserError(
                f"{name} in {self.path} is stored as {entry.dtype}: "
                f"save the model in one of {', '.join(_DTYPES)}"
            )
        with self.path.open("rb") as file:
            file.seek(entry.start)
            stored = np.frombuffer(file.read(entry.end - entry.start), _DTYPES[entry.dtype])
        if entry.dtype == "BF16":
            # bf16 is the upper half of fp32.
            values = (stored.astype(np.uint32) << 16).view(np.float32)
        else:
            values = stored.astype(np.float32)
        return values.reshape(entry.shape)


def _read_header(path: Path) -> dict[str, Entry]:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if not 0 < length <= size - _LENGTH_BYTES:
            raise ValueError(f"a header of {length} bytes in a file of {size}")
        header: dict[str, Any] = json.loads(file.read(length))
    header.pop("__metadata__", None)
    origin = _LENGTH_BYTES + length
    entries = {}
    for name, record in header.items():
        start, end = record["data_offsets"]
        entry = Entry(record["dtype"], tuple(record["shape"]), origin + start, origin + end)
        width = np.dtype(_DTYPES[entry.dtype]).itemsize if entry.dtype in _DTYPES else None
        if (width is not None and end - start != math.prod(entry.shape) * width) or start < 0:
            raise ValueError(f"{name} of shape {list(entry.shape)} at bytes {start} to {end}")
        entries[name] = entry
    expected = max((entry.end for entry in entries.values()), default=origin)
    if expected != size:
        raise ValueError(f"{size} bytes where the header asks for {expected}")
    return entries

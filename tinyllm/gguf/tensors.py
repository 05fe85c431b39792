"""Tensor names, shapes and types of a Qwen3 model in GGUF.

Names: https://github.com/ggml-org/llama.cpp/blob/master/gguf-py/gguf/tensor_mapping.py (Qwen3).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import gguf
import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType as GgmlType

from tinyllm.errors import UserError
from tinyllm.gguf.safetensors_file import Entry, Float32Array

# Name in safetensors, name in GGUF, dimensions (see `Sizes`).
_NameRow = tuple[str, str, tuple[str, ...]]

INPUT_TENSORS: tuple[_NameRow, ...] = (
    ("model.embed_tokens.weight", "token_embd.weight", ("vocab", "hidden")),
)
# `{}` is the layer.
LAYER_TENSORS: tuple[_NameRow, ...] = (
    ("model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", ("hidden",)),
    ("model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight", ("query", "hidden")),
    ("model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight", ("key", "hidden")),
    ("model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight", ("key", "hidden")),
    ("model.layers.{}.self_attn.q_norm.weight", "blk.{}.attn_q_norm.weight", ("head",)),
    ("model.layers.{}.self_attn.k_norm.weight", "blk.{}.attn_k_norm.weight", ("head",)),
    ("model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight", ("hidden", "query")),
    ("model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight", ("hidden",)),
    ("model.layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight", ("ffn", "hidden")),
    ("model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight", ("ffn", "hidden")),
    ("model.layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight", ("hidden", "ffn")),
)
OUTPUT_TENSORS: tuple[_NameRow, ...] = (("model.norm.weight", "output_norm.weight", ("hidden",)),)
# Only in a model whose output is not tied to the embedding.
UNTIED_TENSORS: tuple[_NameRow, ...] = (("lm_head.weight", "output.weight", ("vocab", "hidden")),)
TIED_INPUT = INPUT_TENSORS[0][0]
UNTIED_OUTPUT = UNTIED_TENSORS[0][0]

# --type -> type of the matrices, `general.file_type`
FILE_TYPES: dict[str, tuple[GgmlType, gguf.LlamaFileType]] = {
    "f32": (GgmlType.F32, gguf.LlamaFileType.ALL_F32),
    "f16": (GgmlType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "bf16": (GgmlType.BF16, gguf.LlamaFileType.MOSTLY_BF16),
    "q8_0": (GgmlType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
}
# The largest magnitude a type holds; q8_0 keeps a block's largest value / 127 as f16.
_F16_MAX = float(np.finfo(np.float16).max)
_LARGEST = {GgmlType.F16: _F16_MAX, GgmlType.Q8_0: 127 * _F16_MAX}


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """One tensor to write: its name in safetensors and in GGUF, its shape and GGUF type."""

    source: str
    name: str
    shape: tuple[int, ...]
    ggml_type: GgmlType

    @property
    def parameters(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor in the GGUF file, without padding."""
        values_in_block, bytes_of_block = gguf.GGML_QUANT_SIZES[self.ggml_type]
        return self.parameters // values_in_block * bytes_of_block

    def falls_back(self, matrix_type: GgmlType) -> bool:
        """True for a matrix that is not of the type asked for."""
        return len(self.shape) > 1 and self.ggml_type != matrix_type


def plan_tensors(
    entries: Mapping[str, Entry],
    *,
    layers: int,
    tied: bool,
    sizes: Mapping[str, int],
    matrix_type: GgmlType,
) -> list[TensorPlan]:
    """Match every stored tensor with a row of the tables.

    entries      what the safetensors file holds
    layers       transformer blocks
    tied         the output is the embedding, so no `output.weight` is written
    sizes        dimension name -> length: vocab, hidden, ffn, query, key, head
    matrix_type  type for matrices; vectors stay f32, rows that don't fill q8_0 blocks are f16

    Raises UserError naming tensors that are missing, that no row matches, or of a wrong shape.
    """
    rows = list(_rows(layers, tied))
    expected = {source for source, _, _ in rows}
    missing = [source for source, _, _ in rows if source not in entries]
    extra = sorted(set(entries) - expected - ({UNTIED_OUTPUT} if tied else set()))
    faults = []
    if missing:
        faults.append(f"lacks {len(missing)} tensor(s): {few(missing)}")
    if extra:
        faults.append(f"holds {len(extra)} tensor(s) a Qwen3 has no place for: {few(extra)}")
    for source, _, dimensions in rows:
        shape = tuple(sizes[dimension] for dimension in dimensions)
        if source in entries and entries[source].shape != shape:
            found = list(entries[source].shape)
            faults.append(f"{source} is {found} where config.json means {list(shape)}")
    if faults:
        raise UserError(f"the model {'; and it '.join(faults[:3])}; export another checkpoint")
    return [
        TensorPlan(source, name, entries[source].shape, choose_type(entries[source], matrix_type))
        for source, name, _ in rows
    ]


def choose_type(entry: Entry, matrix_type: GgmlType) -> GgmlType:
    """f32 for vectors; the type asked for where rows fill its blocks; otherwise f16."""
    if len(entry.shape) < 2:
        return GgmlType.F32
    values_in_block, _ = gguf.GGML_QUANT_SIZES[matrix_type]
    return matrix_type if entry.shape[-1] % values_in_block == 0 else GgmlType.F16


def encode(
    values: Float32Array, name: str, ggml_type: GgmlType
) -> npt.NDArray[np.float32] | npt.NDArray[np.float16] | npt.NDArray[np.uint8]:
    """The tensor's values as its GGUF type stores them.

    Raises UserError naming the tensor if a value is NaN, infinite or beyond the type's range.
    """
    if not np.isfinite(values).all():
        bad = int(np.count_nonzero(~np.isfinite(values)))
        raise UserError(
            f"{name} holds {bad} value(s) that are NaN or infinite, so the model is broken: "
            "export an earlier checkpoint"
        )
    largest = float(np.abs(values).max(initial=0.0))
    if largest > _LARGEST.get(ggml_type, float("inf")):
        raise UserError(
            f"{name} holds {largest:.6g}, beyond what {ggml_type.name.lower()} can store: "
            "give --type bf16 or f32"
        )
    if ggml_type == GgmlType.F32:
        return values
    if ggml_type == GgmlType.F16:
        return values.astype(np.float16)
    blocks: npt.NDArray[np.uint8] = gguf.quants.quantize(values, ggml_type)
    return blocks


def _rows(layers: int, tied: bool) -> Iterator[_NameRow]:
    yield from INPUT_TENSORS
    for layer in range(layers):
        for source, name, dimensions in LAYER_TENSORS:
            yield source.format(layer), name.format(layer), dimensions
    yield from OUTPUT_TENSORS
    if not tied:
        yield from UNTIED_TENSORS


def few(names: Sequence[str], limit: int = 4) -> str:
    """The first names, and how many more there are."""
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + rest

"""A trained model's folder -> one GGUF file that llama.cpp, KoboldCpp and Ollama run.

Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

from tinyllm.errors import UserError
from tinyllm.gguf.safetensors_file import SafetensorsFile
from tinyllm.gguf.settings import ARCHITECTURE, Qwen3Settings, read_settings
from tinyllm.gguf.tensors import (
    FILE_TYPES,
    TIED_INPUT,
    UNTIED_OUTPUT,
    TensorPlan,
    encode,
    plan_tensors,
)
from tinyllm.gguf.tokens import GgufTokens, read_tokens

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
_QUANTIZATION_VERSION = 2


@dataclass(frozen=True, slots=True)
class SourceModel:
    """A model on disk, read as far as its names and shapes: settings, tokens, weights."""

    settings: Qwen3Settings
    tokens: GgufTokens
    weights: SafetensorsFile


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: bytes of the file, and tensors that fell back to f16 by GGUF name."""

    nbytes: int
    parameters: int
    fallbacks: tuple[str, ...]


def read_model(folder: Path) -> SourceModel:
    """The model of a folder with config.json, model.safetensors and a tokenizer's files.

    Raises UserError for whatever is missing, damaged, or can't be said in GGUF.
    """
    settings = read_settings(folder / CONFIG_FILE)
    tokens = read_tokens(folder)
    if len(tokens.tokens) != settings.vocab_size:
        raise UserError(
            f"{folder} has {len(tokens.tokens)} tokens and an embedding of {settings.vocab_size} "
            "rows: copy the tokenizer the model was trained with there"
        )
    return SourceModel(settings, tokens, SafetensorsFile(folder / WEIGHTS_FILE))


def write_gguf(model: SourceModel, out: Path, file_type: str, name: str) -> Exported:
    """Write `out`, whole or not at all, one tensor in memory at a time.

    file_type  a key of FILE_TYPES: type of the matrices
    name       `general.name`

    Raises UserError for weights that are missing, unexpected, NaN or out of the type's range,
    OSError if `out` can't be written.
    """
    matrix_type, ftype = FILE_TYPES[file_type]
    plan = plan_tensors(
        model.weights.entries,
        layers=model.settings.block_count,
        tied=model.settings.tied,
        sizes=model.settings.sizes(),
        matrix_type=matrix_type,
    )
    _refuse_unlike_output(model)
    parameters = sum(tensor.parameters for tensor in plan)
    with replacing(out) as temporary:
        writer = gguf.GGUFWriter(temporary, ARCHITECTURE)
        try:
            _add_settings(writer, model.settings, name, parameters, ftype)
            _add_tokens(writer, model)
            _write(writer, plan, model.weights)
        finally:
            writer.close()
    fallbacks = tuple(tensor.name for tensor in plan if tensor.falls_back(matrix_type))
    return Exported(out.stat().st_size, parameters, fallbacks)


def _refuse_unlike_output(model: SourceModel) -> None:
    """A tied model may store its output a second time, but then it must be the embedding."""
    if not model.settings.tied or UNTIED_OUTPUT not in model.weights.entries:
        return
    output = model.weights.tensor(UNTIED_OUTPUT)
    embedding = model.weights.tensor(TIED_INPUT)
    if output.shape != embedding.shape or output.tobytes() != embedding.tobytes():
        raise UserError(
            f"{model.weights.path} holds an {UNTIED_OUTPUT} unlike the embedding, and config.json "
            "says tie_word_embeddings: set it to false if the output was trained apart"
        )


def _add_settings(
    writer: gguf.GGUFWriter,
    settings: Qwen3Settings,
    name: str,
    parameters: int,
    ftype: gguf.LlamaFileType,
) -> None:
    writer.add_type("model")
    writer.add_name(name)
    writer.add_size_label(size_label(parameters))
    writer.add_file_type(int(ftype))
    writer.add_quantization_version(_QUANTIZATION_VERSION)
    writer.add_block_count(settings.block_count)
    writer.add_context_length(settings.context_length)
    writer.add_embedding_length(settings.embedding_length)
    writer.add_feed_forward_length(settings.feed_forward_length)
    writer.add_head_count(settings.head_count)
    writer.add_head_count_kv(settings.head_count_kv)
    writer.add_key_length(settings.head_length)
    writer.add_value_length(settings.head_length)
    writer.add_layer_norm_rms_eps(settings.rms_epsilon)
    writer.add_rope_freq_base(settings.rope_freq_base)
    writer.add_vocab_size(settings.vocab_size)


def _add_tokens(writer: gguf.GGUFWriter, model: SourceModel) -> None:
    tokens = model.tokens
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(tokens.pre)
    writer.add_token_list(tokens.tokens)
    writer.add_token_types(tokens.types)
    writer.add_token_merges(tokens.merges)
    writer.add_bos_token_id(model.settings.bos)
    writer.add_eos_token_id(model.settings.eos)
    writer.add_eot_token_id(tokens.end_of_turn)
    writer.add_pad_token_id(model.settings.pad)
    writer.add_add_bos_token(True)
    if tokens.chat_template is not None:
        writer.add_chat_template(tokens.chat_template)


def _write(writer: gguf.GGUFWriter, plan: list[TensorPlan], weights: SafetensorsFile) -> None:
    for tensor in plan:
        dtype = np.dtype(np.float32)  # not looked at: raw_dtype says the type
        writer.add_tensor_info(tensor.name, tensor.shape, dtype, tensor.nbytes, tensor.ggml_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in plan:
        values = weights.tensor(tensor.source)
        writer.write_tensor_data(encode(values, tensor.source, tensor.ggml_type))


def size_label(parameters: int) -> str:
    """A count for people, as general.size_label has it: `7.95M`, `107M`, `1.2B`."""
    for unit, divisor in (("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if parameters >= divisor:
            return f"{parameters / divisor:.3g}{unit}"
    return str(parameters)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside `target` that takes its place, flushed to disk, if nothing raises."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)

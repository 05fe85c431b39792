"""Small models on disk for the export tests, written without torch."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

import export_gguf
from tinyllm.tokenization import save_tokenizer, train_tokenizer

TEXTS = (
    "The agent reads a file, runs the tests, and writes what it found.\n" * 3,
    "user: why does the build fail? assistant: the linker can't find libfoo, install it.\n" * 3,
    "Der Käfer schläft nachts; 2 cats, 31 dogs, 4096 bytes.\n\n\tdef f(x): return x + 1\n" * 3,
)
VOCAB_SIZE = 320
LAYERS, HIDDEN, FFN, HEADS, KV_HEADS, HEAD_DIM = 2, 64, 96, 4, 2, 32


def tiny_config(vocab_size: int, **changed: Any) -> dict[str, Any]:
    """A config.json as transformers 5 writes it."""
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "attention_bias": False,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 0,
        "head_dim": HEAD_DIM,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": FFN,
        "max_position_embeddings": 128,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": KV_HEADS,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_theta": 12345.0, "rope_type": "default"},
        "tie_word_embeddings": True,
        "use_sliding_window": False,
        "vocab_size": vocab_size,
    }
    return {**config, **changed}


def tiny_weights(config: dict[str, Any], seed: int = 0) -> dict[str, np.ndarray]:
    """Random fp32 weights of the config's shapes, under transformers' names."""
    random = np.random.default_rng(seed)
    hidden, ffn = config["hidden_size"], config["intermediate_size"]
    query = config["num_attention_heads"] * config["head_dim"]
    key = config["num_key_value_heads"] * config["head_dim"]
    layer = {
        "input_layernorm": (hidden,),
        "self_attn.q_proj": (query, hidden),
        "self_attn.k_proj": (key, hidden),
        "self_attn.v_proj": (key, hidden),
        "self_attn.q_norm": (config["head_dim"],),
        "self_attn.k_norm": (config["head_dim"],),
        "self_attn.o_proj": (hidden, query),
        "post_attention_layernorm": (hidden,),
        "mlp.gate_proj": (ffn, hidden),
        "mlp.up_proj": (ffn, hidden),
        "mlp.down_proj": (hidden, ffn),
    }
    shapes = {
        "model.embed_tokens.weight": (config["vocab_size"], hidden),
        **{
            f"model.layers.{i}.{name}.weight": shape
            for i in range(config["num_hidden_layers"])
            for name, shape in layer.items()
        },
        "model.norm.weight": (hidden,),
    }
    return {
        name: (random.normal(1.0, 0.3, shape) if len(shape) == 1 else random.normal(0, 0.2, shape))
        .astype(np.float32)
        for name, shape in shapes.items()
    }  # fmt: skip


@cache
def _tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS, VOCAB_SIZE)


def write_model(folder: Path, **config_changes: Any) -> Path:
    """A whole model folder with random weights."""
    save_tokenizer(_tokenizer(), folder)
    config = tiny_config(_tokenizer().get_vocab_size(), **config_changes)
    (folder / "config.json").write_text(json.dumps(config))
    save_file(tiny_weights(config), folder / "model.safetensors")
    return folder


def edit_json(path: Path, **changes: Any) -> None:
    """Replace keys of a JSON file; a key set to None is removed."""
    content = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))


def export(model: Path, *arguments: str) -> gguf.GGUFReader:
    """Export and open what was written."""
    out = model / "out.gguf"
    assert export_gguf.main([str(model), "--out", str(out), *arguments]) == 0
    return gguf.GGUFReader(out)


def refusal(capsys: pytest.CaptureFixture[str], model: Path, *arguments: str) -> str:
    """The one sentence with which an export ends in exit code 2, leaving no file behind."""
    before = set(model.parent.rglob("*"))
    assert export_gguf.main([str(model), *arguments]) == 2
    assert set(model.parent.rglob("*")) == before
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    return message


def weights_of(model: Path) -> dict[str, np.ndarray]:
    return load_file(model / "model.safetensors")


def tensor(reader: gguf.GGUFReader, name: str) -> gguf.ReaderTensor:
    return next(tensor for tensor in reader.tensors if tensor.name == name)

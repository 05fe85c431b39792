"""What config.json says of a Qwen3 model, checked for what GGUF can say."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinyllm.errors import UserError

ARCHITECTURE = "qwen3"
# GGUF keeps counts in 32 bits and floats as f32.
_MOST = 2**31 - 1
_F32_MAX = 3.4028234e38
_MOST_LAYERS = 4096


@dataclass(frozen=True, slots=True)
class Qwen3Settings:
    """What config.json says of a model, under the names of its GGUF keys where they have one."""

    block_count: int
    context_length: int
    embedding_length: int
    feed_forward_length: int
    head_count: int
    head_count_kv: int
    head_length: int
    rms_epsilon: float
    rope_freq_base: float
    vocab_size: int
    tied: bool
    bos: int
    eos: int
    pad: int

    def sizes(self) -> dict[str, int]:
        """Dimension name -> length, as `tensors` names them."""
        return {
            "vocab": self.vocab_size,
            "hidden": self.embedding_length,
            "ffn": self.feed_forward_length,
            "query": self.head_count * self.head_length,
            "key": self.head_count_kv * self.head_length,
            "head": self.head_length,
        }


def read_settings(path: Path) -> Qwen3Settings:
    """The settings in a config.json of transformers 4 or 5.

    Raises UserError naming a setting that is missing, out of range, or can't be said in GGUF.
    """
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} can't be read ({error}): give a folder with a model") from error
    if not isinstance(config, dict):
        raise UserError(f"{path} holds no JSON object: give a folder with a model")
    rope = config.get("rope_parameters")
    if not isinstance(rope, dict):
        rope = config
    try:
        _refuse_unsupported(config, rope)
        vocab_size = _count(config, "vocab_size")
        return Qwen3Settings(
            block_count=_count(config, "num_hidden_layers", most=_MOST_LAYERS),
            context_length=_count(config, "max_position_embeddings"),
            embedding_length=_count(config, "hidden_size"),
            feed_forward_length=_count(config, "intermediate_size"),
            head_count=_count(config, "num_attention_heads"),
            head_count_kv=_count(config, "num_key_value_heads"),
            head_length=_count(config, "head_dim"),
            rms_epsilon=_positive(config, "rms_norm_eps"),
            rope_freq_base=_positive(rope, "rope_theta"),
            vocab_size=vocab_size,
            tied=bool(config["tie_word_embeddings"]),
            bos=_count(config, "bos_token_id", least=0, most=vocab_size - 1),
            eos=_count(config, "eos_token_id", least=0, most=vocab_size - 1),
            pad=_count(config, "pad_token_id", least=0, most=vocab_size - 1),
        )
    except KeyError as error:
        raise UserError(
            f"{path} has no {error.args[0]}: add it, or export another checkpoint"
        ) from error
    except ValueError as error:
        raise UserError(f"{path} says {error}: correct it, or export another checkpoint") from error


def _count(config: dict[str, Any], key: str, least: int = 1, most: int = _MOST) -> int:
    value = config[key]
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{key} is {value!r}, not a whole number from {least} to {most}")
    return value


def _positive(config: dict[str, Any], key: str) -> float:
    value = config[key]
    if type(value) not in (int, float) or not 0 < value <= _F32_MAX:
        raise ValueError(f"{key} is {value!r}, not a number above 0")
    return float(value)


def _refuse_unsupported(config: dict[str, Any], rope: dict[str, Any]) -> None:
    """Raise ValueError for a setting that llama.cpp's qwen3 graph would ignore."""
    required = {
        "model_type": (config["model_type"], ARCHITECTURE),
        "hidden_act": (config.get("hidden_act", "silu"), "silu"),
        "use_sliding_window": (config.get("use_sliding_window", False), False),
        "rope_scaling": (config.get("rope_scaling"), None),
        "rope_type": (rope.get("rope_type", "default"), "default"),
    }
    for name, (value, supported) in required.items():
        if value != supported:
            raise ValueError(f"{name} is {value!r} where this export knows only {supported!r}")

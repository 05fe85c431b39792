"""Model sizes, the model itself, and the precision a machine computes natively.

The architecture is Qwen3 (dense, tied embeddings, QK-norm), which transformers, llama.cpp,
KoboldCpp and Ollama all run.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from transformers import Qwen3Config, Qwen3ForCausalLM

from tinyllm.errors import UserError

BLOCK_SIZE = 256
HEAD_DIM = 128
ROPE_THETA = 10_000.0
RMS_NORM_EPS = 1e-6
INIT_STD = 0.02
END_OF_TEXT_ID = 0

# The last weight of each branch that is added to the residual stream.
_RESIDUAL_PROJECTIONS = ("self_attn.o_proj.weight", "mlp.down_proj.weight")


@dataclass(frozen=True, slots=True)
class Preset:
    """Shape of one model size; attention heads are `HEAD_DIM` wide whatever the hidden size."""

    hidden_size: int
    ffn_size: int
    layers: int
    heads: int
    kv_heads: int


PRESETS: dict[str, Preset] = {
    "nano": Preset(hidden_size=256, ffn_size=768, layers=6, heads=4, kv_heads=2),
    "mini": Preset(hidden_size=384, ffn_size=1152, layers=8, heads=6, kv_heads=2),
    "micro": Preset(hidden_size=512, ffn_size=1536, layers=12, heads=8, kv_heads=2),
    "large": Preset(hidden_size=640, ffn_size=1920, layers=14, heads=10, kv_heads=2),
}


def build_model(
    *, vocab_size: int, size: str = "nano", block_size: int = BLOCK_SIZE
) -> Qwen3ForCausalLM:
    """A Qwen3 model with random weights, fp32, on the CPU.

    vocab_size  rows of the (tied) embedding; must equal the tokenizer's token count
    size        a name in PRESETS
    block_size  tokens; written as `max_position_embeddings`

    Draws from torch's global generator: seed it first for the same weights again.
    Raises UserError for an unknown size.
    """
    if size not in PRESETS:
        raise UserError(f"--size {size} is not a preset: choose one of {', '.join(PRESETS)}")
    assert vocab_size > END_OF_TEXT_ID and block_size > 0, (vocab_size, block_size)
    config = _model_config(PRESETS[size], vocab_size, block_size)
    model = Qwen3ForCausalLM(config)
    _initialize(model, config.num_hidden_layers)
    return model


def _model_config(preset: Preset, vocab_size: int, block_size: int) -> Qwen3Config:
    return Qwen3Config(
        vocab_size=vocab_size,
        hidden_size=preset.hidden_size,
        intermediate_size=preset.ffn_size,
        num_hidden_layers=preset.layers,
        num_attention_heads=preset.heads,
        num_key_value_heads=preset.kv_heads,
        head_dim=HEAD_DIM,
        max_position_embeddings=block_size,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
        rms_norm_eps=RMS_NORM_EPS,
        initializer_range=INIT_STD,
        tie_word_embeddings=True,
        attention_bias=False,
        bos_token_id=END_OF_TEXT_ID,
        eos_token_id=END_OF_TEXT_ID,
        pad_token_id=END_OF_TEXT_ID,
    )


@torch.no_grad()
def _initialize(model: Qwen3ForCausalLM, layers: int) -> None:
    """Scale the residual projections by 1/sqrt(2 * layers); let `<|endoftext|>` be learnt.

    The scale keeps the residual stream's variance independent of depth; source: Radford et al.,
    "Language Models are Unsupervised Multitask Learners" (GPT-2, 2019), section 2.3.

    transformers makes the pad token's embedding zero and blocks its gradient. Here pad is also
    bos, the first token of every document, so its row is an ordinary one.
    """
    for name, weight in model.named_parameters():
        if name.endswith(_RESIDUAL_PROJECTIONS):
            weight.mul_(1 / math.sqrt(2 * layers))
    embedding = model.get_input_embeddings()
    assert isinstance(embedding, nn.Embedding)
    embedding.padding_idx = None
    embedding.weight[END_OF_TEXT_ID].normal_(0.0, INIT_STD)


@dataclass(frozen=True, slots=True)
class Precision:
    """What weights are kept in and products are computed in.

    weights   dtype of the parameters; bf16 needs an optimizer with a Kahan sum
    autocast  dtype of `torch.autocast`, None for no autocast; float16 needs a gradient scaler
    name      the value of `--precision` that asks for this
    reason    one sentence for the printed plan
    """

    weights: torch.dtype
    autocast: torch.dtype | None
    name: str
    reason: str


# --precision -> (dtype of the weights, dtype of autocast)
_PRECISIONS: dict[str, tuple[torch.dtype, torch.dtype | None]] = {
    "fp32": (torch.float32, None),
    "bf16": (torch.bfloat16, None),
    "bf16-autocast": (torch.float32, torch.bfloat16),
    "fp16-autocast": (torch.float32, torch.float16),
}


def choose_precision(requested: str, device: str | torch.device) -> Precision:
    """The precision to train in.

    requested  `auto`, or a name that overrides the hardware's: fp32, bf16, bf16-autocast,
               fp16-autocast
    device     the device of the model, e.g. "cpu", "cuda", "mps"

    Raises UserError for an unknown name, and for fp16-autocast without a CUDA device.
    """
    kind = torch.device(device).type
    if requested != "auto" and requested not in _PRECISIONS:
        raise UserError(f"--precision {requested} is unknown: give auto, {', '.join(_PRECISIONS)}")
    if requested == "fp16-autocast" and kind != "cuda":
        raise UserError(
            f"--precision fp16-autocast needs a CUDA device and this one is {kind}: "
            "give --precision auto"
        )
    automatic, why = _native_precision(kind)
    name = automatic if requested == "auto" else requested
    weights, autocast = _PRECISIONS[name]
    reason = why if name == automatic else f"{name} as asked for; auto gives {automatic}: {why}"
    return Precision(weights, autocast, name, reason)


def _native_precision(kind: str) -> tuple[str, str]:
    """The precision the hardware computes natively, and a sentence that says why."""
    if kind == "cuda":
        # torch.cuda.is_bf16_supported() also says yes where bf16 is emulated, as on a T4.
        major, minor = min(
            torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count())
        )
        if (major, minor) >= (8, 0):
            return "bf16", f"CUDA capability {major}.{minor} computes bf16 natively"
        return "fp16-autocast", f"CUDA capability {major}.{minor} computes fp16 but not bf16"
    if kind == "cpu" and cpu_computes_bf16():
        return "bf16", "this CPU computes bf16 natively (AVX512-BF16 or AMX)"
    if kind == "cpu":
        return "fp32", "this CPU has neither AVX512-BF16 nor AMX, so bf16 would be emulated"
    return "fp32", f"fp32 is the safe choice on {kind}"


def cpu_computes_bf16() -> bool:
    """True where the CPU has bf16 products: AVX512-BF16 or AMX-BF16.

    Asks torch's helpers, which come and go between its versions, then Linux's /proc/cpuinfo.
    """
    helpers: list[Callable[[], bool]] = [
        helper
        for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
        if callable(helper := getattr(torch.cpu, name, None))
    ]
    if any(helper() for helper in helpers):
        return True
    return bool({"avx512_bf16", "amx_bf16"} & _cpuinfo_flags())


def _cpuinfo_flags(path: Path = Path("/proc/cpuinfo")) -> set[str]:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return set()
    return next((set(line.split()) for line in lines if line.startswith("flags")), set())

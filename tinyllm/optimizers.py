"""Optimizers that are right for the precision the weights are kept in.

With bf16 weights a step of plain AdamW is mostly rounded away: near 1.0 neighbouring bf16 numbers
lie 0.0078 apart, so RMSNorm weights never move at a usual learning rate. bf16 weights are
therefore only updated with a Kahan sum, which carries the rounded-off part to the next step.
"""

import platform
from typing import Any

import torch
from torch import nn

from tinyllm.errors import UserError

BETAS = (0.9, 0.95)
EPSILON = 1e-8
WEIGHT_DECAY = 0.1

# Best of a sweep on nano (256 wide) at equal tokens, AdamW.
_TUNED_LR = 2e-3
_TUNED_WIDTH = 256


def default_learning_rate(hidden_size: int) -> float:
    """Peak rate for AdamW: the value tuned on nano, scaled by 1/width.

    Source of the scaling: Yang et al., "Tensor Programs V" (2022), for Adam on hidden matrices.
    """
    return _TUNED_LR * _TUNED_WIDTH / hidden_size


def optimizer_name(weights: torch.dtype, eight_bit: bool) -> str:
    """The optimizer `build_optimizer` makes for these weights, as run.json records it."""
    if eight_bit:
        return "adamw-8bit"
    return "adamw-kahan" if weights == torch.bfloat16 else "adamw"


def build_optimizer(
    model: nn.Module, learning_rate: float, eight_bit: bool
) -> torch.optim.Optimizer:
    """AdamW for the model's parameters: decay 0.1 on matrices only, betas 0.9 and 0.95.

    bf16 weights get a Kahan sum; `eight_bit` keeps the moments in 8 bits and needs fp32 weights.
    """
    groups = _decay_groups(model)
    dtype = next(model.parameters()).dtype
    name = optimizer_name(dtype, eight_bit)
    if name == "adamw-kahan":
        from optimi import AdamW  # noqa: PLC0415 - only bf16 runs need it

        return AdamW(groups, lr=learning_rate, betas=BETAS, eps=EPSILON, kahan_sum=True)  # type: ignore[no-any-return]
    assert dtype == torch.float32, f"no optimizer keeps what {dtype} rounds away"
    if name == "adamw-8bit":
        return _adamw_8bit(model, groups, learning_rate)
    return torch.optim.AdamW(groups, lr=learning_rate, betas=BETAS, eps=EPSILON, fused=True)


def _decay_groups(model: nn.Module) -> list[dict[str, Any]]:
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": WEIGHT_DECAY},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]


def _adamw_8bit(
    model: nn.Module, groups: list[dict[str, Any]], learning_rate: float
) -> torch.optim.Optimizer:
    """bitsandbytes' AdamW with 8-bit moments; the embedding's stay at 32 bits.

    Quantised moments of an embedding are unstable in pretraining (Dettmers et al. 2022, 2.3).
    """
    bnb = import_bitsandbytes()
    manager = bnb.optim.GlobalOptimManager.get_instance()
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            manager.register_module_override(module, "weight", {"optim_bits": 32})
    optimizer: torch.optim.Optimizer = bnb.optim.AdamW8bit(
        groups, lr=learning_rate, betas=BETAS, eps=EPSILON
    )
    return optimizer


def import_bitsandbytes() -> Any:
    """The bitsandbytes module, where it is installed and this chip can load it.

    Its import ends the process with SIGILL on an x86 CPU without AVX, so that is asked first.
    """
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT" and _is_x86():
        raise UserError("--8bit-adam needs a CPU with AVX2, which this one lacks: leave it out")
    try:
        import bitsandbytes  # noqa: PLC0415 - imported only when asked for
    except ImportError as error:
        raise UserError(
            "--8bit-adam needs bitsandbytes, which is not installed: run `pip install bitsandbytes`"
        ) from error
    return bitsandbytes


def _is_x86() -> bool:
    return platform.machine().lower() in {"x86_64", "amd64", "i686"}

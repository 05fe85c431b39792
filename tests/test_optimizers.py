import copy

import pytest
import torch
from torch import nn

from tinyllm.errors import UserError
from tinyllm.optimizers import (
    build_optimizer,
    default_learning_rate,
    import_bitsandbytes,
    optimizer_name,
)


class Block(nn.Module):
    """An embedding, a matrix and a norm: one parameter of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.linear = nn.Linear(8, 8, bias=False)
        self.norm = nn.RMSNorm(8)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.norm(self.linear(self.embed(ids))).square().mean()


def block(dtype: torch.dtype) -> Block:
    torch.manual_seed(0)
    return Block().to(dtype)


def run_steps(model: Block, optimizer: torch.optim.Optimizer, steps: int) -> None:
    ids = torch.arange(16)
    for _ in range(steps):
        model(ids).backward()
        optimizer.step()
        optimizer.zero_grad()


def test_norm_weights_move_in_bf16():
    model = block(torch.bfloat16)
    run_steps(model, build_optimizer(model, 3e-4, eight_bit=False), 100)
    assert (model.norm.weight != 1.0).all()


def test_plain_adamw_would_not_have_moved_them():
    model = block(torch.bfloat16)
    run_steps(model, torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0), 100)
    assert (model.norm.weight == 1.0).all()


def test_bf16_weights_with_a_kahan_sum_stay_near_the_fp32_ones():
    exact, rounded = block(torch.float32), block(torch.bfloat16)
    run_steps(exact, build_optimizer(exact, 1e-3, eight_bit=False), 50)
    run_steps(rounded, build_optimizer(rounded, 1e-3, eight_bit=False), 50)
    torch.testing.assert_close(rounded.norm.weight.float(), exact.norm.weight, atol=0.01, rtol=0.01)


def test_only_matrices_decay():
    groups = build_optimizer(block(torch.float32), 1e-3, eight_bit=False).param_groups
    assert {group["weight_decay"]: sorted(p.ndim for p in group["params"]) for group in groups} == {
        0.1: [2, 2],
        0.0: [1],
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_restored_optimizer_continues_bit_for_bit(dtype: torch.dtype):
    straight = block(dtype)
    optimizer = build_optimizer(straight, 1e-3, eight_bit=False)
    run_steps(straight, optimizer, 5)
    resumed = copy.deepcopy(straight)
    restored = build_optimizer(resumed, 1e-3, eight_bit=False)
    restored.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    run_steps(straight, optimizer, 5)
    run_steps(resumed, restored, 5)
    for a, b in zip(straight.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


def test_eight_bit_moments_leave_the_embedding_at_32_bits():
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(512, 64), nn.Linear(64, 512, bias=False))
    optimizer = build_optimizer(model, 1e-3, eight_bit=True)
    model(torch.arange(32)).square().mean().backward()
    optimizer.step()
    kinds = [optimizer.state[p]["state1"].dtype for p in model.parameters()]
    assert kinds == [torch.float32, torch.uint8]


def test_a_chip_without_avx_never_imports_bitsandbytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    monkeypatch.setattr("tinyllm.optimizers._is_x86", lambda: True)
    with pytest.raises(UserError, match="AVX2"):
        import_bitsandbytes()


def test_the_name_tells_a_compensated_optimizer_from_a_plain_one():
    assert optimizer_name(torch.bfloat16, eight_bit=False) == "adamw-kahan"
    assert optimizer_name(torch.float32, eight_bit=False) == "adamw"
    assert optimizer_name(torch.float32, eight_bit=True) == "adamw-8bit"


def test_the_default_rate_falls_with_width():
    assert default_learning_rate(256) == 2e-3
    assert default_learning_rate(512) == 1e-3

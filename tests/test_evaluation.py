import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch import nn

from tinyllm import evaluation
from tinyllm.evaluation import heldout_loss

VOCAB = 8


class Uniform(nn.Module):
    """Gives every token the same probability."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, input_ids: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=torch.zeros(*input_ids.shape, VOCAB))


def blocks(rows: list[list[int]], lengths: list[int]) -> Dataset:
    return Dataset.from_dict({"input_ids": rows, "length": lengths}).with_format("numpy")


def test_a_uniform_guess_costs_the_log_of_the_vocabulary():
    score = heldout_loss(Uniform(), blocks([[1, 2, 3, 4]], [4]), np.ones(VOCAB), batch_size=2)
    assert score.nats_per_token == pytest.approx(math.log(VOCAB))
    assert score.tokens == 3


def test_bits_per_byte_divides_by_the_bytes_the_tokens_stand_for():
    score = heldout_loss(Uniform(), blocks([[1, 2, 3, 4]], [4]), np.full(VOCAB, 3), batch_size=2)
    assert score.bits_per_byte == pytest.approx(1.0)


def test_padding_is_not_scored():
    score = heldout_loss(
        Uniform(), blocks([[1, 2, 3, 4], [1, 2, 0, 0]], [4, 2]), np.ones(VOCAB), batch_size=1
    )
    assert score.tokens == 4


def test_special_tokens_stay_out_of_the_bits_per_byte():
    sizes = np.ones(VOCAB)
    sizes[0] = 0
    score = heldout_loss(Uniform(), blocks([[1, 0, 0, 2]], [4]), sizes, batch_size=1)
    assert score.bits_per_byte == pytest.approx(math.log2(VOCAB))
    assert score.tokens == 3


def test_the_batch_size_does_not_change_the_score():
    rows = blocks([[1, 2, 3, 4]] * 5, [4, 4, 4, 4, 2])
    assert heldout_loss(Uniform(), rows, np.ones(VOCAB), 1) == heldout_loss(
        Uniform(), rows, np.ones(VOCAB), 5
    )


def test_a_huge_held_out_part_is_scored_in_part(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(evaluation, "MAX_EVAL_TOKENS", 8)
    score = heldout_loss(Uniform(), blocks([[1, 2, 3, 4]] * 9, [4] * 9), np.ones(VOCAB), 4)
    assert score.tokens == 6


def test_the_model_is_left_in_the_mode_it_was_in():
    model = Uniform().train()
    heldout_loss(model, blocks([[1, 2]], [2]), np.ones(VOCAB), 1)
    assert model.training

"""Held-out loss, in nats a token and in bits a byte of text."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# A held-out part may be gigabytes; this many tokens take seconds to score, on two cores too.
MAX_EVAL_TOKENS = 32_768


@dataclass(frozen=True, slots=True)
class HeldoutLoss:
    """`nats_per_token` over every target; `bits_per_byte` over those that stand for text."""

    nats_per_token: float
    bits_per_byte: float
    tokens: int


@torch.no_grad()
def heldout_loss(
    model: nn.Module, blocks: Any, token_bytes: np.ndarray, batch_size: int
) -> HeldoutLoss:
    """Score the first `MAX_EVAL_TOKENS` of the held-out blocks.

    blocks       dataset with `input_ids` (block_size ids) and `length` (how many of them are real)
    token_bytes  (vocab_size,) bytes of text each token stands for; 0 for special tokens, whose
                 loss therefore stays out of the bits per byte
    """
    device = next(model.parameters()).device
    bytes_of = torch.from_numpy(token_bytes.astype(np.int64)).to(device)
    totals = torch.zeros(4, dtype=torch.float64)
    was_training = model.training
    model.eval()
    count = _blocks_to_score(blocks)
    for start in range(0, count, batch_size):
        batch = blocks[start : min(start + batch_size, count)]
        ids = torch.from_numpy(np.asarray(batch["input_ids"]).astype(np.int64)).to(device)
        lengths = torch.from_numpy(np.asarray(batch["length"]).astype(np.int64)).to(device)
        totals += _score(model, ids, lengths, bytes_of).cpu()
    model.train(was_training)
    nats, tokens, text_nats, text_bytes = totals.tolist()
    return HeldoutLoss(
        nats_per_token=nats / max(tokens, 1.0),
        bits_per_byte=text_nats / math.log(2) / max(text_bytes, 1.0),
        tokens=int(tokens),
    )


def _blocks_to_score(blocks: Any) -> int:
    block_size = len(blocks[0]["input_ids"]) if len(blocks) else 1
    return min(len(blocks), max(1, MAX_EVAL_TOKENS // block_size))


def _score(
    model: nn.Module, ids: torch.Tensor, lengths: torch.Tensor, bytes_of: torch.Tensor
) -> torch.Tensor:
    """Sums over a batch of ids (batch, block): nats, targets, nats of text, bytes of text."""
    logits = model(input_ids=ids).logits[:, :-1].float()
    targets = ids[:, 1:]
    nats = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    real = torch.arange(1, ids.shape[1], device=ids.device)[None, :] < lengths[:, None]
    nats = nats.view_as(targets).double() * real
    sizes = bytes_of[targets] * real
    return torch.stack(
        [nats.sum(), real.sum().double(), (nats * (sizes > 0)).sum(), sizes.sum().double()]
    )

"""A model's own texts: many at once, at temperature 1 or always the likeliest token."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import torch
from transformers import DynamicCache

BATCH = 64


def new_cache(model: Any) -> dict[str, DynamicCache]:
    """An empty cache of keys and values as the argument the model takes.

    transformers 5.15 names it `past_key_values`, later versions `cache`.
    """
    name = "cache" if "cache" in signature(model.forward).parameters else "past_key_values"
    return {name: DynamicCache()}


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model goes on from, and how.

    ids     the beginning
    length  tokens to write
    greedy  take the likeliest token each time instead of drawing one
    about   index of the value whose prefix this is; -1 for none
    """

    ids: list[int] = field(repr=False)
    length: int
    greedy: bool = False
    about: int = -1


@torch.no_grad()
def speak(
    model: Any, prompts: Sequence[Prompt], seed: int, batch: int = BATCH
) -> Iterator[tuple[Prompt, list[int]]]:
    """Each prompt and the ids written after it; prompts of equal needs go together.

    An `<|endoftext|>` doesn't end a text: what follows it is a sample too.
    """
    generator = torch.Generator().manual_seed(seed)
    ordered = sorted(prompts, key=lambda prompt: (len(prompt.ids), prompt.length))
    for at in range(0, len(ordered), batch):
        together = ordered[at : at + batch]
        written = _write(model, together, generator).tolist()
        for prompt, ids in zip(together, written, strict=True):
            yield prompt, ids[: prompt.length]


def _write(model: Any, prompts: Sequence[Prompt], generator: torch.Generator) -> torch.Tensor:
    """(prompts, longest length) ids. Shorter prompts are padded on the left, and masked there."""
    width = max(len(prompt.ids) for prompt in prompts)
    gaps = torch.tensor([width - len(prompt.ids) for prompt in prompts])
    ids = torch.tensor([[0] * (width - len(p.ids)) + p.ids for p in prompts])
    mask = (torch.arange(width)[None, :] >= gaps[:, None]).long()
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    greedy = torch.tensor([prompt.greedy for prompt in prompts])
    cache = new_cache(model)
    columns = []
    for _ in range(max(prompt.length for prompt in prompts)):
        logits = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            **cache,
            logits_to_keep=1,
        ).logits[:, -1]
        sums = logits.double().softmax(-1).cumsum(-1)  # drawing so takes a third of multinomial's
        points = torch.rand(len(prompts), 1, generator=generator, dtype=torch.double)
        drawn = torch.searchsorted(sums, points * sums[:, -1:], right=True)[:, 0]
        ids = torch.where(greedy, logits.argmax(-1), drawn)[:, None]
        columns.append(ids)
        mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
        positions = positions[:, -1:] + 1
    return torch.cat(columns, dim=1)

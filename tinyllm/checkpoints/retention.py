"""Which saves of a run are kept: a pure function of their numbers and losses, no files."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tinyllm.errors import UserError


class Saved(Protocol):
    """A save, wherever it lies: its step, its number on the schedule, its held-out loss."""

    @property
    def step(self) -> int: ...
    @property
    def ordinal(self) -> int | None: ...
    @property
    def loss(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Keep:
    """What of a run's saves is kept.

    recent  the newest N, 1 or more
    every   each save whose ordinal it divides, for good; 0 = none
    best    the one with the lowest held-out loss too

    Raises UserError (a ValueError) for counts that would keep nothing or mean nothing.
    """

    recent: int = 1
    every: int = 0
    best: bool = False

    def __post_init__(self) -> None:
        if self.recent < 1:
            raise UserError(
                f"keep_recent is {self.recent}: give 1 or more, a run needs its newest save"
            )
        if self.every < 0:
            raise UserError(
                f"keep_every is {self.every}: give 1 or more, or 0 to keep none for good"
            )


def ordinal_of(step: int, save_steps: int) -> int | None:
    """The save's number on the schedule, or None for an odd step (a final or a signal save).

    It is recorded with the save: a later change of `save_steps` doesn't renumber older saves.
    """
    return step // save_steps if step % save_steps == 0 else None


def retained(saves: Iterable[Saved], keep: Keep) -> set[int]:
    """Steps to keep, of `saves`: the newest N, every K-th on the schedule, and the best.

    Of equal losses the earliest is the best, so a later save never displaces it without being
    better. Deleting the others changes nothing of the answer.
    """
    everything = list(saves)
    kept = set(sorted({save.step for save in everything})[-keep.recent :])
    if keep.every:
        kept |= {
            save.step
            for save in everything
            if save.ordinal is not None and save.ordinal % keep.every == 0
        }
    if keep.best:
        scored = [(s.loss, s.step) for s in everything if s.loss is not None]
        kept |= {step for _, step in sorted(scored)[:1]}
    return kept

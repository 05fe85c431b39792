"""Which saves of a run are kept: a pure function of step numbers, no files."""

from collections.abc import Iterable

from tinyllm.errors import UserError


def ordinal_of(step: int, save_steps: int) -> int | None:
    """The save's number on the schedule, or None for an odd step (a final or a signal save).

    It is recorded with the save: a later change of `save_steps` doesn't renumber older saves.
    """
    return step // save_steps if step % save_steps == 0 else None


def check_retention(keep_recent: int, keep_every: int) -> None:
    """Raise UserError (a ValueError) for counts that would keep nothing or mean nothing."""
    if keep_recent < 1:
        raise UserError(
            f"keep_recent is {keep_recent}: give 1 or more, a run needs its newest save"
        )
    if keep_every < 0:
        raise UserError(f"keep_every is {keep_every}: give 1 or more, or 0 to keep none for good")


def retained(
    saves: Iterable[tuple[int, int | None]], keep_recent: int, keep_every: int
) -> set[int]:
    """Steps to keep, of `saves` as (step, ordinal): the newest N and every K-th on the schedule.

    keep_recent  newest steps kept, 1 or more, else ValueError
    keep_every   saves whose ordinal it divides are kept for good; 0 = none
    """
    check_retention(keep_recent, keep_every)
    ordinals = list(saves)
    newest = sorted({step for step, _ in ordinals}, reverse=True)[:keep_recent]
    permanent = {
        step
        for step, ordinal in ordinals
        if keep_every and ordinal is not None and ordinal % keep_every == 0
    }
    return permanent | set(newest)

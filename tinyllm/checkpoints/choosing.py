"""Which checkpoint a run goes on from, and which it keeps. Standard library only, no threads.

What a place can do is in `places`, the rule of what is kept in `retention`. `choose`,
`set_aside_earlier` and `set_aside_newer` are for one process, before training starts.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tinyllm.checkpoints.copying import SourceDamagedError
from tinyllm.checkpoints.manifests import Checkpoint
from tinyllm.checkpoints.places import FolderPlace, Held, Place, Survey, delete_all
from tinyllm.checkpoints.publishing import as_name
from tinyllm.checkpoints.retention import Keep, retained
from tinyllm.errors import UserError


@dataclass(frozen=True, slots=True)
class Choice:
    """What `choose` found. Places are paths or addresses, for messages.

    checkpoint  the one to go on from; None: start at step 0
    damaged     (where it lies now, what is wrong) of each that was newer and can't be used
    other_runs  sound ones that belong to other runs and were left alone
    unmarked    named like a checkpoint, without a manifest: never used
    """

    checkpoint: Held | None
    damaged: list[tuple[str, str]] = field(default_factory=list)
    other_runs: list[Held] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)


def choose(out: Place, mirror: Place | None = None, hashes: bool = True) -> Choice:
    """The newest sound checkpoint of both places; at the same step, the local one.

    Only one run can be meant. It is the one run that has checkpoints, or, where each place has
    some, the one run that has them in both. A damaged checkpoint is renamed to
    `damaged-checkpoint-N` (nothing is deleted) and the next older one is looked at. What killed
    processes left behind is cleaned up.

    hashes  read every byte of what is chosen; False compares sizes alone

    Raises UserError if more than one run could be meant, a place can't be read, or a later
    version of this program wrote a checkpoint.
    """
    places = [out] if mirror is None else [out, mirror]
    surveys = [_look(place) for place in places]
    _refuse_later(places, surveys)
    run_id = _one_run(places, surveys)
    damaged = [
        (_put_away(place, name), reason)
        for place, survey in zip(places, surveys, strict=True)
        for name, reason in survey.damaged
    ]
    unmarked = [
        place.path_of(name)
        for place, survey in zip(places, surveys, strict=True)
        for name in survey.unmarked
    ]
    for place in places:
        with contextlib.suppress(OSError):  # a read-only place keeps its leftovers
            place.clean(run_id)
    everything = [held for survey in surveys for held in survey.held]
    others = [held for held in everything if held.run_id != run_id]
    # The sort is stable: of two with the same step, the one of --out stays in front.
    for held in sorted(everything, key=lambda held: -held.step):
        if held.run_id != run_id:
            continue
        reason = _fault(held, hashes)
        if reason is None:
            return Choice(held, damaged, others, unmarked)
        damaged.append((_put_away(held.place, held.name), reason))
    return Choice(None, damaged, others, unmarked)


def _look(place: Place) -> Survey:
    with _readable(place):
        place.recover()
        return place.survey()


def _fault(held: Held, hashes: bool) -> str | None:
    """What is wrong with it; UserError if the place can't be read: that damages nothing."""
    with _readable(held.place):
        reason = held.place.fault(held, hashes)
        if reason is not None:
            held.place.survey()
    return reason


@contextlib.contextmanager
def _readable(place: Place) -> Iterator[None]:
    """Turn an OSError into the UserError that names the place."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{place.where} can't be read ({error.strerror or error}), and a newer checkpoint may "
            "lie there: make it readable, or leave that place out"
        ) from error


def _refuse_later(places: Sequence[Place], surveys: Sequence[Survey]) -> None:
    for place, survey in zip(places, surveys, strict=True):
        if survey.later:
            raise UserError(
                f"{place.path_of(survey.later[-1])} was written by a later version of tinyllm: "
                "resume with that version, or move it away"
            )


def _one_run(places: Sequence[Place], surveys: Sequence[Survey]) -> str | None:
    """The one run that can be meant; None if there are no checkpoints at all."""
    runs = [{held.run_id for held in survey.held} for survey in surveys]
    filled = [ids for ids in runs if ids]
    if not filled:
        return None
    meant = set.intersection(*filled)
    if len(meant) == 1:
        return meant.pop()
    newest = {held.run_id: held for survey in surveys for held in survey.held}
    named = " and ".join(f"{newest[run_id].where} of run {run_id}" for run_id in sorted(newest))
    raise UserError(
        f"can't tell which run to resume, there are {named}: move the checkpoints of the run that "
        f"you don't want out of {' and '.join(place.where for place in places)}"
    )


def _put_away(place: Place, name: str) -> str:
    """Rename a damaged checkpoint, where the place can be written; where it lies now."""
    try:
        return place.set_aside(name, f"damaged-{name}")
    except OSError:
        return place.path_of(name)


def bring_down(held: Held, out: Path) -> Checkpoint:
    """Copy a mirror's checkpoint into `out`, verified, whole or not at all.

    One that lies in `out` already is returned as it is. Raises UserError if the copy fails, as on
    a full disk.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        return held.place.fetch(held, out)
    except (OSError, SourceDamagedError) as error:
        raise UserError(
            f"{held.where} can't be copied to {out} ({error}): "
            "make room there, or give another --out"
        ) from error


def set_aside_earlier(place: Place, run_id: str) -> list[str]:
    """For a fresh start: move checkpoints of other runs to `earlier-<their run id>/`.

    Nothing is deleted but temporary folders that no living process owns. Returns the new places.
    Raises OSError if the place can't be written.
    """
    place.recover()
    others = [held for held in place.survey().held if held.run_id != run_id]
    moved = [_to_earlier(held) for held in others]
    for earlier in {held.run_id for held in others} | {run_id}:
        place.clean(earlier)
    return moved


def set_aside_newer(place: Place, run_id: str, step: int) -> list[str]:
    """For a run that goes on from `step`: move its own later checkpoints to `earlier-<run id>/`.

    They belong to a course the run has left; kept in place they would count as its newest.
    """
    return [_to_earlier(held) for held in place.survey().of_run(run_id) if held.step > step]


def _to_earlier(held: Held) -> str:
    return held.place.set_aside(held.name, f"earlier-{as_name(held.run_id)}/{held.name}")


def prune(folder: Path, run_id: str, keep: Keep) -> list[Held]:
    """Delete what retention doesn't want of this run's checkpoints in `folder`; what was deleted.

    For a run without a mirror. Checkpoints of other runs are neither counted nor touched.
    """
    own = FolderPlace(folder).survey().of_run(run_id)
    wanted = retained(own, keep)
    return delete_all(held for held in own if held.step not in wanted)

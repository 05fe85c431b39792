"""Which checkpoint a run goes on from, and which it keeps. Standard library only, no threads.

The folder's form is in `manifests`, moving and copying in `publishing`, the rule of what is kept
in `retention`, temporary folders in `leftovers`. `choose`, `set_aside_earlier` and
`set_aside_newer` are for one process, before training starts.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tinyllm.checkpoints.copying import SourceDamagedError
from tinyllm.checkpoints.leftovers import (
    clean_temporaries,
    temporaries,
    to_trash,
)
from tinyllm.checkpoints.manifests import (
    Checkpoint,
    NotACheckpointError,
    checkpoint_folders,
    list_checkpoints,
    read_checkpoint,
    step_in_manifest,
    verify,
)
from tinyllm.checkpoints.publishing import (
    as_name,
    copy_checkpoint,
    delete_checkpoint,
    set_aside,
)
from tinyllm.checkpoints.retention import retained
from tinyllm.errors import UserError


@dataclass(frozen=True, slots=True)
class Choice:
    """What `choose` found.

    checkpoint  the one to go on from, in either folder; None: start at step 0
    damaged     (where it lies now, what is wrong) of each that was newer and can't be used
    other_runs  sound ones that belong to other runs and were left alone
    unmarked    folders named like a checkpoint, without a manifest: never used
    """

    checkpoint: Checkpoint | None
    damaged: list[tuple[Path, str]] = field(default_factory=list)
    other_runs: list[Checkpoint] = field(default_factory=list)
    unmarked: list[Path] = field(default_factory=list)


def choose(out: Path, sync_out: Path | None = None, verify_hashes: bool = True) -> Choice:
    """The newest sound checkpoint of both folders; at the same step, the local one.

    Only one run can be meant. It is the one run that has checkpoints, or, where each folder has
    some, the one run that has them in both. A damaged checkpoint is renamed to
    `damaged-checkpoint-N` (nothing is deleted) and the next older one is looked at. What killed
    processes left behind is cleaned up.

    Raises UserError if more than one run could be meant, or a folder can't be read.
    """
    folders = [out] if sync_out is None else [out, sync_out]
    damaged: list[tuple[Path, str]] = []
    unmarked: list[Path] = []
    found: list[list[Checkpoint]] = []
    for folder in folders:
        with _readable(folder):
            recover(folder)
            listed, bad, plain = _survey(folder)
        found.append(listed)
        damaged += [(_put_away(path), reason) for path, reason in bad]
        unmarked += plain
    run_id = _one_run(folders, found)
    for folder in folders:
        with contextlib.suppress(OSError):  # a read-only folder keeps its leftovers
            clean_temporaries(folder, run_id)
    everything = [checkpoint for listed in found for checkpoint in listed]
    own = [checkpoint for checkpoint in everything if checkpoint.run_id == run_id]
    others = [checkpoint for checkpoint in everything if checkpoint.run_id != run_id]
    # The sort is stable: of two with the same step, the one of --out stays in front.
    for checkpoint in sorted(own, key=lambda checkpoint: -checkpoint.step):
        reason = verify(checkpoint, verify_hashes)
        if reason is None:
            return Choice(checkpoint, damaged, others, unmarked)
        with _readable(checkpoint.path.parent):
            list_checkpoints(checkpoint.path.parent)  # a drive that went away damages nothing
        damaged.append((_put_away(checkpoint.path), reason))
    return Choice(None, damaged, others, unmarked)


@contextlib.contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Turn an OSError into the UserError that names the folder."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{folder} can't be read ({error.strerror or error}), and a newer checkpoint may lie "
            "there: make it readable, or leave that folder out"
        ) from error


def _survey(folder: Path) -> tuple[list[Checkpoint], list[tuple[Path, str]], list[Path]]:
    """Checkpoints, (path, reason) of those with a damaged manifest, and folders without one."""
    sound, damaged, unmarked = [], [], []
    for path in checkpoint_folders(folder):
        try:
            checkpoint = read_checkpoint(path)
        except (NotACheckpointError, OSError) as error:
            damaged.append((path, str(error)))
            continue
        if checkpoint is None:
            unmarked.append(path)
        else:
            sound.append(checkpoint)
    return sound, damaged, unmarked


def _one_run(folders: list[Path], found: list[list[Checkpoint]]) -> str | None:
    """The one run that can be meant; None if there are no checkpoints at all."""
    runs = [{checkpoint.run_id for checkpoint in listed} for listed in found]
    filled = [ids for ids in runs if ids]
    if not filled:
        return None
    meant = set.intersection(*filled)
    if len(meant) == 1:
        return meant.pop()
    newest = sorted(
        {checkpoint.run_id: checkpoint for listed in found for checkpoint in listed}.values(),
        key=lambda checkpoint: checkpoint.run_id,
    )
    named = " and ".join(f"{c.path} of run {c.run_id}" for c in newest)
    raise UserError(
        f"can't tell which run to resume, there are {named}: move the checkpoints of the run that "
        f"you don't want out of {' and '.join(map(str, folders))}"
    )


def _put_away(path: Path) -> Path:
    """Rename a damaged checkpoint, where the folder can be written; its place."""
    target = path.with_name(f"damaged-{path.name}")
    try:
        return set_aside(path, target)
    except OSError:
        return path


def recover(folder: Path) -> None:
    """Finish what a kill interrupted between two renames: an older save, moved away for a newer
    one that never arrived, gets its name back. A folder that can't be written stays as it is."""
    for old in temporaries(folder, "old"):
        with contextlib.suppress(OSError, NotACheckpointError):
            step = step_in_manifest(old)
            if step is None:
                continue
            place = folder / f"checkpoint-{step}"
            if place.exists():
                to_trash(old)
            else:
                old.rename(place)


def bring_down(checkpoint: Checkpoint, out: Path) -> Checkpoint:
    """Copy a mirror's checkpoint into `out`, verified, whole or not at all.

    One that lies in `out` already is returned as it is. Raises UserError if the copy fails, as on
    a full disk.
    """
    if checkpoint.path.parent.resolve() == out.resolve():
        return checkpoint
    try:
        out.mkdir(parents=True, exist_ok=True)
        return copy_checkpoint(checkpoint, out)
    except (OSError, SourceDamagedError) as error:
        raise UserError(
            f"{checkpoint.path} can't be copied to {out} ({error}): "
            "make room there, or give another --out"
        ) from error


def set_aside_earlier(folder: Path, run_id: str) -> list[Path]:
    """For a fresh start: move checkpoints of other runs to `earlier-<their run id>/`.

    Nothing is deleted but temporary folders that no living process owns. Returns the new places.
    Raises OSError if the folder can't be written.
    """
    recover(folder)
    others = [found for found in list_checkpoints(folder) if found.run_id != run_id]
    moved = [_to_earlier(checkpoint) for checkpoint in others]
    for earlier in {checkpoint.run_id for checkpoint in others} | {run_id}:
        clean_temporaries(folder, earlier)
    return moved


def set_aside_newer(folder: Path, run_id: str, step: int) -> list[Path]:
    """For a run that goes on from `step`: move its own later checkpoints to `earlier-<run id>/`.

    They belong to a course the run has left; kept in place they would count as its newest.
    """
    newer = [c for c in list_checkpoints(folder) if c.run_id == run_id and c.step > step]
    return [_to_earlier(checkpoint) for checkpoint in newer]


def _to_earlier(checkpoint: Checkpoint) -> Path:
    path = checkpoint.path
    return set_aside(path, path.parent / f"earlier-{as_name(checkpoint.run_id)}" / path.name)


def prune(folder: Path, run_id: str, keep_recent: int, keep_every: int) -> list[Checkpoint]:
    """Delete what retention doesn't want of this run's checkpoints in `folder`; what was deleted.

    For a run without a mirror. Checkpoints of other runs are neither counted nor touched.
    """
    own = [found for found in list_checkpoints(folder) if found.run_id == run_id]
    keep = retained(((found.step, found.ordinal) for found in own), keep_recent, keep_every)
    return delete_all(found for found in own if found.step not in keep)


def delete_all(checkpoints: Iterable[Checkpoint]) -> list[Checkpoint]:
    """Delete each; what was deleted. One that can't be stops none of the others: the next prune
    meets it again."""
    gone = []
    for checkpoint in checkpoints:
        with contextlib.suppress(OSError):
            delete_checkpoint(checkpoint)
            gone.append(checkpoint)
    return gone

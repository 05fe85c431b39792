"""Checkpoints put in place, copied, moved aside and deleted: each whole or not at all."""

import errno
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path, PurePath

from tinyllm.checkpoints.copying import (
    MANIFEST_FILE,
    NOT_SUPPORTED,
    OWNER_FILE,
    FileRecord,
    Progress,
    SourceDamagedError,
    copy_file_verified,
    files_below,
    final_order,
    force_folder,
    free_name,
    no_progress,
    remove_tree,
    write_file,
)
from tinyllm.checkpoints.leftovers import (
    discard_holder,
    mark,
    new_holder,
    read_owner,
    to_old,
    to_trash,
)
from tinyllm.checkpoints.manifests import (
    Checkpoint,
    NotACheckpointError,
    identity_in,
    parse_manifest,
    read_checkpoint,
    records_in,
    seal,
    step_of,
)


def publish(
    staging: Path,
    final: Path,
    run_id: str,
    step: int,
    ordinal: int | None,
    loss: float | None = None,
) -> Checkpoint:
    """Seal the files in `staging` and move them to `final` in one rename.

    What `final` held before: this run's older save is replaced, anything else is set aside.
    If `staging` lies in a folder made by `staging_folder`, that goes too.
    Raises OSError if the disk fails; `final` is then what it was.
    """
    sealed = seal(staging, run_id, step, ordinal, loss)
    _swap_in(staging, final, run_id)
    discard_holder(staging.parent)
    return replace(sealed, path=final)


def _swap_in(source: Path, final: Path, run_id: str) -> None:
    """Rename `source`, a sealed folder, to `final`; or copy it there, its manifest last."""
    force_folder(source.parent)
    old = _clear_the_way(final, run_id)
    try:
        source.rename(final)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            if old is not None:
                old.rename(final)
            raise
        _publish_in_place(source, final, run_id)
    force_folder(final.parent)
    if old is not None:
        # Under the old name, half of it could be taken for a save to bring back.
        remove_tree(to_trash(old))


def _clear_the_way(final: Path, run_id: str) -> Path | None:
    """Move away what lies at `final`; the new place of this run's own older save, else None."""
    if not os.path.lexists(final):
        return None
    owner = read_owner(final)
    if owner is not None and owner.run_id == run_id and not (final / MANIFEST_FILE).exists():
        remove_tree(final)  # this run was killed while it wrote in place
        return None
    try:
        existing = read_checkpoint(final)
    except NotACheckpointError:
        existing = None
    if existing is None or existing.run_id != run_id:
        earlier = f"earlier-{as_name(existing.run_id if existing else 'unmarked')}"
        set_aside(final, final.parent / earlier / final.name)
        return None
    try:
        return to_old(final)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
        mark(final, run_id)  # folders can't be renamed here: it is overwritten in place
        (final / MANIFEST_FILE).unlink()
        remove_tree(final)
        return None


def _publish_in_place(source: Path, final: Path, run_id: str) -> None:
    """Copy where folders can't be renamed: without its manifest it isn't a checkpoint yet."""
    final.mkdir(exist_ok=True)
    mark(final, run_id)
    for name in files_below(source):
        (final / name).parent.mkdir(parents=True, exist_ok=True)
        copy_file_verified(source / name, final / name)
    write_file(final / MANIFEST_FILE, (source / MANIFEST_FILE).read_bytes())
    (final / OWNER_FILE).unlink()


def copy_checkpoint(
    checkpoint: Checkpoint, target: Path, progress: Progress = no_progress
) -> Checkpoint:
    """Copy a checkpoint into folder `target` under its own name, verified, whole or not at all.

    Each file is forced to the disk and read back; the manifest follows, then the rename.
    Raises SourceDamagedError if the source isn't what its manifest says, OSError if a disk fails.
    """
    try:
        manifest = (checkpoint.path / MANIFEST_FILE).read_bytes()
    except FileNotFoundError as error:
        raise SourceDamagedError(f"{checkpoint.path}: {MANIFEST_FILE} is missing") from error

    def bring(name: str, place: Path, record: FileRecord) -> None:
        copy_file_verified(checkpoint.path / name, place, record, progress)

    return receive(checkpoint.path, manifest, target, bring)


def receive(
    source: PurePath, manifest: bytes, target: Path, bring: Callable[[str, Path, FileRecord], None]
) -> Checkpoint:
    """Put a checkpoint that lies elsewhere into folder `target`, whole or not at all.

    source    where it lies, by its own name
    manifest  the bytes of its manifest
    bring     writes one file to a path, forced to the disk and compared with its record

    Raises SourceDamagedError if the manifest is damaged, OSError if the disk fails, and what
    `bring` raises.
    """
    try:
        parsed, step = parse_manifest(manifest), step_of(source.name)
        if parsed is None or step is None:
            raise NotACheckpointError(f"{MANIFEST_FILE} is not one of a checkpoint")
        run_id, ordinal, loss = identity_in(parsed, step)
        records = records_in(parsed)
    except NotACheckpointError as error:
        raise SourceDamagedError(f"{source}: {error}") from error
    final = target / source.name
    holder = new_holder(target, run_id)
    try:
        copy = holder / source.name
        copy.mkdir()
        for name, record in records.items():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            bring(name, copy / name, record)
        for folder in {(copy / name).parent for name in records} | {copy}:
            force_folder(folder)
        write_file(copy / MANIFEST_FILE, manifest)
        _swap_in(copy, final, run_id)
        if (final / MANIFEST_FILE).read_bytes() != manifest:
            raise OSError(errno.EIO, "the manifest reads back different", str(final))
    finally:
        discard_holder(holder)
    return Checkpoint(final, step, run_id, ordinal, loss)


def copy_files_verified(
    files: Iterable[Path], target: Path, run_id: str, progress: Progress = no_progress
) -> None:
    """Copy a final model's files into folder `target`, each verified and then renamed.

    All are copied before the first is renamed, in `final_order`. Raises as `copy_checkpoint` does.
    """
    ordered = final_order(files)
    holder = new_holder(target, run_id)
    try:
        for file in ordered:
            copy_file_verified(file, holder / file.name, progress=progress)
        force_folder(holder)
        for file in ordered:
            (holder / file.name).replace(target / file.name)
        force_folder(target)
    finally:
        discard_holder(holder)


def delete_checkpoint(checkpoint: Checkpoint) -> None:
    """Delete a checkpoint of this program's: out of sight first, so half of it is never listed.

    Needs no free space. Raises OSError if the file system refuses.
    """
    try:
        trash = to_trash(checkpoint.path)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
        mark(checkpoint.path, checkpoint.run_id)
        (checkpoint.path / MANIFEST_FILE).unlink()
        trash = checkpoint.path
    remove_tree(trash)


def as_name(run_id: str) -> str:
    """A run id as part of a file name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", run_id)[:64] or "unnamed"


def set_aside(path: Path, target: Path) -> Path:
    """Rename a folder to `target`, or to `target-2`, … where that is taken; its new place."""
    target.parent.mkdir(exist_ok=True)
    place = free_name(target.parent, target.name)
    path.rename(place)
    force_folder(place.parent)
    if place.parent != path.parent:
        force_folder(path.parent)
    return place

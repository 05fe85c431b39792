"""Where a run's checkpoints lie beside its own `--out`: what the mirror and `choose` ask of it.

`FolderPlace` is a folder, on a disk or a mounted drive. `tinyllm.stores.StorePlace` is an object
store or a server. Names are `checkpoint-<step>`, or `<folder>/checkpoint-<step>` once set aside.
"""

import contextlib
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tinyllm.checkpoints.copying import FileRecord, Progress, no_progress
from tinyllm.checkpoints.leftovers import clean_temporaries, temporaries, to_trash
from tinyllm.checkpoints.manifests import (
    Checkpoint,
    LaterFormatError,
    NotACheckpointError,
    checkpoint_folders,
    file_records,
    read_checkpoint,
    step_in_manifest,
    verify,
)
from tinyllm.checkpoints.publishing import (
    copy_checkpoint,
    copy_files_verified,
    delete_checkpoint,
    set_aside,
)

CopyCheckpoint = Callable[[Checkpoint, Path, Progress], Checkpoint]


@dataclass(frozen=True, slots=True)
class Held:
    """A complete checkpoint that a place holds."""

    place: "Place"
    step: int
    run_id: str
    ordinal: int | None
    loss: float | None = None

    @property
    def name(self) -> str:
        return f"checkpoint-{self.step}"

    @property
    def where(self) -> str:
        """Path or address, for messages."""
        return self.place.path_of(self.name)


@dataclass(slots=True)
class Survey:
    """What lies at a place under a checkpoint's name.

    held      complete checkpoints, by step
    damaged   (name, what is wrong) of those whose manifest can't be used
    unmarked  names of those without a manifest of this program's
    later     names of those that a later version of this program wrote
    """

    held: list[Held] = field(default_factory=list)
    damaged: list[tuple[str, str]] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)

    def of_run(self, run_id: str) -> list[Held]:
        """One run's, by step."""
        return [held for held in self.held if held.run_id == run_id]


class Place(Protocol):
    """A folder, or what can be used like one. What fails raises OSError, and can be tried again.

    where  path or address as a person knows it, without a password
    """

    where: str

    def path_of(self, name: str) -> str:
        """Path or address of what lies here under `name`, for messages."""

    def check(self) -> None:
        """Raise OSError unless the place can be reached, and is what it was at the start."""

    def survey(self) -> Survey:
        """What lies here; nothing if the place doesn't exist (yet)."""

    def recover(self) -> None:
        """Finish what a kill interrupted in replacing a checkpoint."""

    def clean(self, run_id: str | None) -> None:
        """Remove what killed processes left, as `leftovers.clean_temporaries` does."""

    def fault(self, held: Held, hashes: bool) -> str | None:
        """None if every file is as the manifest says, else what is wrong; `hashes`: read all."""

    def records(self, held: Held) -> dict[str, FileRecord]:
        """Every file of a checkpoint by name. Raises NotACheckpointError if the manifest is bad."""

    def read(self, name: str) -> bytes:
        """A small file, as `run.json` or `checkpoint-8/run.json`. FileNotFoundError without it."""

    def exists(self, name: str) -> bool:
        """Something lies here under this name."""

    def put(self, checkpoint: Checkpoint, progress: Progress) -> None:
        """Copy a local checkpoint here, verified, whole or not at all.

        Raises SourceDamagedError if the local one isn't what its manifest says.
        """

    def put_files(self, files: Sequence[Path], run_id: str, progress: Progress) -> None:
        """Copy a final model's files to the root, verified, each whole or as it was before."""

    def fetch(self, held: Held, out: Path) -> Checkpoint:
        """Copy a checkpoint into the local folder `out`, verified; one that lies there stays.

        Raises SourceDamagedError if it isn't what its manifest says.
        """

    def set_aside(self, name: str, target: str) -> str:
        """Move to `target`, or `target-2` … where that is taken; the new path or address."""

    def delete(self, held: Held) -> None:
        """Delete a checkpoint of this program's; half of it is never listed."""

    def free_bytes(self) -> int | None:
        """Space left; None where nobody can tell."""

    def copy_command(self, checkpoints: Sequence[Path], files: Sequence[Path]) -> str:
        """The shell command that copies local checkpoints and a final model's files here."""


class FolderPlace:
    """A folder: on this disk, or of a mounted drive (Drive, NFS, SMB, FUSE).

    path  made only by `make`: a drive that went away isn't replaced by a folder on the local disk
    copy  copies a checkpoint into a folder, verified, or raises
    """

    def __init__(self, path: Path, copy: CopyCheckpoint = copy_checkpoint) -> None:
        self.path = path
        self.where = str(path)
        self._copy = copy
        self._was_mount = os.path.ismount(path)

    def path_of(self, name: str) -> str:
        return str(self.path / name)

    def check(self) -> None:
        if self._was_mount and not os.path.ismount(self.path):
            raise ConnectionError(f"the drive at {self.path} is no longer mounted")
        if not self.path.is_dir():
            raise FileNotFoundError(f"the folder {self.path} is gone")

    def survey(self) -> Survey:
        found = Survey()
        for path in sorted(checkpoint_folders(self.path)):
            try:
                checkpoint = read_checkpoint(path)
            except LaterFormatError:
                found.later.append(path.name)
            except (NotACheckpointError, OSError) as error:
                found.damaged.append((path.name, str(error)))
            else:
                if checkpoint is None:
                    found.unmarked.append(path.name)
                else:
                    found.held.append(self._held(checkpoint))
        found.held.sort(key=lambda held: held.step)
        return found

    def recover(self) -> None:
        for old in temporaries(self.path, "old"):
            with contextlib.suppress(OSError, NotACheckpointError):
                step = step_in_manifest(old)
                if step is None:
                    continue
                place = self.path / f"checkpoint-{step}"
                if place.exists():
                    to_trash(old)
                else:
                    old.rename(place)

    def clean(self, run_id: str | None) -> None:
        clean_temporaries(self.path, run_id)

    def fault(self, held: Held, hashes: bool) -> str | None:
        return verify(self._local(held), hashes)

    def records(self, held: Held) -> dict[str, FileRecord]:
        return file_records(self._local(held))

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def exists(self, name: str) -> bool:
        return os.path.lexists(self.path / name)

    def put(self, checkpoint: Checkpoint, progress: Progress = no_progress) -> None:
        self._copy(checkpoint, self.path, progress)

    def put_files(
        self, files: Sequence[Path], run_id: str, progress: Progress = no_progress
    ) -> None:
        copy_files_verified(files, self.path, run_id, progress)

    def fetch(self, held: Held, out: Path) -> Checkpoint:
        local = self._local(held)
        if self.path.resolve() == out.resolve():
            return local
        return copy_checkpoint(local, out)

    def set_aside(self, name: str, target: str) -> str:
        return str(set_aside(self.path / name, self.path / target))

    def delete(self, held: Held) -> None:
        delete_checkpoint(self._local(held))

    def free_bytes(self) -> int | None:
        try:
            return shutil.disk_usage(self.path).free
        except OSError:
            return None

    def copy_command(self, checkpoints: Sequence[Path], files: Sequence[Path]) -> str:
        folder = shlex.quote(f"{self.path}/")
        commands = [
            f"cp {flag}{shlex.join(map(str, paths))} {folder}"
            for flag, paths in (("-r ", checkpoints), ("", files))
            if paths
        ]
        return " && ".join(commands)

    def _held(self, checkpoint: Checkpoint) -> Held:
        return Held(self, checkpoint.step, checkpoint.run_id, checkpoint.ordinal, checkpoint.loss)

    def _local(self, held: Held) -> Checkpoint:
        return Checkpoint(self.path / held.name, held.step, held.run_id, held.ordinal, held.loss)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FolderPlace) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)


def delete_all(checkpoints: Iterable[Held]) -> list[Held]:
    """Delete each; what was deleted. One that can't be stops none of the others: the next round
    meets it again."""
    gone = []
    for held in checkpoints:
        with contextlib.suppress(OSError):
            held.place.delete(held)
            gone.append(held)
    return gone

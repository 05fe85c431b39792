"""What makes a folder a checkpoint: `checkpoint-<step>` with a manifest, written last.

`manifest.json`: `{"format": 1, "run_id", "step", "ordinal", "loss", "files": {name: {"bytes",
"sha256"}}}`. A folder without one is never resumed from and never deleted.
"""

import contextlib
import errno
import json
import math
import re
import stat
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tinyllm.checkpoints.copying import (
    MANIFEST_FILE,
    FileRecord,
    files_below,
    force_file,
    force_folder,
    hash_file,
    replace_file,
)

FORMAT = 1
NAME = re.compile(r"checkpoint-(0|[1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete save: where it lies, whose it is, its number on the schedule, its score.

    loss  held out, nats a token; None if it wasn't measured at this step
    """

    path: Path
    step: int
    run_id: str
    ordinal: int | None
    loss: float | None = None


class NotACheckpointError(Exception):
    """The folder has a manifest of this program's that can't be used; the message says why."""


class LaterFormatError(NotACheckpointError):
    """The manifest was written by a later version: whole, but not for this one to judge."""


def parse_manifest(data: bytes) -> dict[str, Any] | None:
    """The manifest in these bytes; None if it isn't this program's.

    Raises NotACheckpointError if it is damaged, LaterFormatError if a later version wrote it.
    """
    try:
        manifest = json.loads(data)
    except ValueError as error:
        raise NotACheckpointError(f"{MANIFEST_FILE} is cut or damaged") from error
    if not isinstance(manifest, dict) or not {"format", "run_id", "files"} <= manifest.keys():
        return None
    if manifest["format"] != FORMAT:
        if isinstance(manifest["format"], int) and manifest["format"] > FORMAT:
            raise LaterFormatError(
                f"{MANIFEST_FILE} has format {manifest['format']}, written by a later version"
            )
        raise NotACheckpointError(f"{MANIFEST_FILE} has format {manifest['format']!r}")
    return manifest


def identity_in(manifest: dict[str, Any], step: int) -> tuple[str, int | None, float | None]:
    """(run id, ordinal, loss) in the manifest of a checkpoint named for `step`.

    Raises NotACheckpointError if it is of another step, or damaged.
    """
    run_id, ordinal = manifest["run_id"], manifest.get("ordinal")
    loss = manifest.get("loss")
    if manifest.get("step") != step:
        raise NotACheckpointError(f"its manifest is of step {manifest.get('step')!r}")
    if not isinstance(run_id, str) or not isinstance(ordinal, int | None):
        raise NotACheckpointError(f"{MANIFEST_FILE} is damaged")
    return run_id, ordinal, loss if isinstance(loss, float) and math.isfinite(loss) else None


def records_in(manifest: dict[str, Any]) -> dict[str, FileRecord]:
    """Name, size and hash of every file that the manifest names.

    Raises NotACheckpointError if it is damaged, or names a file outside the folder.
    """
    try:
        records = {name: FileRecord(**entry) for name, entry in manifest["files"].items()}
    except (TypeError, AttributeError) as error:
        raise NotACheckpointError(f"{MANIFEST_FILE} is damaged") from error
    for name in records:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise NotACheckpointError(f"{MANIFEST_FILE} names {name!r}, outside the checkpoint")
    return records


def _manifest_of(path: Path) -> dict[str, Any] | None:
    """The manifest in a folder, None if there is none or it isn't this program's."""
    try:
        data = (path / MANIFEST_FILE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return parse_manifest(data)


def step_of(name: str) -> int | None:
    """The step that a checkpoint's name tells; None for any other name."""
    match = NAME.fullmatch(name)
    return int(match[1]) if match else None


def read_checkpoint(path: Path) -> Checkpoint | None:
    """The checkpoint in `path`, None if it isn't one of this program's.

    Raises NotACheckpointError if its manifest is damaged or belongs to another step.
    """
    step = step_of(path.name)
    if step is None or path.is_symlink():
        return None
    manifest = _manifest_of(path)
    if manifest is None:
        return None
    return Checkpoint(path, step, *identity_in(manifest, step))


def step_in_manifest(path: Path) -> int | None:
    """The step of a checkpoint under a temporary name; None without a manifest of this program's.

    Raises NotACheckpointError if the manifest is damaged.
    """
    manifest = _manifest_of(path)
    step = manifest.get("step") if manifest else None
    return step if isinstance(step, int) else None


def list_checkpoints(folder: Path) -> list[Checkpoint]:
    """Complete checkpoints in `folder`, by step; [] if there is no such folder."""
    found = []
    for path in checkpoint_folders(folder):
        with contextlib.suppress(NotACheckpointError):
            if checkpoint := read_checkpoint(path):
                found.append(checkpoint)
    return sorted(found, key=lambda checkpoint: checkpoint.step)


def checkpoint_folders(folder: Path) -> list[Path]:
    """Everything in `folder` named `checkpoint-<step>`, complete or not."""
    try:
        return [path for path in folder.iterdir() if NAME.fullmatch(path.name)]
    except FileNotFoundError:
        return []


def file_records(checkpoint: Checkpoint) -> dict[str, FileRecord]:
    """Name, size and hash of every file, as the manifest says.

    Raises NotACheckpointError if the manifest is damaged, or names a file outside the folder.
    """
    manifest = _manifest_of(checkpoint.path)
    if manifest is None:
        raise NotACheckpointError(f"{MANIFEST_FILE} is missing")
    return records_in(manifest)


def verify(checkpoint: Checkpoint, hashes: bool = True) -> str | None:
    """None if every file is as the manifest says, else what is wrong, with the file's name.

    hashes  read every byte; False compares sizes alone
    """
    try:
        records = file_records(checkpoint)
    except NotACheckpointError as error:
        return str(error)
    for name, expected in records.items():
        try:
            size = (checkpoint.path / name).stat().st_size
            if size != expected.bytes:
                return f"{name} has {size} bytes instead of {expected.bytes}"
            if hashes and hash_file(checkpoint.path / name) != expected:
                return f"{name} has another content than was saved"
        except FileNotFoundError:
            return f"{name} is missing"
        except OSError as error:
            return f"{name} can't be read ({error.strerror or error})"
    return None


def seal(
    path: Path, run_id: str, step: int, ordinal: int | None, loss: float | None = None
) -> Checkpoint:
    """Make a folder of files a checkpoint: force every file to disk, then write its manifest.

    The files get the mode that the umask gives new files; a refused chmod is no failure.
    Raises OSError if the folder has no files or the disk fails.
    """
    names = files_below(path)
    if not names:
        raise OSError(errno.ENOENT, "nothing was saved in", str(path))
    records = {}
    for name in names:
        force_file(path / name)
        records[name] = asdict(hash_file(path / name))
    for folder in {(path / name).parent for name in names}:
        force_folder(folder)
    if loss is not None and not math.isfinite(loss):
        loss = None  # JSON has no word for it, and it is nobody's best
    manifest = {
        "format": FORMAT,
        "run_id": run_id,
        "step": step,
        "ordinal": ordinal,
        "loss": loss,
        "files": records,
    }
    replace_file(path / MANIFEST_FILE, json.dumps(manifest, indent=1).encode() + b"\n")
    _follow_umask(path, names)
    return Checkpoint(path, step, run_id, ordinal, loss)


def _follow_umask(path: Path, names: Iterable[str]) -> None:
    """Give every file the mode of the manifest, which was created plainly."""
    mode = stat.S_IMODE((path / MANIFEST_FILE).stat().st_mode)
    for name in names:
        with contextlib.suppress(OSError):  # some file systems have no modes; data is complete
            if stat.S_IMODE((path / name).stat().st_mode) != mode:
                (path / name).chmod(mode)

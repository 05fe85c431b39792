"""Saves and broken disks for the tests of checkpoints and of the mirror."""

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tinyllm.checkpoints import (
    Checkpoint,
    FolderPlace,
    list_checkpoints,
    ordinal_of,
    publish,
    verify,
)

RUN = "run-a"


def write_files(folder: Path, step: int, size: int = 3000) -> Path:
    """A folder with what Trainer would save, in small."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(f'{{"step": {step}}}')
    weights = folder / "model.safetensors"
    weights.write_bytes(bytes([step % 251]) * size)
    weights.chmod(0o600)
    (folder / "nested").mkdir()
    (folder / "nested" / "optimizer.pt").write_bytes(os.urandom(size))
    return folder


def make_save(
    folder: Path,
    step: int,
    run_id: str = RUN,
    save_steps: int = 10,
    size: int = 3000,
    loss: float | None = None,
) -> Checkpoint:
    """A published checkpoint."""
    source = write_files(folder / "to-publish" / f"checkpoint-{step}", step, size)
    ordinal = ordinal_of(step, save_steps)
    saved = publish(source, folder / f"checkpoint-{step}", run_id, step, ordinal, loss)
    source.parent.rmdir()
    return saved


def names(folder: Path) -> list[str]:
    """Everything in the folder, hidden or not, sorted."""
    return sorted(path.name for path in folder.iterdir())


def check_invariants(folder: Path, replaces: bool = False) -> None:
    """Whatever is listed is whole; a save that was being replaced is there, older or newer."""
    FolderPlace(folder).recover()
    listed = list_checkpoints(folder)
    assert all(verify(found) is None for found in listed)
    if replaces:
        assert [found.step for found in listed] == [10]


class FaultyDisk:
    """Makes the k-th call below `root` of the system's file functions fail, or kill the process.

    calls  how many there were
    """

    ON_PATHS = ("open", "rename", "replace", "mkdir", "unlink", "rmdir", "listdir", "scandir")
    ON_FILES = ("read", "write", "fsync")

    def __init__(self, root: Path, at: int, fault: int | signal.Signals, lasting: bool = False):
        self.calls = 0
        self._root, self._at, self._fault, self._lasting = str(root), at, fault, lasting
        self._files: set[int] = set()
        self._originals: dict[str, Callable[..., Any]] = {}

    def __enter__(self) -> "FaultyDisk":
        for name in (*self.ON_PATHS, *self.ON_FILES, "close"):
            self._originals[name] = getattr(os, name)
            setattr(os, name, self._wrapped(name, self._originals[name]))
        return self

    def __exit__(self, *_: object) -> None:
        for name, original in self._originals.items():
            setattr(os, name, original)

    def _wrapped(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any = ".", *more: Any, **named: Any) -> Any:
            if name == "close":
                self._files.discard(first)
                return original(first, *more, **named)
            below = first in self._files if isinstance(first, int) else self._is_below(first)
            if below:
                self._count()
            result = original(first, *more, **named)
            if name == "open" and below:
                self._files.add(result)
            return result

        return call

    def _is_below(self, path: Any) -> bool:
        return os.fspath(path).startswith(self._root)

    def _count(self) -> None:
        self.calls += 1
        if self.calls != self._at and not (self._lasting and self.calls > self._at):
            return
        if isinstance(self._fault, signal.Signals):
            os.kill(os.getpid(), self._fault)
        raise OSError(self._fault, os.strerror(self._fault))


DISK_ERRORS = (errno.EIO, errno.ENOSPC, errno.ENOTCONN)

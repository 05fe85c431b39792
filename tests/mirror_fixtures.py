"""Fixtures with real folders and real threads, for tests of checkpoints and of the mirror."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from mirrors import Make
from saves import RUN

from tinyllm.checkpoints import FolderPlace, Keep, copy_checkpoint
from tinyllm.checkpoints.mirror import Mirror
from tinyllm.checkpoints.places import CopyCheckpoint


@pytest.fixture
def quick_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one, for tests that force hundreds of files to disk."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    out, sync = tmp_path / "out", tmp_path / "sync"
    out.mkdir()
    sync.mkdir()
    return out, sync


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def make(folders: tuple[Path, Path], said: list[str]) -> Iterator[Make]:
    made: list[Mirror] = []

    def build(
        keep_recent: int = 1,
        keep_every: int = 0,
        keep_best: bool = False,
        copy: CopyCheckpoint = copy_checkpoint,
        **more: object,
    ) -> Mirror:
        settings = {"say": said.append, "first_delay": 0.001, "longest_delay": 0.01, **more}
        keep = Keep(keep_recent, keep_every, keep_best)
        mirror = Mirror(FolderPlace(folders[1], copy), RUN, keep, **settings)  # type: ignore[arg-type]
        made.append(mirror)
        return mirror

    yield build
    for mirror in made:
        with mirror._lock:
            mirror._stop = True
            mirror._lock.notify_all()
        if mirror._thread is not None:
            mirror._thread.join()

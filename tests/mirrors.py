"""What tests of the mirror do with one; drives that copy when they are let to."""

import threading
from collections.abc import Callable
from pathlib import Path

from saves import make_save

from tinyllm.checkpoints import Checkpoint, copy_checkpoint, list_checkpoints
from tinyllm.checkpoints.copying import Progress
from tinyllm.checkpoints.mirror import Mirror

Make = Callable[..., Mirror]


def save(mirror: Mirror, out: Path, *steps: int) -> None:
    for step in steps:
        saved = make_save(out, step)
        mirror.submit(saved.path, step, saved.ordinal)


def steps(folder: Path) -> list[int]:
    return [found.step for found in list_checkpoints(folder)]


class SlowDrive:
    """Copies when it is let to; counts how often it was asked."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.copied: list[int] = []

    def __call__(self, saved: Checkpoint, target: Path, progress: Progress) -> Checkpoint:
        self.begun.set()
        self.go.wait(60)  # a test that failed before it lets go must not hang
        self.copied.append(saved.step)
        return copy_checkpoint(saved, target, progress)

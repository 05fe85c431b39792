"""What a mirror holds, what waits for it, and what to copy next. No files, no threads."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tinyllm.checkpoints.retention import Keep, Saved, retained

# (checkpoints, files of the final model) -> the shell command that copies them to the mirror
CopyCommand = Callable[[Sequence[Path], Sequence[Path]], str]


@dataclass(frozen=True, slots=True)
class DrainResult:
    """How the mirror stands at the end.

    ok       everything that retention wants, and the final model, is on the mirror, verified
    missing  local paths of what isn't
    error    why, None if ok
    command  shell command that copies what is missing, None if nothing is
    """

    ok: bool
    missing: list[Path] = field(default_factory=list)
    error: str | None = None
    command: str | None = None


@dataclass(slots=True)
class Save:
    """A local checkpoint that was handed over.

    has_manifest  its manifest was read or made
    failures      how often copying it failed
    """

    path: Path
    step: int
    ordinal: int | None
    loss: float | None = None
    has_manifest: bool = False
    failures: int = 0


class Backlog:
    """The saves of one run: on the mirror, waiting, verified there, lost here.

    on_mirror  by step, what the mirror holds, as last seen
    verified   steps whose copy was compared with the local content
    lost       saves that can't be copied any more, with the reason
    """

    def __init__(self, keep: Keep) -> None:
        self.keep = keep
        self.pending: dict[int, Save] = {}
        self.on_mirror: dict[int, Saved] = {}
        self.verified: set[int] = set()
        self.lost: dict[int, tuple[Save, str]] = {}
        self.final: list[Path] = []
        self._oldest_next = False

    def add(self, save: Save) -> None:
        """A new save, or a step saved again: what was known of its copy no longer holds."""
        self.lost.pop(save.step, None)
        self.verified.discard(save.step)
        self.pending[save.step] = save

    def knows(self, step: int) -> bool:
        """The step waits, is lost, or is verified."""
        return step in self.pending or step in self.verified or step in self.lost

    def retained(self, saves: Iterable[Saved]) -> set[int]:
        """Steps that retention keeps of these."""
        return retained(saves, self.keep)

    def wanted(self, more: Iterable[Saved] = ()) -> set[int]:
        """Steps the mirror should hold, of what it has, what waits, and `more`."""
        return self.retained([*self.on_mirror.values(), *self.pending.values(), *more])

    def next(self) -> Save | None:
        """What to copy now; waiting saves that retention no longer wants are dropped.

        Newest first, then by turns the oldest: a mirror that lags has the newest soon, and one
        that never catches up still gets those that are kept for good. What failed comes later.
        """
        wanted = self.wanted()
        self.pending = {step: save for step, save in self.pending.items() if step in wanted}
        if not self.pending:
            return None
        least = min(save.failures for save in self.pending.values())
        steps = [save.step for save in self.pending.values() if save.failures == least]
        return self.pending[min(steps) if self._oldest_next else max(steps)]

    def done(self, save: Save) -> None:
        """The save is on the mirror, verified."""
        self.verified.add(save.step)
        self.on_mirror[save.step] = save
        if self.pending.get(save.step) is save:
            del self.pending[save.step]
        self._oldest_next = not self._oldest_next

    def lose(self, save: Save, reason: str) -> bool:
        """The local save is damaged or gone; True if retention wants it."""
        if self.pending.get(save.step) is save:
            del self.pending[save.step]
            self.lost[save.step] = (save, reason)
        return save.step in self.wanted([save])

    def deletable(self, local: Sequence[Saved]) -> set[int]:
        """Steps of local saves that are verified on the mirror, or superseded by one that is.

        The newest local ones and the best never are; those kept for good stay on the mirror alone.
        """
        stay = retained(local, replace(self.keep, every=0))
        wanted = self.wanted() | self.retained(local)
        safe_until = max(self.verified, default=-1)
        return {
            save.step
            for save in local
            if save.step not in stay
            and (save.step in self.verified or (save.step not in wanted and save.step < safe_until))
        }

    def result(self, copy_command: CopyCommand, error: str | None) -> DrainResult:
        """What is missing on the mirror, and the command that copies it."""
        lost = [save for save, _ in self.lost.values()]
        wanted = self.wanted(lost)
        missing = [s.path for s in [*self.pending.values(), *lost] if s.step in wanted]
        if not missing and not self.final:
            return DrainResult(True)
        reasons = [reason for save, reason in self.lost.values() if save.step in wanted]
        why = "; ".join(reasons) or error or "it took too long"
        return DrainResult(False, missing + self.final, why, copy_command(missing, self.final))

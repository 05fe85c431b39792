"""Copy a run's checkpoints to a slow or unreliable place, in the background.

One thread looks at two sets, what the mirror holds and what waits, and copies what retention
wants of both. Nothing it meets reaches the thread that trains; `drain` tells the truth at the end.
"""

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tinyllm.checkpoints.backlog import Backlog, DrainResult, Save
from tinyllm.checkpoints.choosing import set_aside_newer
from tinyllm.checkpoints.copying import SourceDamagedError
from tinyllm.checkpoints.health import Health
from tinyllm.checkpoints.manifests import (
    Checkpoint,
    NotACheckpointError,
    file_records,
    list_checkpoints,
    read_checkpoint,
    seal,
)
from tinyllm.checkpoints.places import FolderPlace, Held, Place, delete_all
from tinyllm.checkpoints.retention import Keep
from tinyllm.console import SECONDS_BETWEEN_LINES

__all__ = ["DrainResult", "Mirror"]

SECONDS_TO_END = 5.0
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

Say = Callable[[str], None]


def _print_line(text: str) -> None:
    print(text, flush=True)


def _say_nothing(_: str) -> None:
    """Where lines go once nobody reads them any more."""


class Mirror:
    """Keeps `place` holding what `keep` says of run `run_id`'s saves.

    place          must exist; it is never made here
    keep           what stays on the mirror; locally the newest and the best
    say            gets one line at every change of state
    patience       seconds of failing, or a fifth of those without a byte, before `drain` gives up
    first_delay, longest_delay  seconds between retries: doubling, with jitter
    """

    def __init__(
        self,
        place: Place,
        run_id: str,
        keep: Keep,
        *,
        say: Say = _print_line,
        patience: float = 120.0,
        first_delay: float = 1.0,
        longest_delay: float = 60.0,
    ) -> None:
        self.place = place
        self.run_id = run_id
        self._say_line = say

        self._lock = threading.Condition()  # guards all below but _sound, the thread's own
        self._backlog = Backlog(keep)
        self._health = Health(patience, first_delay, longest_delay)
        self._thread: threading.Thread | None = None
        self._stop = False
        self._local_folders: set[Path] = set()
        self._rewind_to: int | None = None
        self._tidy_due = False
        self._sound: set[int] = set()  # steps on the mirror whose sizes were compared

    # ---- for the thread that trains: nothing but drain waits for the mirror ----

    def submit(self, path: Path, step: int, ordinal: int | None, loss: float | None = None) -> None:
        """Hand over a finished local save. A folder without manifest gets one in the background."""
        with self._lock:
            self._backlog.add(Save(path, step, ordinal, loss))
            self._local_folders.add(path.parent)
            self._wake()

    def adopt(self, folder: Path, step: int | None) -> None:
        """At the start from `step`: hand over this run's checkpoints in the local `folder`.

        Its later ones, there and on the mirror, belong to a course the run has left: they are
        moved to `earlier-<run id>/`; with None nothing is trained and none is later. One the
        mirror already holds isn't copied again.
        Raises OSError if the local folder can't be read or written.
        """
        if step is not None:
            set_aside_newer(FolderPlace(folder), self.run_id, step)
        with self._lock:
            self._rewind_to = step
            self._local_folders.add(folder)
            self._adopt_local(folder)
            self._tidy_due = True
            self._wake()

    def publish_final(self, files: Sequence[Path]) -> None:
        """Hand over the final model's files, for the mirror's root; `drain` tells how it went."""
        with self._lock:
            self._backlog.final = list(files)
            self._wake()

    def drain(self, timeout: float | None = None, on_progress: Say | None = None) -> DrainResult:
        """Wait until all is on the mirror, with a line every 10 s; end the thread if it is.

        timeout  seconds at most; None waits for as long as `patience` allows
        """
        say = on_progress or self._say
        started = said = time.monotonic()
        with self._lock:
            self._health.try_now()
            self._wake()
        while self._is_worth_waiting(started, timeout):
            if time.monotonic() - said >= SECONDS_BETWEEN_LINES:
                said = time.monotonic()
                with self._lock:
                    line = self._health.line(self._waiting(), started)
                say(line)
        with self._lock:
            result = self._backlog.result(self.place.copy_command, self._health.error)
            self._stop = self._is_finished()
            self._lock.notify_all()
            thread = self._thread if self._stop else None
        if thread is not None:
            thread.join(SECONDS_TO_END)
        return result

    def _is_worth_waiting(self, started: float, timeout: float | None) -> bool:
        """Wait a moment; False once all is done, or nothing is to be hoped for."""
        with self._lock:
            if self._is_finished() or self._health.is_hopeless(started):
                return False
            if timeout is not None and time.monotonic() - started > timeout:
                return False
            self._lock.wait(0.5)
        return True

    # ---- the lock is held ----

    def _wake(self) -> None:
        self._stop = False
        if self._has_work() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._loop, name="mirror", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:  # no thread to be had; the next call tries again
                self._thread = None
                self._health.failed(error)
        self._lock.notify_all()

    def _waiting(self) -> int:
        return len(self._backlog.pending) + bool(self._backlog.final)

    def _has_work(self) -> bool:
        return self._waiting() > 0 or self._tidy_due

    def _is_finished(self) -> bool:
        """Tidying that fails holds nothing up: it is retried with the next save."""
        return not self._waiting() and (
            not self._tidy_due or self._health.failing_since is not None
        )

    def _adopt_local(self, folder: Path) -> None:
        for found in list_checkpoints(folder):
            if found.run_id == self.run_id and not self._backlog.knows(found.step):
                self._backlog.add(Save(found.path, found.step, found.ordinal, found.loss))

    # ---- the mirror's own thread ----

    def _loop(self) -> None:
        # A niceness for one thread is Linux's; the steps come first.
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        while self._wait_for_work():
            try:
                self._work()
            except Exception as error:  # noqa: BLE001 - whatever it is: said, counted, retried
                self._note_failure(error)

    def _wait_for_work(self) -> bool:
        with self._lock:
            while not self._stop:
                delay = self._health.retry_at - time.monotonic()
                if self._has_work() and delay <= 0:
                    return True
                self._lock.wait(delay if self._has_work() else None)
        return False

    def _work(self) -> None:
        """One round: copy one thing, then delete what is no longer wanted."""
        self.place.check()
        self.place.recover()
        self.place.clean(self.run_id)
        self._look_at_mirror()
        chosen, final = self._choose()
        done = ""
        if chosen is not None:
            done = chosen.path.name if self._copy_save(chosen) else ""
        elif final:
            self._copy_final(final)
            done = "the final model"
        self._tidy()
        self._note_success(done)

    def _choose(self) -> tuple[Save | None, list[Path]]:
        """What to copy in this round, with a manifest, and the final model's files."""
        while True:
            with self._lock:
                new = [s for s in self._backlog.pending.values() if not s.has_manifest]
                if not new:
                    return self._backlog.next(), self._backlog.final
            for save in new:
                self._check_local(save)

    def _look_at_mirror(self) -> None:
        with self._lock:
            step = self._rewind_to
        if step is not None:
            set_aside_newer(self.place, self.run_id, step)
        found = self._own_on_mirror()
        with self._lock:
            self._rewind_to = None
            self._backlog.on_mirror = {held.step: held for held in found}

    def _own_on_mirror(self) -> list[Held]:
        """This run's checkpoints there; one with a wrong size counts for nothing."""
        own = []
        for held in self.place.survey().of_run(self.run_id):
            if held.step not in self._sound and self.place.fault(held, hashes=False):
                continue
            self._sound.add(held.step)
            own.append(held)
        return own

    def _check_local(self, save: Save) -> None:
        """See that the local folder is this run's checkpoint, or give it up and say so."""
        try:
            checkpoint = read_checkpoint(save.path)
            if checkpoint is None:
                seal(save.path, self.run_id, save.step, save.ordinal, save.loss)
            elif checkpoint.run_id != self.run_id:
                self._lose(save, f"it belongs to run {checkpoint.run_id}")
            else:
                save.ordinal, save.loss = checkpoint.ordinal, checkpoint.loss
        except (FileNotFoundError, NotACheckpointError) as error:
            self._lose(save, str(error))
        save.has_manifest = True

    def _lose(self, save: Save, reason: str) -> None:
        text = f"{save.path} can't be copied ({reason})"
        with self._lock:
            was_wanted = self._backlog.lose(save, text)
            # An older one that was skipped for it may be the newest there is now.
            with contextlib.suppress(OSError):
                self._adopt_local(save.path.parent)
        if was_wanted:
            self._say(f"mirror: {text}")

    def _copy_save(self, save: Save) -> bool:
        """Bring one save to the mirror; False if it turned out to be damaged here."""
        checkpoint = Checkpoint(save.path, save.step, self.run_id, save.ordinal, save.loss)
        try:
            if not self._is_there(checkpoint):
                records = file_records(checkpoint).values()
                with self._lock:
                    self._health.begin(save.path.name, 2 * sum(r.bytes for r in records))
                self._sound.discard(save.step)
                self.place.put(checkpoint, self._advance)
        except (SourceDamagedError, NotACheckpointError) as error:
            self._lose(save, str(error))
            return False
        except Exception as error:
            save.failures += 1
            if isinstance(error, OSError) and error.errno in DISK_FULL:
                self._make_room(checkpoint)
            raise
        self._sound.add(save.step)
        with self._lock:
            self._backlog.done(save)
            self._tidy_due = True
        return True

    def _is_there(self, checkpoint: Checkpoint) -> bool:
        """The mirror has a complete copy with the same manifest."""
        copy = Held(self.place, checkpoint.step, self.run_id, checkpoint.ordinal, checkpoint.loss)
        try:
            same = copy in self.place.survey().held
            same = same and self.place.records(copy) == file_records(checkpoint)
        except NotACheckpointError:
            return False
        return same and self.place.fault(copy, hashes=False) is None

    def _make_room(self, coming: Checkpoint) -> None:
        """On a full mirror, give up what the coming save would supersede, but never the last."""
        there = self._own_on_mirror()
        keep = self._backlog.retained([*there, coming])
        newest = max((found.step for found in there), default=None)
        delete_all(f for f in there if f.step not in keep and f.step != newest)

    def _copy_final(self, files: list[Path]) -> None:
        with self._lock:
            self._health.begin("the final model", 2 * sum(f.stat().st_size for f in files))
        self.place.put_files(files, self.run_id, self._advance)
        with self._lock:
            if self._backlog.final is files:
                self._backlog.final = []

    def _tidy(self) -> None:
        """Delete what retention doesn't want: on the mirror, then locally."""
        if not self._tidy_due:
            return
        there = self._own_on_mirror()
        keep = self._backlog.retained(there)
        unwanted = [found for found in there if found.step not in keep]
        gone = delete_all(unwanted)
        with self._lock:
            for held in gone:
                self._backlog.on_mirror.pop(held.step, None)
            folders = list(self._local_folders)
        for folder in folders:
            own = FolderPlace(folder).survey().of_run(self.run_id)
            with self._lock:
                steps = self._backlog.deletable(own)
            deletable = [found for found in own if found.step in steps]
            unwanted += deletable
            gone += delete_all(deletable)
        with self._lock:
            self._tidy_due = False
        if refused := len(unwanted) - len(gone):
            self._say(f"mirror: {refused} superseded checkpoints can't be deleted yet")

    def _advance(self, count: int) -> None:
        with self._lock:
            self._health.advance(count)

    def _note_success(self, done: str) -> None:
        with self._lock:
            failed_for = self._health.succeeded()
            caught_up = bool(done) and not self._has_work()
            self._lock.notify_all()
        if failed_for is not None:
            self._say(f"mirror: working again after {failed_for:.0f} s")
        if caught_up:
            self._say(f"mirror: caught up, {done} is safe in {self.place.where}")

    def _note_failure(self, error: Exception) -> None:
        with self._lock:
            news = self._health.failed(error)
            text = self._health.error
            self._lock.notify_all()
        if news:
            clock = time.strftime("%H:%M:%S")
            self._say(f"mirror: failing since {clock} ({text}); training goes on, it is retried")

    def _say(self, text: str) -> None:
        try:
            self._say_line(text)
        except Exception:  # noqa: BLE001 - a closed pipe must not end the mirror
            self._say_line = _say_nothing

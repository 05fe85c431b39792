"""Trainer callbacks: mirror checkpoints, stop on a signal, say how it goes."""

import json
import os
import signal
import sys
import threading
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from tinyllm.checkpoints import Keep, Place, folders_overlap, ordinal_of
from tinyllm.checkpoints.copying import replace_file
from tinyllm.checkpoints.mirror import DrainResult, Mirror
from tinyllm.console import say
from tinyllm.errors import UserError
from tinyllm.progress import ERASE_LINE, ProgressLines
from tinyllm.runs import RUN_FILE
from tinyllm.stores import as_path, open_place

__all__ = [
    "AsyncCheckpointSync",
    "MirrorFailedError",
    "ProgressLines",
    "StopOnSignal",
    "StuckWeights",
]

PATIENCE_SECONDS = 120.0


class MirrorFailedError(RuntimeError):
    """The mirror lacks something at the end; `result` says what and how to copy it."""

    def __init__(self, where: str, result: DrainResult) -> None:
        names = ", ".join(path.name for path in result.missing)
        super().__init__(f"not on {where}: {names} ({result.error}); copy with: {result.command}")
        self.result = result


class AsyncCheckpointSync(TrainerCallback):
    """Mirror every checkpoint that Trainer saves to `sync_dir`, on a background thread.

    sync_dir  a folder, or an address that fsspec knows, as `s3://bucket/run`

    On the mirror stay the newest `keep_recent` and every `keep_every`-th save (0 = none) counted
    in `save_steps`, and with `keep_best` the one with the lowest `eval_loss`; locally the newest
    `keep_recent` and the best. Works with plain checkpoints too: they get their manifest in the
    background. The run's id is that of `run.json` in the output folder; where there is none, one is
    made and kept there. Only world rank 0 mirrors.

    Raises UserError (a ValueError) for counts that keep nothing, a place that can't be written,
    and, as soon as the output folder is known, one that is, holds or lies in `sync_dir`.
    """

    def __init__(
        self,
        sync_dir: str | os.PathLike[str],
        keep_recent: int,
        keep_every: int,
        save_steps: int,
        *,
        keep_best: bool = False,
    ) -> None:
        self.keep = Keep(keep_recent, keep_every, keep_best)
        if save_steps < 1:
            raise UserError(f"save_steps is {save_steps} and must be 1 or more")
        self.sync_dir = os.fspath(sync_dir)
        self.place: Place = open_place(self.sync_dir)
        self.save_steps = save_steps
        self._out: Path | None = None
        self._mirror: Mirror | None = None

    def on_init_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Refuse folders that overlap before any step is trained."""
        self._out = Path(str(args.output_dir))
        _refuse_overlap(self.sync_dir, self._out)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Mirror what an earlier launch of this run left in the output folder."""
        if state.is_world_process_zero:
            out = Path(str(args.output_dir))
            self._for(out).adopt(out, state.global_step)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Hand the save over; returns at once."""
        if not state.is_world_process_zero:
            return
        step = state.global_step
        out = Path(str(args.output_dir))
        mirror = self._for(out)
        ordinal = ordinal_of(step, self.save_steps)
        mirror.submit(out / f"checkpoint-{step}", step, ordinal, heldout_loss_at(state))

    def publish_final(self, files: Sequence[Path]) -> None:
        """Hand over the final model's files, for the root of `sync_dir`; on world rank 0.

        Where nothing had to be trained any more, checkpoints that a former launch left in the
        output folder are mirrored too. Raises RuntimeError before a Trainer has this callback.
        """
        mirror = self._mirror
        if mirror is None:
            if self._out is None:
                raise RuntimeError("no Trainer has this callback yet, so nothing is published")
            mirror = self._for(self._out)
            mirror.adopt(self._out, None)
        mirror.publish_final(files)

    def drain(self, timeout: float | None = None) -> DrainResult:
        """Wait until the mirror has everything, with a line every 10 s; says how it stands."""
        return DrainResult(True) if self._mirror is None else self._mirror.drain(timeout)

    def wait(self) -> DrainResult:
        """`drain`, and raise MirrorFailedError if anything is missing at the end."""
        result = self.drain()
        if not result.ok:
            raise MirrorFailedError(self.place.where, result)
        return result

    def _for(self, out: Path) -> Mirror:
        if self._mirror is None:
            _refuse_overlap(self.sync_dir, out)
            run_id = _run_id(out)
            self._mirror = Mirror(
                self.place, run_id, self.keep, say=_say_over_bar, patience=PATIENCE_SECONDS
            )
        return self._mirror


def _say_over_bar(text: str) -> None:
    """A line from another thread; on a terminal it takes the place of the progress line."""
    say(f"{ERASE_LINE}{text}" if sys.stdout.isatty() else text)


def heldout_loss_at(state: TrainerState) -> float | None:
    """The held-out loss that was measured at the current step, nats a token; None without."""
    for row in reversed(state.log_history):
        if row.get("step") != state.global_step:
            return None
        if "eval_loss" in row:
            return float(row["eval_loss"])
    return None


def _refuse_overlap(sync_dir: str, out: Path) -> None:
    path = as_path(sync_dir)
    if path is not None and folders_overlap(path, out):
        raise UserError(
            f"the mirror {sync_dir} and the output folder {out} overlap: "
            "give the mirror a folder of its own"
        )


def _run_id(out: Path) -> str:
    """The id in run.json; where there is none, a new one, kept there."""
    try:
        run_id = json.loads((out / RUN_FILE).read_bytes())["run_id"]
    except FileNotFoundError:
        run_id = uuid.uuid4().hex[:12]
        out.mkdir(parents=True, exist_ok=True)
        replace_file(out / RUN_FILE, json.dumps({"run_id": run_id}).encode() + b"\n")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{out / RUN_FILE} doesn't tell the run's id ({error!r}): move it away"
        ) from error
    if not isinstance(run_id, str) or not run_id:
        raise UserError(f"{out / RUN_FILE} has the run id {run_id!r}, not a name: move it away")
    return run_id


class StopOnSignal(TrainerCallback):
    """SIGTERM and the first Ctrl-C: finish the step, save, stop. The second Ctrl-C: leave at once.

    The handlers only note the signal; `on_step_end` acts on it, the ordinary way, so that every
    other callback sees the save. In distributed training all ranks agree on the step. `received`
    is then the signal's number, `exit_code` what the shell expects for it: 143 or 130. After an
    exception in training call `restore`, which `on_train_end` otherwise does.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._noted: int | None = None  # by this process; other ranks may be ahead of it
        self._old: dict[int, Any] = {}

    @property
    def exit_code(self) -> int | None:
        """128 + the signal's number; None if none came."""
        return None if self.received is None else 128 + self.received

    def install(self) -> None:
        """Take over SIGTERM and SIGINT; nothing happens outside the main thread."""
        if self._old or threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            self._old[number] = signal.signal(number, self._note)

    def restore(self) -> None:
        """Give SIGTERM and SIGINT back to whoever had them. May be called twice."""
        if threading.current_thread() is threading.main_thread():
            while self._old:
                number, handler = self._old.popitem()
                # None: it was not set from Python, and so can't be set from it.
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and self._noted is not None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os._exit(128 + number)
        if self._noted is None:
            self._noted = number
            # print() may be what the signal interrupted, and can't be entered twice.
            os.write(2, b"\nstopping after this step; a second Ctrl-C leaves at once\n")

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.install()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        if self._agreed(args):
            control.should_save = True
            control.should_training_stop = True
        return control

    def _agreed(self, args: TrainingArguments) -> bool:
        """A signal came, to any of the processes."""
        number = self._noted
        if getattr(args, "world_size", 1) > 1 and torch.distributed.is_initialized():
            largest = torch.tensor([number or 0], device=args.device)
            torch.distributed.all_reduce(largest, op=torch.distributed.ReduceOp.MAX)
            number = int(largest.item()) or None
        self.received = number
        return number is not None

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.restore()


class StuckWeights(TrainerCallback):
    """Warns, once a tensor, of weights that kept every bit for `every` steps.

    That is how updates look that the weights' precision rounds away.
    """

    def __init__(self, every: int = 100) -> None:
        self.every = every
        self.stuck: set[str] = set()
        self._before: dict[str, int] = {}

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if state.global_step % self.every or not state.is_world_process_zero:
            return
        now = {name: _checksum(weight) for name, weight in kwargs["model"].named_parameters()}
        same = {name for name, value in now.items() if self._before.get(name) == value}
        if new := sorted(same - self.stuck):
            self.stuck.update(new)
            _say_over_bar(
                f"warning: no bit of {', '.join(new[:3])}{' …' if len(new) > 3 else ''} "
                f"({len(new)} of {len(now)} tensors) changed in {self.every} steps: "
                "raise --lr, or train with --precision fp32"
            )
        self._before = now


def _checksum(weight: torch.Tensor) -> int:
    return zlib.crc32(weight.detach().cpu().contiguous().view(torch.uint8).numpy().data)

"""How training goes, in lines: one that updates on a terminal, plain ones in a pipe or notebook."""

import contextlib
import sys
import threading
import time
from collections import deque
from typing import Any, TextIO

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from tinyllm.console import SECONDS_BETWEEN_LINES, duration

ERASE_LINE = "\x1b[2K"  # ECMA-48: EL
SECONDS_OF_SILENCE = 15.0
SECONDS_BETWEEN_UPDATES = 0.2
SECONDS_WORTH_NAMING = 1.0
WINDOW_SECONDS = 60.0


class ProgressLines(TrainerCallback):
    """Step, loss, learning rate, tokens/s and time left.

    tokens_per_step  of all processes together; None: steps/s are given instead
    stream           default: standard output, looked up at each line

    In a pipe there is a line every 10 s while steps go by, and from a thread of its own one after
    15 s of silence, which names the phase: evaluating, saving. Only world rank 0 writes.
    """

    def __init__(self, tokens_per_step: int | None = None, stream: TextIO | None = None) -> None:
        self._tokens_per_step = tokens_per_step
        self._stream = stream
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticker: threading.Thread | None = None
        self._state: TrainerState | None = None
        self._control: TrainerControl | None = None
        self._between_steps = False
        self._phase_since = 0.0
        self._said = 0.0
        self._logged: dict[str, float] = {}
        self._passed: deque[tuple[float, int]] = deque()  # (time, step), one minute of it

    # ---- events ----

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if not state.is_world_process_zero:
            return
        self._state, self._control = state, control
        self._passed.clear()
        self._passed.append((time.monotonic(), state.global_step))
        self._said = self._phase_since = time.monotonic()
        self._ended.clear()
        self._ticker = threading.Thread(target=self._tick, name="progress", daemon=True)
        self._ticker.start()

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if self._between_steps and self._passed:
            # Time spent on evaluating and saving says nothing of the speed of steps.
            pause = time.monotonic() - self._phase_since
            self._passed = deque((then + pause, step) for then, step in self._passed)
        self._between_steps = False

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if self._ticker is None:
            return
        now = time.monotonic()
        with self._lock:
            self._passed.append((now, state.global_step))
            while now - self._passed[0][0] > WINDOW_SECONDS and len(self._passed) > 2:
                self._passed.popleft()
        self._between_steps, self._phase_since = True, now
        first_or_last = len(self._passed) == 2 or state.global_step >= state.max_steps
        wait = SECONDS_BETWEEN_UPDATES if self._is_terminal() else SECONDS_BETWEEN_LINES
        if not first_or_last and now - self._said >= wait:
            self._write(self.line())

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        if self._ticker is None:
            return
        news = {"loss", "eval_loss"} & (logs or {}).keys()
        self._logged.update(logs or {})
        if news and (len(self._passed) == 2 or state.global_step >= state.max_steps):
            self._write(self.line())

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the thread and, on a terminal, the line. For after an exception; may be repeated."""
        if self._ticker is None:
            return
        self._ended.set()
        self._ticker.join()
        self._ticker = None
        if self._is_terminal():
            self._write(f"{self.line()}\n")

    # ---- the line ----

    def line(self) -> str:
        """The line as it would be written now."""
        state = self._state
        assert state is not None
        parts = [f"step {state.global_step:,}/{state.max_steps:,}"]
        if "loss" in self._logged:
            parts.append(f"loss {self._logged['loss']:.3f}")
        if "eval_loss" in self._logged:
            parts.append(f"held-out {self._logged['eval_loss']:.3f}")
        if "learning_rate" in self._logged:
            parts.append(f"lr {self._logged['learning_rate']:.2e}")
        speed = self._steps_per_second()
        if speed:
            tokens = self._tokens_per_step
            parts.append(
                f"{speed:.2f} steps/s" if tokens is None else f"{speed * tokens:,.0f} tokens/s"
            )
            left = max(0, state.max_steps - state.global_step)
            parts.append(f"{duration(left / speed)} left" if left else "last step")
        if phase := self._phase():
            parts.append(phase)
        return ", ".join(parts)

    def _steps_per_second(self) -> float:
        with self._lock:
            passed = list(self._passed)
        (first, first_step), (last, last_step) = passed[0], passed[-1]
        return (last_step - first_step) / (last - first) if last > first else 0.0

    def _phase(self) -> str:
        """What goes on between two steps; Trainer takes each flag back when that is done."""
        if not self._between_steps or self._control is None:
            return ""
        seconds = time.monotonic() - self._phase_since
        if seconds < SECONDS_WORTH_NAMING:
            return ""
        if self._control.should_evaluate:
            return f"evaluating for {duration(seconds)}"
        return f"saving for {duration(seconds)}" if self._control.should_save else ""

    # ---- output ----

    def _tick(self) -> None:
        wait = 1.0 if self._is_terminal() else SECONDS_OF_SILENCE
        while not self._ended.wait(max(0.05, self._said + wait - time.monotonic())):
            if time.monotonic() - self._said >= wait:
                self._write(self.line())

    def _out(self) -> TextIO:
        return self._stream or sys.stdout

    def _is_terminal(self) -> bool:
        return self._out().isatty()

    def _write(self, line: str) -> None:
        with self._lock:
            self._said = time.monotonic()
            # The cursor goes back to the start, so that the next line from elsewhere covers this.
            text = f"{ERASE_LINE}{line}\r" if self._is_terminal() else f"{line}\n"
            with contextlib.suppress(OSError, ValueError):  # a closed pipe must not end training
                self._out().write(text)
                self._out().flush()

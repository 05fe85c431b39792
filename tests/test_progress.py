"""What training says: plain lines in a pipe, one line that updates on a terminal."""

import io
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from transformers import TrainerControl, TrainerState

from tinyllm.progress import ERASE_LINE, ProgressLines

NO_ARGS: Any = SimpleNamespace()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Run:
    """Calls the events in Trainer's order."""

    def __init__(self, lines: ProgressLines, max_steps: int = 100, main: bool = True) -> None:
        self.lines, self.control, self.state = lines, TrainerControl(), TrainerState()
        self.state.max_steps, self.state.is_world_process_zero = max_steps, main
        self.call("on_train_begin")

    def call(self, event: str, **more: Any) -> None:
        getattr(self.lines, event)(NO_ARGS, self.state, self.control, **more)

    def step(self, seconds: float = 0.001, **logs: float) -> None:
        self.call("on_step_begin")
        time.sleep(seconds)
        self.state.global_step += 1
        self.call("on_step_end")
        if logs:
            self.call("on_log", logs=logs)

    def end(self) -> None:
        self.call("on_train_end")


def test_the_first_and_the_last_step_are_told_with_all_figures() -> None:
    out = io.StringIO()
    run = Run(ProgressLines(tokens_per_step=1000, stream=out), max_steps=5)
    for _ in range(5):
        run.step(loss=2.5, learning_rate=1e-3)
    run.end()
    first, last = out.getvalue().splitlines()
    assert first.startswith("step 1/5, loss 2.500, lr 1.00e-03, ")
    assert "tokens/s" in first
    assert first.endswith(" left")
    assert last.startswith("step 5/5")


def test_without_tokens_steps_per_second_are_given() -> None:
    out = io.StringIO()
    run = Run(ProgressLines(stream=out))
    run.step(loss=1.0)
    run.end()
    assert "steps/s" in out.getvalue()


def test_lines_are_limited_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    run = Run(ProgressLines(stream=out), max_steps=10_000)
    for _ in range(50):
        run.step(loss=1.0)
    assert len(out.getvalue().splitlines()) == 1
    monkeypatch.setattr("tinyllm.progress.SECONDS_BETWEEN_LINES", 0.0)
    run.step()
    run.end()
    assert len(out.getvalue().splitlines()) == 2


@pytest.mark.parametrize(
    ("flag", "says"), [("should_evaluate", "evaluating for"), ("should_save", "saving for")]
)
def test_a_long_silence_is_broken_and_its_phase_named(
    flag: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinyllm.progress.SECONDS_OF_SILENCE", 0.05)
    monkeypatch.setattr("tinyllm.progress.SECONDS_WORTH_NAMING", 0.0)
    out = io.StringIO()
    run = Run(ProgressLines(stream=out))
    setattr(run.control, flag, True)
    run.step()
    while says not in out.getvalue():
        time.sleep(0.01)
    setattr(run.control, flag, False)
    already = len(out.getvalue())
    while len(out.getvalue()) == already:
        time.sleep(0.01)
    run.end()
    assert says not in out.getvalue()[already:].splitlines()[-1]


def test_a_long_save_does_not_count_as_slow_steps() -> None:
    run = Run(ProgressLines(stream=io.StringIO()))
    run.step(0.01)
    run.control.should_save = True
    run.step(0.01)
    time.sleep(0.5)
    run.step(0.01)
    speed = run.lines._steps_per_second()
    run.end()
    assert speed > 3 / 0.4


def test_a_terminal_has_one_line_that_updates() -> None:
    out = Terminal()
    run = Run(ProgressLines(stream=out), max_steps=2)
    for _ in range(2):
        run.step(loss=1.0)
    run.end()
    assert out.getvalue().count("\n") == 1
    assert out.getvalue().startswith(f"{ERASE_LINE}step 1/2")


def test_other_ranks_say_nothing() -> None:
    out = io.StringIO()
    run = Run(ProgressLines(stream=out), max_steps=1, main=False)
    run.step(loss=1.0)
    run.end()
    assert out.getvalue() == ""


def test_the_thread_ends_with_training_and_closing_again_is_fine() -> None:
    lines = ProgressLines(stream=io.StringIO())
    run = Run(lines)
    run.end()
    lines.close()
    assert not any(thread.name == "progress" for thread in threading.enumerate())


def test_a_closed_pipe_does_not_end_training() -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    run = Run(ProgressLines(stream=Closed()), max_steps=1)
    run.step(loss=1.0)
    run.end()
    assert run.state.global_step == 1

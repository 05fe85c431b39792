"""The callbacks with arguments as Trainer gives them, and with Trainer itself."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from saves import make_save, names, write_files
from transformers import Trainer, TrainerControl, TrainerState, TrainingArguments

from tinyllm.callbacks import (
    AsyncCheckpointSync,
    MirrorFailedError,
    StopOnSignal,
    StuckWeights,
)
from tinyllm.checkpoints import list_checkpoints, verify

REPOSITORY = Path(__file__).parent.parent


def at(step: int, main_process: bool = True) -> TrainerState:
    state = TrainerState()
    state.global_step, state.max_steps = step, 100
    state.is_world_process_zero = main_process
    return state


def arguments(out: Path) -> Any:
    return SimpleNamespace(output_dir=str(out), world_size=1)


def save(sync: AsyncCheckpointSync, out: Path, *steps: int) -> None:
    for step in steps:
        write_files(out / f"checkpoint-{step}", step)
        sync.on_save(arguments(out), at(step), TrainerControl())


def steps(folder: Path) -> list[int]:
    return [found.step for found in list_checkpoints(folder)]


# ---- AsyncCheckpointSync ----


def test_plain_checkpoints_are_mirrored_with_retention(tmp_path: Path) -> None:
    out, mirror = tmp_path / "out", tmp_path / "sync"
    sync = AsyncCheckpointSync(str(mirror), keep_recent=1, keep_every=2, save_steps=10)
    for step in (10, 20, 30, 35):
        save(sync, out, step)
        sync.wait()
    assert steps(mirror) == [20, 35]
    assert all(verify(found) is None for found in list_checkpoints(mirror))


def test_the_run_id_is_that_of_run_json(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text('{"run_id": "mine", "format": 1}')
    sync = AsyncCheckpointSync(tmp_path / "sync", 1, 0, 10)
    save(sync, out, 10)
    sync.wait()
    assert [found.run_id for found in list_checkpoints(tmp_path / "sync")] == ["mine"]


def test_without_run_json_one_id_is_made_and_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for step in (10, 20):
        sync = AsyncCheckpointSync(tmp_path / "sync", 2, 0, 10)
        save(sync, out, step)
        sync.wait()
    kept = json.loads((out / "run.json").read_text())["run_id"]
    assert {found.run_id for found in list_checkpoints(tmp_path / "sync")} == {kept}


def test_other_ranks_do_nothing(tmp_path: Path) -> None:
    sync = AsyncCheckpointSync(tmp_path / "sync", 1, 0, 10)
    args = arguments(tmp_path / "out")
    sync.on_train_begin(args, at(0, main_process=False), TrainerControl())
    sync.on_save(args, at(10, main_process=False), TrainerControl())
    assert sync.wait().ok
    assert names(tmp_path / "sync") == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", [".", "inside", "..", "../out", "../link"])
def test_a_mirror_that_overlaps_the_output_is_refused(tmp_path: Path, place: str) -> None:
    out = tmp_path / "above" / "out"
    out.mkdir(parents=True)
    (tmp_path / "above" / "link").symlink_to(out)
    sync = AsyncCheckpointSync(out / place, 1, 0, 10)
    with pytest.raises(ValueError, match="overlap"):
        sync.on_init_end(arguments(out), at(0), TrainerControl())
    with pytest.raises(ValueError, match="overlap"):
        sync.on_save(arguments(out), at(10), TrainerControl())


@pytest.mark.parametrize(
    ("recent", "every", "interval"), [(0, 0, 10), (-1, 0, 10), (1, -1, 10), (1, 0, 0)]
)
def test_counts_that_mean_nothing_are_refused(
    tmp_path: Path, recent: int, every: int, interval: int
) -> None:
    with pytest.raises(ValueError, match=r"is (0|-1)"):
        AsyncCheckpointSync(tmp_path / "sync", recent, every, interval)


def test_a_mirror_that_failed_raises_at_the_end_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinyllm.callbacks.PATIENCE_SECONDS", 0.2)
    out = tmp_path / "out"
    sync = AsyncCheckpointSync(tmp_path / "sync", 1, 0, 10)
    (tmp_path / "sync").rmdir()
    save(sync, out, 10)
    with pytest.raises(MirrorFailedError, match=rf"cp -r {out}/checkpoint-10") as caught:
        sync.wait()
    assert caught.value.result.missing == [out / "checkpoint-10"]


def test_a_damaged_run_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("{")
    sync = AsyncCheckpointSync(tmp_path / "sync", 1, 0, 10)
    with pytest.raises(ValueError, match=r"run\.json"):
        sync.on_train_begin(arguments(tmp_path / "out"), at(0), TrainerControl())


def test_a_fresh_start_leaves_another_runs_mirror_alone(tmp_path: Path) -> None:
    old = make_save(tmp_path / "sync", 9000, run_id="old")
    sync = AsyncCheckpointSync(tmp_path / "sync", 1, 0, 10)
    sync.on_train_begin(arguments(tmp_path / "out"), at(0), TrainerControl())
    save(sync, tmp_path / "out", 10)
    sync.wait()
    assert steps(tmp_path / "sync") == [10, 9000]
    assert verify(old) is None


def test_the_final_model_goes_to_the_root(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sync = AsyncCheckpointSync(tmp_path / "sync", 1, 0, 10)
    save(sync, out, 10)
    (out / "config.json").write_text("{}")
    sync.publish_final([out / "config.json"])
    sync.wait()
    assert names(tmp_path / "sync") == ["checkpoint-10", "config.json"]


def test_a_run_that_is_there_already_still_publishes_and_mirrors(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text('{"run_id": "mine"}')
    make_save(out, 10, run_id="mine")
    (out / "config.json").write_text("{}")
    sync = AsyncCheckpointSync(tmp_path / "sync", 1, 0, 10)
    sync.on_init_end(arguments(out), at(0), TrainerControl())
    sync.publish_final([out / "config.json"])
    sync.wait()
    assert names(tmp_path / "sync") == ["checkpoint-10", "config.json"]


class Line(torch.nn.Module):
    """A model of one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": ((x * self.weight - labels) ** 2).mean()}


def train(out: Path, steps: int, *callbacks: Any, **settings: Any) -> Trainer:
    data = [{"x": torch.tensor([1.0]), "labels": torch.tensor([2.0])}] * 64
    resume = settings.pop("resume", None)
    args = TrainingArguments(
        output_dir=str(out), max_steps=steps, save_steps=2, use_cpu=True, report_to="none",
        disable_tqdm=True, per_device_train_batch_size=2, logging_steps=1, **settings,
    )  # fmt: skip
    trainer = Trainer(Line(), args, train_dataset=data, callbacks=list(callbacks))
    trainer.train(resume_from_checkpoint=resume)
    return trainer


@pytest.mark.slow
def test_with_trainers_own_saves_and_a_resume_from_the_mirror(tmp_path: Path) -> None:
    out, mirror = tmp_path / "out", tmp_path / "sync"
    sync = AsyncCheckpointSync(mirror, keep_recent=1, keep_every=2, save_steps=2)
    train(out, 7, sync)
    sync.wait()
    assert (steps(mirror), steps(out)) == ([4, 7], [7])
    again = AsyncCheckpointSync(mirror, keep_recent=1, keep_every=2, save_steps=2)
    train(out, 10, again, resume=str(mirror / "checkpoint-7"))
    again.wait()
    assert (steps(mirror), steps(out)) == ([4, 8, 10], [10])


# ---- StopOnSignal ----


@pytest.fixture
def stop() -> Iterator[StopOnSignal]:
    callback = StopOnSignal()
    callback.on_train_begin(arguments(Path()), at(0), TrainerControl())
    yield callback
    callback.restore()


def step_end(callback: StopOnSignal) -> TrainerControl:
    return callback.on_step_end(arguments(Path()), at(5), TrainerControl())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_and_stops_after_the_step(
    stop: StopOnSignal, number: signal.Signals, code: int
) -> None:
    assert not step_end(stop).should_training_stop
    signal.raise_signal(number)
    control = step_end(stop)
    assert (control.should_save, control.should_training_stop) == (True, True)
    assert (stop.received, stop.exit_code) == (number, code)


def test_without_a_signal_there_is_no_exit_code(stop: StopOnSignal) -> None:
    step_end(stop)
    assert (stop.received, stop.exit_code) == (None, None)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_after_a_signal_leaves_at_once(
    stop: StopOnSignal, first: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    signal.raise_signal(first)
    assert left == []
    signal.raise_signal(signal.SIGINT)
    assert left == [130]


def test_a_repeated_sigterm_changes_nothing(stop: StopOnSignal) -> None:
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)
    step_end(stop)
    assert stop.exit_code == 143


def test_the_old_handlers_come_back_at_the_end(stop: StopOnSignal) -> None:
    during = signal.getsignal(signal.SIGINT)
    stop.on_train_end(arguments(Path()), at(5), TrainerControl())
    assert during == stop._note
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_outside_the_main_thread_no_handler_is_installed() -> None:
    callback = StopOnSignal()
    thread = threading.Thread(target=callback.install)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
def test_with_trainer_the_signals_save_is_mirrored(tmp_path: Path) -> None:
    stop = StopOnSignal()
    sync = AsyncCheckpointSync(tmp_path / "sync", 1, 0, 2)

    class Interrupt(StopOnSignal):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> TrainerControl:
            if state.global_step == 3:
                signal.raise_signal(signal.SIGTERM)
            return control

    train(tmp_path / "out", 50, Interrupt(), stop, sync)
    sync.wait()
    assert stop.exit_code == 143
    assert steps(tmp_path / "sync") == [3]


INTERRUPTED = """
import signal, time
from types import SimpleNamespace
from tinyllm.callbacks import StopOnSignal
stop = StopOnSignal()
stop.install()
print("ready", flush=True)
while True:
    time.sleep(0.01)
    stop.on_step_end(SimpleNamespace(world_size=1), None, SimpleNamespace())
    if stop.received and MODE == "once":
        raise SystemExit(stop.exit_code)
"""


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize(
    ("mode", "signals", "code"),
    [
        ("once", [signal.SIGTERM], 143),
        ("once", [signal.SIGINT], 130),
        ("twice", [signal.SIGINT] * 2, 130),
    ],
)
def test_a_real_process_leaves_with_the_code_the_shell_expects(
    mode: str, signals: list[signal.Signals], code: int
) -> None:
    script = INTERRUPTED.replace("MODE", repr(mode))
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stdout.readline() == "ready\n"
            for number in signals:
                process.send_signal(number)
                while "stopping" not in (process.stderr.readline() or "stopping"):
                    pass
            assert process.wait() == code
        finally:
            process.kill()


RANK = """
import os, signal, sys
from types import SimpleNamespace
import torch
from tinyllm.callbacks import StopOnSignal
meeting, rank = sys.argv[1:]
torch.distributed.init_process_group("gloo", init_method=meeting, world_size=2, rank=int(rank))
stop = StopOnSignal()
stop.install()
for step in range(5):
    if step == 2 and rank == "1":
        signal.raise_signal(signal.SIGTERM)
    args = SimpleNamespace(world_size=2, device=torch.device("cpu"))
    if getattr(stop.on_step_end(args, None, SimpleNamespace()), "should_training_stop", False):
        break
print(step, stop.exit_code)
torch.distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_all_ranks_stop_at_the_same_step(tmp_path: Path) -> None:
    meeting = f"file://{tmp_path}/meeting"
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, meeting, str(rank)],
            cwd=REPOSITORY, stdout=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [process.communicate()[0] for process in ranks]
    assert said == ["2 143\n", "2 143\n"]


def stuck_after(weights: list[torch.Tensor], every: int = 2) -> set[str]:
    """Names the callback calls stuck when a model's only weight takes these values step by step."""
    watch, model = StuckWeights(every), torch.nn.Linear(2, 1, bias=False)
    for step, weight in enumerate(weights, 1):
        model.weight.data = weight
        watch.on_step_end(None, TrainerState(global_step=step), TrainerControl(), model=model)
    return watch.stuck


def test_a_weight_that_kept_every_bit_is_called_stuck(capsys):
    assert stuck_after([torch.ones(1, 2)] * 4) == {"weight"}
    assert "no bit of weight" in capsys.readouterr().out


def test_a_weight_that_moved_by_one_bit_is_not():
    moved = torch.nextafter(torch.ones(1, 2), torch.zeros(1, 2))
    assert stuck_after([torch.ones(1, 2), torch.ones(1, 2), moved, moved]) == set()


def test_a_stuck_weight_is_named_once(capsys):
    stuck_after([torch.ones(1, 2)] * 8)
    assert capsys.readouterr().out.count("no bit of") == 1

"""A run that is killed, stopped, moved or finished, and launched again with --resume."""

import json
import random
import shutil
import signal
from pathlib import Path

import pytest
from tiny_runs import arguments, run_child, weights, write_corpus

import train

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tiny_preset")]


def logged_steps(out: Path, step: int) -> list[int]:
    """Steps at which a training loss was logged, as the checkpoint's state has them."""
    state = json.loads((out / f"checkpoint-{step}" / "trainer_state.json").read_text())
    return [row["step"] for row in state["log_history"] if "loss" in row]


@pytest.mark.faults
def test_a_run_killed_at_random_steps_of_three_epochs_ends_with_the_same_weights(
    corpus: Path, tmp_path: Path
):
    command = arguments(corpus, tmp_path / "straight", steps=60)
    straight = run_child(command)
    assert straight.returncode == 0, straight.stderr

    killed = tmp_path / "killed"
    command = [*arguments(corpus, killed, steps=60), "--resume"]
    draw = random.Random(7)
    for at in sorted(draw.sample(range(1, 60), 5)):
        assert run_child(command, at).returncode == -signal.SIGKILL
    last = run_child(command)
    assert last.returncode == 0, last.stderr
    assert weights(killed) == weights(tmp_path / "straight")

    steps = logged_steps(killed, 60)
    assert steps == sorted(set(steps))
    assert steps[-1] == 60


@pytest.mark.faults
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_the_step_and_prints_the_command_to_go_on(
    corpus: Path, tmp_path: Path, number: signal.Signals
):
    out, mirror = tmp_path / "out", tmp_path / "mirror"
    command = arguments(corpus, out, "--sync-out", str(mirror))
    stopped = run_child(command, at=6, number=number)
    assert stopped.returncode == 128 + number, stopped.stderr
    assert "python train.py" in stopped.stdout
    assert "--resume" in stopped.stdout
    assert (out / "checkpoint-6" / "manifest.json").exists()
    assert (mirror / "checkpoint-6" / "manifest.json").exists()

    resumed = run_child([*command, "--resume"])
    assert resumed.returncode == 0, resumed.stderr
    straight = run_child(arguments(corpus, tmp_path / "straight"))
    assert straight.returncode == 0, straight.stderr
    assert weights(out) == weights(tmp_path / "straight") == weights(mirror)


@pytest.mark.faults
def test_with_the_machine_lost_the_mirror_alone_continues_the_run(corpus: Path, tmp_path: Path):
    out, mirror = tmp_path / "out", tmp_path / "mirror"
    command = [*arguments(corpus, out, "--sync-out", str(mirror)), "--resume"]
    assert run_child(command, at=10, number=signal.SIGTERM).returncode == 143
    shutil.rmtree(out)
    again = run_child(command, cache=tmp_path / "another-cache")
    assert again.returncode == 0, again.stderr
    assert "resuming at step 10" in again.stdout
    straight = run_child(arguments(corpus, tmp_path / "straight"))
    assert straight.returncode == 0, straight.stderr
    assert weights(out) == weights(tmp_path / "straight")


@pytest.mark.parametrize("prepare", ["absent", "empty"])
@pytest.mark.parametrize("mirrored", [False, True])
def test_nothing_to_resume_starts_fresh_and_says_so(
    corpus: Path, tmp_path: Path, prepare: str, mirrored: bool, capsys: pytest.CaptureFixture[str]
):
    out, mirror = tmp_path / "out", tmp_path / "mirror"
    if prepare == "empty":
        out.mkdir()
        mirror.mkdir()
    more = ["--sync-out", str(mirror)] if mirrored else []
    assert train.main(arguments(corpus, out, "--resume", *more, steps=2)) == 0
    assert "nothing to resume, starting at step 0" in capsys.readouterr().out


def test_a_finished_run_resumed_trains_no_step_more(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    command = arguments(corpus, tmp_path / "out")
    train.main(command)
    before = weights(tmp_path / "out")
    assert train.main([*command, "--resume"]) == 0
    assert "nothing left to train" in capsys.readouterr().out
    assert weights(tmp_path / "out") == before


def test_a_finished_run_given_more_steps_goes_on(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    train.main(arguments(corpus, tmp_path / "out"))
    assert train.main([*arguments(corpus, tmp_path / "out", steps=16), "--resume"]) == 0
    assert "--epochs / --max-steps was 12 and is 16 from step 12 on" in capsys.readouterr().out
    assert (tmp_path / "out" / "checkpoint-16").is_dir()


def test_the_same_global_batch_may_be_cut_differently(corpus: Path, tmp_path: Path):
    command = arguments(corpus, tmp_path / "out", steps=4)
    train.main(command)
    command = [*arguments(corpus, tmp_path / "out", steps=8), "--resume"]
    command += ["--batch-size", "4", "--grad-accum", "1"]
    assert train.main(command) == 0


def test_a_changed_learning_rate_takes_effect_and_is_said(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    train.main(arguments(corpus, out, "--lr", "0.001", steps=4))
    train.main([*arguments(corpus, out, "--lr", "0.0005", steps=8), "--resume"])
    assert "--lr was 0.001 and is 0.0005 from step 4 on" in capsys.readouterr().out
    state = json.loads((out / "checkpoint-8" / "trainer_state.json").read_text())
    rates = {row["step"]: row["learning_rate"] for row in state["log_history"] if "loss" in row}
    assert rates[8] < 0.0005


@pytest.mark.parametrize(
    ("flag", "value", "old"),
    [
        ("--size", "nano", "tiny"),
        ("--block-size", "64", "32"),
        ("--scope", "full", "voice"),
        ("--seed", "7", "42"),
        ("--batch-size", "3", "4"),
        ("--precision", "bf16-autocast", "fp32"),
        ("--tokenizer", "auto-other", ""),
    ],
)
def test_a_setting_that_makes_another_model_is_refused_by_name(
    corpus: Path,
    tmp_path: Path,
    flag: str,
    value: str,
    old: str,
    capsys: pytest.CaptureFixture[str],
):
    out = tmp_path / "out"
    train.main(arguments(corpus, out, steps=4))
    if flag == "--tokenizer":
        train.main(arguments(corpus, tmp_path / "other", "--tokenizer", "auto", steps=2))
        value = str(tmp_path / "other")
    capsys.readouterr()
    command = [*arguments(corpus, out, steps=8), "--resume", flag, value]
    assert train.main(command) == 2
    error = capsys.readouterr().err
    assert flag in error
    assert old in error
    assert error.count("\n") == 1


def test_logs_that_grew_meanwhile_leave_a_resumed_run_its_own_data(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    train.main(arguments(corpus, tmp_path / "straight", steps=8))
    train.main(arguments(corpus, out, steps=4))
    with (corpus / "chats.jsonl").open("a") as file:
        file.write('{"messages": [{"role": "assistant", "content": "a new line"}]}\n')
    assert train.main([*arguments(corpus, out, steps=8), "--resume"]) == 0
    assert "goes on with the data it began with" in capsys.readouterr().out


def test_logs_that_are_gone_do_not_stop_a_run_whose_data_is_prepared(corpus: Path, tmp_path: Path):
    out = tmp_path / "out"
    train.main(arguments(corpus, tmp_path / "straight", steps=8))
    train.main(arguments(corpus, out, steps=4))
    shutil.rmtree(corpus)
    assert train.main([*arguments(corpus, out, steps=8), "--resume"]) == 0


def test_another_file_in_data_is_mapped_and_said(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    train.main(arguments(corpus, out, steps=4))
    more = write_corpus(tmp_path / "more", seed=1)
    command = [*arguments(corpus, out, steps=8), "--resume"]
    command[1:2] = [str(corpus), str(more)]
    assert train.main(command) == 0
    said = capsys.readouterr().out
    assert "the data changed since this run began: step 4 goes on" in said


def test_a_damaged_checkpoint_is_named_and_the_next_older_taken(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    straight = tmp_path / "straight"
    train.main(arguments(corpus, straight))
    train.main(arguments(corpus, out, "--keep-recent", "3"))
    newest = out / "checkpoint-12" / "optimizer.pt"
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    newest.write_bytes(data)
    assert train.main([*arguments(corpus, out, "--keep-recent", "3"), "--resume"]) == 0
    said = capsys.readouterr().out
    assert "optimizer.pt" in said
    assert "resuming at step 8" in said
    assert (out / "damaged-checkpoint-12").is_dir()
    assert weights(out) == weights(straight)

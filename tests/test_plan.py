from argparse import Namespace
from pathlib import Path

import pytest

from tinyllm.errors import UserError
from tinyllm.plan import check_numbers, open_places, resume_command, schedule

GOOD = {
    "batch_size": 8,
    "grad_accum": 4,
    "save_steps": 500,
    "keep_recent": 1,
    "keep_every": 0,
    "block_size": 256,
    "seed": 42,
    "num_proc": 2,
    "max_steps": -1,
    "epochs": 1.0,
    "lr": None,
    "eval_fraction": 0.01,
}


def args(**changed: object) -> Namespace:
    return Namespace(**{**GOOD, **changed})


def test_good_numbers_pass():
    check_numbers(args())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 0),
        ("grad_accum", -1),
        ("save_steps", 0),
        ("keep_recent", 0),
        ("keep_recent", -1),
        ("keep_every", -1),
        ("block_size", 4),
        ("seed", -1),
        ("num_proc", 0),
        ("max_steps", 0),
        ("max_steps", -2),
        ("epochs", 0.0),
        ("epochs", float("nan")),
        ("lr", -1e-3),
        ("eval_fraction", 1.0),
        ("eval_fraction", -0.1),
    ],
)
def test_a_number_no_run_can_have_is_refused_by_its_flag(name: str, value: float):
    with pytest.raises(UserError) as refusal:
        check_numbers(args(**{name: value}))
    assert f"--{name.replace('_', '-')}" in str(refusal.value)
    assert str(value) in str(refusal.value)


def test_an_epoch_counts_its_smaller_last_step():
    assert schedule(blocks=33, args=args()).steps_per_epoch == 2


def test_epochs_may_be_a_fraction():
    assert schedule(blocks=320, args=args(epochs=0.5)).total_steps == 5


def test_max_steps_overrides_epochs():
    assert schedule(blocks=320, args=args(max_steps=7)).total_steps == 7


def test_processes_share_an_epoch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert schedule(blocks=64, args=args()).steps_per_epoch == 1


@pytest.mark.parametrize(("steps", "warmup"), [(1, 1), (50, 5), (200, 10), (5000, 100)])
def test_warm_up_is_never_over_a_tenth_of_a_longer_run(steps: int, warmup: int):
    assert schedule(blocks=32, args=args(max_steps=steps)).warmup_steps == warmup


@pytest.mark.parametrize("sync", ["out", "out/mirror", "."])
def test_a_mirror_that_overlaps_out_is_refused(tmp_path: Path, sync: str):
    with pytest.raises(UserError, match="overlap"):
        open_places(tmp_path / "out", str(tmp_path / sync))


def test_a_mirror_through_a_link_to_out_is_refused(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with pytest.raises(UserError, match="overlap"):
        open_places(tmp_path / "out", str(tmp_path / "link"))


def test_an_out_that_is_a_file_is_refused(tmp_path: Path):
    (tmp_path / "out").write_text("")
    with pytest.raises(UserError, match="can't be written"):
        open_places(tmp_path / "out", None)


def test_checking_folders_leaves_nothing_in_them(tmp_path: Path):
    open_places(tmp_path / "out", str(tmp_path / "mirror"))
    assert not list((tmp_path / "out").iterdir())


def test_the_resume_command_quotes_and_adds_resume_once():
    assert (
        resume_command(["--data", "my logs", "--resume"])
        == "python train.py --data 'my logs' --resume"
    )

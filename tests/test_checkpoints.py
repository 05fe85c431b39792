"""Which checkpoint a run goes on from, and what happens to all others."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest
from saves import RUN, make_save, names, write_files

from tinyllm import checkpoints
from tinyllm.checkpoints import (
    Checkpoint,
    Choice,
    FolderPlace,
    Held,
    Keep,
    bring_down,
    list_checkpoints,
    prune,
    set_aside_earlier,
    set_aside_newer,
    staging_folder,
    verify,
)
from tinyllm.checkpoints.leftovers import new_holder, to_old, to_trash
from tinyllm.errors import UserError


def choose(out: Path, mirror: Path | None = None) -> Choice:
    return checkpoints.choose(FolderPlace(out), mirror and FolderPlace(mirror))


def held(saved: Checkpoint) -> Held:
    """How its folder shows it."""
    return Held(FolderPlace(saved.path.parent), saved.step, saved.run_id, saved.ordinal, saved.loss)


def steps(folder: Path) -> list[int]:
    return [found.step for found in list_checkpoints(folder)]


def damage(path: Path, how: str) -> None:
    """Do to one checkpoint what disks and kills do."""
    weights = path / "model.safetensors"
    if how == "flipped bit":
        data = bytearray(weights.read_bytes())
        data[len(data) // 2] ^= 1
        weights.write_bytes(data)
    elif how == "zeroed tail":
        size = weights.stat().st_size
        os.truncate(weights, size // 2)
        os.truncate(weights, size)
    elif how == "cut":
        os.truncate(weights, 10)
    elif how == "missing":
        (path / "nested" / "optimizer.pt").unlink()
    elif how == "cut manifest":
        os.truncate(path / "manifest.json", 40)
    elif how == "empty manifest":
        os.truncate(path / "manifest.json", 0)


KINDS = ("flipped bit", "zeroed tail", "cut", "missing", "cut manifest", "empty manifest")


# ---- listing and verifying ----


def test_only_whole_checkpoints_are_listed_in_order_of_steps(tmp_path: Path) -> None:
    for step in (100, 20, 3):
        make_save(tmp_path, step)
    write_files(tmp_path / "checkpoint-7", 7)  # no manifest
    write_files(tmp_path / "checkpoint-final", 8)
    (tmp_path / "checkpoint-9").touch()
    staging_folder(tmp_path, "checkpoint-200")
    new_holder(tmp_path, RUN)
    (tmp_path / "checkpoint-100").rename(tmp_path / "checkpoint-0100")
    assert steps(tmp_path) == [3, 20]


def test_a_folder_that_is_not_there_has_no_checkpoints(tmp_path: Path) -> None:
    assert list_checkpoints(tmp_path / "none") == []


def test_a_checkpoint_renamed_to_another_step_is_not_listed(tmp_path: Path) -> None:
    make_save(tmp_path, 20).path.rename(tmp_path / "checkpoint-900")
    assert steps(tmp_path) == []


def test_somebody_elses_manifest_json_makes_no_checkpoint(tmp_path: Path) -> None:
    write_files(tmp_path / "checkpoint-5", 5)
    (tmp_path / "checkpoint-5" / "manifest.json").write_text('{"name": "a web app"}')
    choice = choose(tmp_path)
    assert (choice.checkpoint, choice.damaged) == (None, [])
    assert choice.unmarked == [str(tmp_path / "checkpoint-5")]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("flipped bit", "model.safetensors has another content"),
        ("zeroed tail", "model.safetensors has another content"),
        ("cut", "model.safetensors has 10 bytes instead of 3000"),
        ("missing", "nested/optimizer.pt is missing"),
        ("cut manifest", "manifest.json is cut or damaged"),
    ],
)
def test_verify_names_the_damaged_file(tmp_path: Path, how: str, says: str) -> None:
    saved = make_save(tmp_path, 10)
    damage(saved.path, how)
    assert says in (verify(saved) or "")


def test_without_hashes_only_sizes_count(tmp_path: Path) -> None:
    saved = make_save(tmp_path, 10)
    damage(saved.path, "flipped bit")
    assert verify(saved, hashes=False) is None


def test_a_manifest_cannot_name_files_outside_the_checkpoint(tmp_path: Path) -> None:
    saved = make_save(tmp_path, 10)
    path = saved.path / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["../../etc/passwd"] = {"bytes": 1, "sha256": ""}
    path.write_text(json.dumps(manifest))
    assert "outside the checkpoint" in (verify(saved) or "")


# ---- choosing ----


@pytest.mark.parametrize("out", ["missing", "empty"])
@pytest.mark.parametrize("sync", ["missing", "empty", "not given"])
def test_with_nothing_to_resume_the_choice_is_empty(tmp_path: Path, out: str, sync: str) -> None:
    for name, state in (("out", out), ("sync", sync)):
        if state == "empty":
            (tmp_path / name).mkdir()
    choice = choose(tmp_path / "out", None if sync == "not given" else tmp_path / "sync")
    assert (choice.checkpoint, choice.damaged, choice.other_runs) == (None, [], [])


def test_the_newest_of_both_folders_is_chosen(tmp_path: Path) -> None:
    make_save(tmp_path / "out", 10)
    newest = make_save(tmp_path / "sync", 20)
    assert choose(tmp_path / "out", tmp_path / "sync").checkpoint == held(newest)


def test_newer_local_saves_win_over_the_mirrors_backlog(tmp_path: Path) -> None:
    newest = make_save(tmp_path / "out", 30)
    make_save(tmp_path / "sync", 20)
    assert choose(tmp_path / "out", tmp_path / "sync").checkpoint == held(newest)


def test_at_the_same_step_the_local_one_is_chosen(tmp_path: Path) -> None:
    local = make_save(tmp_path / "out", 20)
    make_save(tmp_path / "sync", 20)
    assert choose(tmp_path / "out", tmp_path / "sync").checkpoint == held(local)


@pytest.mark.parametrize("how", KINDS)
def test_a_damaged_one_is_named_and_set_aside_and_the_next_older_taken(
    tmp_path: Path, how: str
) -> None:
    older = make_save(tmp_path / "out", 10)
    damage(make_save(tmp_path / "out", 20).path, how)
    choice = choose(tmp_path / "out")
    assert choice.checkpoint == held(older)
    assert [Path(path).name for path, _ in choice.damaged] == ["damaged-checkpoint-20"]
    assert names(tmp_path / "out") == ["checkpoint-10", "damaged-checkpoint-20"]


def test_a_damaged_local_one_gives_way_to_the_mirrors_of_the_same_step(tmp_path: Path) -> None:
    damage(make_save(tmp_path / "out", 20).path, "flipped bit")
    copy = make_save(tmp_path / "sync", 20)
    assert choose(tmp_path / "out", tmp_path / "sync").checkpoint == held(copy)


def test_when_all_are_damaged_none_is_chosen_and_none_deleted(tmp_path: Path) -> None:
    for step in (10, 20):
        damage(make_save(tmp_path, step).path, "cut")
    assert choose(tmp_path).checkpoint is None
    assert names(tmp_path) == ["damaged-checkpoint-10", "damaged-checkpoint-20"]


def test_a_read_only_folder_does_not_stop_the_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = make_save(tmp_path, 10)
    bad = make_save(tmp_path, 20)
    damage(bad.path, "cut")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only file system")

    for call in ("rename", "replace", "mkdir", "unlink", "rmdir"):
        monkeypatch.setattr(os, call, refuse)
    choice = choose(tmp_path)
    assert choice.checkpoint == held(older)
    assert [path for path, _ in choice.damaged] == [str(bad.path)]


def test_two_runs_that_could_be_meant_are_refused_by_name(tmp_path: Path) -> None:
    make_save(tmp_path / "out", 10, run_id="run-b")
    make_save(tmp_path / "sync", 500, run_id="run-a")
    with pytest.raises(UserError, match=r"run-a.*run-b.*move the checkpoints"):
        choose(tmp_path / "out", tmp_path / "sync")


def test_the_run_that_both_folders_hold_is_meant_and_the_other_is_reported(tmp_path: Path) -> None:
    mine = make_save(tmp_path / "out", 20, run_id="run-b")
    make_save(tmp_path / "sync", 10, run_id="run-b")
    old = make_save(tmp_path / "sync", 500, run_id="run-a")
    choice = choose(tmp_path / "out", tmp_path / "sync")
    assert (choice.checkpoint, choice.other_runs) == (held(mine), [held(old)])


def test_an_unreadable_mirror_is_refused_not_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_save(tmp_path / "out", 10)
    sync = tmp_path / "sync"
    sync.mkdir()
    for call in ("listdir", "scandir"):
        original = getattr(os, call)

        def gone(path: Path, original: object = original) -> object:
            if Path(path) == sync:
                raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
            return original(path)  # type: ignore[operator]

        monkeypatch.setattr(os, call, gone)
    with pytest.raises(UserError, match="not connected"):
        choose(tmp_path / "out", sync)


def test_a_save_that_was_being_replaced_gets_its_name_back(tmp_path: Path) -> None:
    saved = make_save(tmp_path, 10)
    to_old(saved.path)
    assert steps(tmp_path) == []
    assert choose(tmp_path).checkpoint == held(saved)


def test_a_save_that_was_being_deleted_does_not_come_back(tmp_path: Path) -> None:
    to_trash(make_save(tmp_path, 10).path)
    assert choose(tmp_path).checkpoint is None
    assert names(tmp_path) == []


# ---- bringing down ----


def test_a_mirrors_checkpoint_is_brought_down_whole(tmp_path: Path) -> None:
    copy = bring_down(held(make_save(tmp_path / "sync", 20)), tmp_path / "out")
    assert copy.path == tmp_path / "out" / "checkpoint-20"
    assert verify(copy) is None
    assert names(tmp_path / "out") == ["checkpoint-20"]


def test_a_local_checkpoint_is_already_there(tmp_path: Path) -> None:
    saved = make_save(tmp_path / "out", 20)
    assert bring_down(held(saved), tmp_path / "sync" / ".." / "out") == saved


def test_a_full_local_disk_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = make_save(tmp_path / "sync", 20)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UserError, match=r"can't be copied.*No space left.*make room"):
        bring_down(held(saved), tmp_path / "out")


def test_a_half_written_folder_does_not_block_bringing_down(tmp_path: Path) -> None:
    write_files(tmp_path / "out" / "checkpoint-20", 20)
    copy = bring_down(held(make_save(tmp_path / "sync", 20)), tmp_path / "out")
    assert verify(copy) is None
    assert names(tmp_path / "out" / "earlier-unmarked") == ["checkpoint-20"]


# ---- setting aside and pruning ----


def test_a_fresh_start_moves_another_runs_checkpoints_and_says_where(tmp_path: Path) -> None:
    make_save(tmp_path, 500, run_id="old")
    mine = make_save(tmp_path, 10)
    write_files(tmp_path / "checkpoint-7", 7)
    moved = set_aside_earlier(FolderPlace(tmp_path), RUN)
    assert moved == [str(tmp_path / "earlier-old" / "checkpoint-500")]
    assert names(tmp_path) == ["checkpoint-10", "checkpoint-7", "earlier-old"]
    assert verify(mine) is None


def test_setting_aside_twice_loses_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        make_save(tmp_path, 500, run_id="old")
        set_aside_earlier(FolderPlace(tmp_path), RUN)
    assert names(tmp_path / "earlier-old") == ["checkpoint-500", "checkpoint-500-2"]


def test_a_run_id_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    make_save(tmp_path / "sync", 5, run_id="../../up")
    (moved,) = set_aside_earlier(FolderPlace(tmp_path / "sync"), RUN)
    assert Path(moved).parent.parent == tmp_path / "sync"


def test_a_killed_runs_staging_is_cleaned_at_a_fresh_start(tmp_path: Path) -> None:
    staging = staging_folder(tmp_path, "checkpoint-10")
    write_files(staging / "checkpoint-10", 10)
    owner = json.loads((staging / "owner.json").read_text())
    (staging / "owner.json").write_text(json.dumps({**owner, "started": "1"}))
    set_aside_earlier(FolderPlace(tmp_path), RUN)
    assert names(tmp_path) == []


def test_saves_after_the_resumed_step_are_moved_not_counted(tmp_path: Path) -> None:
    for step in (10, 20, 30):
        make_save(tmp_path, step)
    set_aside_newer(FolderPlace(tmp_path), RUN, 10)
    assert names(tmp_path) == ["checkpoint-10", f"earlier-{RUN}"]


def test_pruning_keeps_what_retention_says_and_every_other_run(tmp_path: Path) -> None:
    for step in (10, 20, 30, 40, 50):
        make_save(tmp_path, step)
    make_save(tmp_path, 999, run_id="old")
    gone = prune(tmp_path, RUN, Keep(1, 2))
    assert [found.step for found in gone] == [10, 30]
    assert steps(tmp_path) == [20, 40, 50, 999]


def test_pruning_stops_at_nothing_that_cannot_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (10, 20, 30):
        make_save(tmp_path, step)
    rename = os.rename

    def refuse_one(source: Path, target: Path) -> None:
        if Path(source).name == "checkpoint-10":
            raise OSError(errno.EBUSY, "busy")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse_one)
    prune(tmp_path, RUN, Keep(1, 0))
    assert steps(tmp_path) == [10, 30]


def test_a_checkpoint_copied_by_hand_counts(tmp_path: Path) -> None:
    saved = make_save(tmp_path / "out", 10)
    shutil.copytree(saved.path, tmp_path / "sync" / "checkpoint-10")
    choice = choose(tmp_path / "elsewhere", tmp_path / "sync")
    assert choice.checkpoint is not None
    assert choice.checkpoint.where == str(tmp_path / "sync" / "checkpoint-10")

"""The mirror with drives that are full, broken, gone or shared."""

import errno
import os
import time
from pathlib import Path

import pytest
from mirrors import Make, SlowDrive, save, steps
from saves import DISK_ERRORS, RUN, FaultyDisk, make_save, names

from tinyllm.checkpoints import (
    Checkpoint,
    FolderPlace,
    Keep,
    copy_checkpoint,
    list_checkpoints,
    verify,
)
from tinyllm.checkpoints.copying import Progress
from tinyllm.checkpoints.leftovers import new_holder
from tinyllm.checkpoints.mirror import Mirror

pytest_plugins = ("mirror_fixtures",)


def test_a_save_damaged_locally_is_told_and_does_not_stop_the_others(
    folders: tuple[Path, Path], make: Make, said: list[str]
) -> None:
    out, sync = folders
    drive = SlowDrive()
    mirror = make(keep_recent=2, copy=drive)
    save(mirror, out, 10, 20)
    drive.begun.wait()
    (out / "checkpoint-10" / "model.safetensors").write_bytes(b"other")
    drive.go.set()
    result = mirror.drain()
    assert [path.name for path in result.missing] == ["checkpoint-10"]
    assert "model.safetensors" in (result.error or "")
    assert any("checkpoint-10 can't be copied" in line for line in said)
    assert steps(sync) == [20]


def test_a_lost_newest_save_brings_back_the_one_it_superseded(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders
    mirror = make()
    mirror._lock.acquire()
    try:
        save(mirror, out, 10, 20)
        (out / "checkpoint-20" / "model.safetensors").write_bytes(b"other")
    finally:
        mirror._lock.release()
    result = mirror.drain()
    assert [path.name for path in result.missing] == ["checkpoint-20"]
    assert steps(sync) == [10]


@pytest.mark.faults
@pytest.mark.parametrize("error", DISK_ERRORS, ids=errno.errorcode.get)
def test_one_error_at_any_call_is_retried_until_all_is_safe(quick_disk: Path, error: int) -> None:
    for k in range(1, 300):
        out, sync = quick_disk / str(k) / "out", quick_disk / str(k) / "sync"
        make_save(sync, 5, save_steps=5)
        make_save(sync, 7)
        mirror = Mirror(FolderPlace(sync), RUN, Keep(1, 1), say=lambda _: None, first_delay=0.001)
        saved = [make_save(out, step) for step in (10, 20)]
        with FaultyDisk(sync, k, error) as disk:
            for found in saved:
                mirror.submit(found.path, found.step, found.ordinal)
            result = mirror.drain()
        assert result.ok
        assert steps(sync) == [5, 10, 20]
        assert all(verify(found) is None for found in list_checkpoints(sync))
        if disk.calls < k:
            break
    assert k > 60


@pytest.mark.faults
def test_a_drive_that_is_gone_never_stops_training_and_the_end_says_so(
    folders: tuple[Path, Path], make: Make, said: list[str]
) -> None:
    out, sync = folders
    mirror = make(patience=0.3)
    with FaultyDisk(sync, 1, errno.ENOTCONN, lasting=True):
        save(mirror, out, 10, 20)
        result = mirror.drain()
    assert not result.ok
    assert [path.name for path in result.missing] == ["checkpoint-20"]
    assert result.command == f"cp -r {out}/checkpoint-20 {sync}/"
    assert steps(out) == [10, 20]
    assert len([line for line in said if "failing since" in line]) == 1


@pytest.mark.faults
def test_a_drive_that_comes_back_is_said_and_caught_up_with(
    folders: tuple[Path, Path], make: Make, said: list[str]
) -> None:
    out, sync = folders
    mirror = make()
    with FaultyDisk(sync, 1, errno.EIO, lasting=True):
        save(mirror, out, 10)
        while not said:
            time.sleep(0.01)
    assert mirror.drain().ok
    assert ["failing since" in said[0], "working again" in said[1]] == [True, True]
    assert steps(sync) == [10]


@pytest.mark.faults
def test_a_drive_that_hangs_is_given_up_at_the_end(
    folders: tuple[Path, Path], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = SlowDrive()
    mirror = make(copy=drive, patience=0.1)
    save(mirror, folders[0], 10)
    result = mirror.drain()
    drive.go.set()
    assert (result.ok, [path.name for path in result.missing]) == (False, ["checkpoint-10"])


def test_a_removed_mirror_folder_is_not_made_again(folders: tuple[Path, Path], make: Make) -> None:
    out, sync = folders
    mirror = make(patience=0.2)
    sync.rmdir()
    save(mirror, out, 10)
    assert not mirror.drain().ok
    assert not sync.exists()


@pytest.mark.faults
def test_a_full_mirror_gives_up_what_the_new_save_supersedes_but_not_its_last(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders

    def room_for_two(saved: Checkpoint, target: Path, progress: Progress) -> Checkpoint:
        if len(steps(sync)) >= 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return copy_checkpoint(saved, target, progress)

    mirror = make(keep_recent=2, copy=room_for_two)
    for step in (10, 20, 30):
        save(mirror, out, step)
        assert mirror.drain().ok
    assert steps(sync) == [20, 30]


@pytest.mark.faults
def test_a_full_mirror_never_loses_its_only_checkpoint(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders
    make_save(sync, 10)

    def full(saved: Checkpoint, target: Path, progress: Progress) -> Checkpoint:
        raise OSError(errno.ENOSPC, "No space left on device")

    mirror = make(copy=full, patience=0.2)
    save(mirror, out, 20)
    assert not mirror.drain().ok
    assert steps(sync) == [10]


def test_copies_that_a_killed_launch_left_are_removed_before_the_next_copy(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders
    holder = new_holder(sync, RUN)
    (holder / "half").write_bytes(b"x" * 1000)
    seen: list[list[str]] = []

    def look(saved: Checkpoint, target: Path, progress: Progress) -> Checkpoint:
        seen.append(names(target))
        return copy_checkpoint(saved, target, progress)

    mirror = make(copy=look)
    save(mirror, out, 10)
    assert mirror.drain().ok
    assert seen == [[]]


def test_a_refused_deletion_is_said_and_copying_goes_on(
    folders: tuple[Path, Path], make: Make, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, sync = folders
    mirror = make()
    save(mirror, out, 10)
    assert mirror.drain().ok
    rename = os.rename

    def refuse(source: Path, target: Path) -> None:
        if "trash" in Path(target).name:
            raise OSError(errno.EBUSY, "busy")
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refuse)
        save(mirror, out, 20)
        assert mirror.drain().ok
    assert steps(sync) == [10, 20]
    assert any("can't be deleted yet" in line for line in said)
    save(mirror, out, 30)
    assert mirror.drain().ok
    assert (steps(sync), steps(out)) == ([30], [30])


def test_a_listener_that_fails_does_not_end_the_mirror(
    folders: tuple[Path, Path], make: Make
) -> None:
    def broken_pipe(_: str) -> None:
        raise BrokenPipeError

    mirror = make(say=broken_pipe)
    for step in (10, 20):
        save(mirror, folders[0], step)
        assert mirror.drain().ok
    assert steps(folders[1]) == [20]


def test_an_error_of_any_kind_is_retried(folders: tuple[Path, Path], make: Make) -> None:
    left = [RuntimeError("surprise"), MemoryError()]

    def surprising(saved: Checkpoint, target: Path, progress: Progress) -> Checkpoint:
        if left:
            raise left.pop()
        return copy_checkpoint(saved, target, progress)

    mirror = make(copy=surprising)
    save(mirror, folders[0], 10)
    assert mirror.drain().ok


def test_a_final_model_that_did_not_arrive_is_told(folders: tuple[Path, Path], make: Make) -> None:
    out, sync = folders
    (out / "config.json").write_bytes(b"{}")
    mirror = make(patience=0.2)
    with FaultyDisk(sync, 1, errno.EIO, lasting=True):
        mirror.publish_final([out / "config.json"])
        result = mirror.drain()
    assert result.command == f"cp {out}/config.json {sync}/"


def test_two_runs_on_one_folder_never_mix_files(
    folders: tuple[Path, Path], make: Make, tmp_path: Path
) -> None:
    out, sync = folders
    other_out = tmp_path / "other"
    mine = make()
    others = Mirror(FolderPlace(sync), "run-b", Keep(), say=lambda _: None, first_delay=0.001)
    for step in range(10, 100, 10):
        save(mine, out, step)
        saved = make_save(other_out, step, run_id="run-b")
        others.submit(saved.path, step, saved.ordinal)
    assert mine.drain().ok
    assert others.drain().ok
    assert all(verify(found) is None for found in list_checkpoints(sync))
    kept = [found.path for found in list_checkpoints(sync)]
    for run_id in (RUN, "run-b"):
        kept += [found.path for found in list_checkpoints(sync / f"earlier-{run_id}")]
    assert {path.name for path in kept} >= {"checkpoint-90"}

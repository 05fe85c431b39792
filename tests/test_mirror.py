"""The mirror: what it copies, keeps and deletes."""

from pathlib import Path
from typing import Any

import pytest
from mirrors import Make, SlowDrive, save, steps
from saves import RUN, make_save, names, write_files

from tinyllm.checkpoints import Checkpoint, copy_checkpoint, list_checkpoints, verify
from tinyllm.checkpoints.manifests import seal

pytest_plugins = ("mirror_fixtures",)


def test_a_save_reaches_the_mirror_verified(
    folders: tuple[Path, Path], make: Make, said: list[str]
) -> None:
    out, sync = folders
    mirror = make()
    save(mirror, out, 10)
    assert mirror.drain().ok
    assert [verify(found) for found in list_checkpoints(sync)] == [None]
    assert said == [f"mirror: caught up, checkpoint-10 is safe in {sync}"]


def test_retention_holds_on_the_mirror_and_locally(folders: tuple[Path, Path], make: Make) -> None:
    out, sync = folders
    mirror = make(keep_recent=2, keep_every=3)
    for step in (10, 20, 30, 40, 50, 60, 70, 75):
        save(mirror, out, step)
        assert mirror.drain().ok
    assert steps(sync) == [30, 60, 70, 75]
    assert steps(out) == [70, 75]


@pytest.mark.parametrize("keep_recent", [0, -1])
def test_keeping_nothing_is_refused(make: Make, keep_recent: int) -> None:
    with pytest.raises(ValueError, match="keep_recent"):
        make(keep_recent=keep_recent)


def test_an_older_runs_higher_steps_are_neither_deleted_nor_counted(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders
    old = make_save(sync, 9000, run_id="old")
    mirror = make()
    for step in (10, 20):
        save(mirror, out, step)
        assert mirror.drain().ok
    assert steps(sync) == [20, 9000]
    assert verify(old) is None


def test_a_folder_without_manifest_on_the_mirror_is_never_deleted(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders
    write_files(sync / "checkpoint-5", 5)
    write_files(sync / "checkpoint-20", 20)
    mirror = make()
    save(mirror, out, 10, 20)
    assert mirror.drain().ok
    assert names(sync) == ["checkpoint-20", "checkpoint-5", "earlier-unmarked"]


def test_submitting_does_not_wait_for_the_drive(folders: tuple[Path, Path], make: Make) -> None:
    drive = SlowDrive()
    mirror = make(copy=drive)
    save(mirror, folders[0], 10, 20, 30)
    drive.begun.wait()
    assert drive.copied == []
    drive.go.set()


def test_a_slow_mirror_skips_what_is_superseded_but_nothing_permanent(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders
    drive = SlowDrive()
    mirror = make(keep_every=10, copy=drive)
    save(mirror, out, 10)
    drive.begun.wait()
    save(mirror, out, *range(20, 310, 10))
    drive.go.set()
    assert mirror.drain().ok
    assert sorted(drive.copied) == [10, 100, 200, 300]
    assert steps(sync) == [100, 200, 300]
    assert steps(out) == [300]


def test_no_local_save_goes_before_its_copy_is_verified(
    folders: tuple[Path, Path], make: Make
) -> None:
    drive = SlowDrive()
    mirror = make(copy=drive)
    save(mirror, folders[0], 10)
    drive.begun.wait()
    save(mirror, folders[0], 20, 30)
    assert steps(folders[0]) == [10, 20, 30]
    drive.go.set()
    assert mirror.drain().ok
    assert steps(folders[0]) == [30]


def test_a_plain_folder_gets_its_manifest_before_it_is_copied(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders
    write_files(out / "checkpoint-10", 10)
    mirror = make()
    mirror.submit(out / "checkpoint-10", 10, 1)
    assert mirror.drain().ok
    assert [(c.step, c.run_id, c.ordinal) for c in list_checkpoints(sync)] == [(10, RUN, 1)]


def test_a_plain_folder_that_comes_while_another_gets_its_manifest_waits_for_its_own(
    folders: tuple[Path, Path], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, sync = folders
    mirror = make()

    def seal_while_another_comes(path: Path, *more: Any) -> Checkpoint:
        if path.name == "checkpoint-10":
            mirror.submit(write_files(out / "checkpoint-20", 20), 20, 2)
        return seal(path, *more)

    monkeypatch.setattr("tinyllm.checkpoints.mirror.seal", seal_while_another_comes)
    mirror.submit(write_files(out / "checkpoint-10", 10), 10, 1)
    assert mirror.drain().ok
    assert steps(sync) == [20]


def test_the_checkpoint_that_was_brought_down_is_not_copied_back(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders
    copy_checkpoint(make_save(sync, 20), out)
    drive = SlowDrive()
    drive.go.set()
    mirror = make(copy=drive)
    mirror.adopt(out, 20)
    assert mirror.drain().ok
    assert drive.copied == []


def test_a_backlog_of_a_killed_launch_is_mirrored_by_the_next(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders
    make_save(sync, 10)
    for step in (10, 20, 30):
        make_save(out, step)
    mirror = make()
    mirror.adopt(out, 30)
    assert mirror.drain().ok
    assert (steps(sync), steps(out)) == ([30], [30])


def test_saves_after_the_resumed_step_are_moved_aside_in_both_folders(
    folders: tuple[Path, Path], make: Make
) -> None:
    out, sync = folders
    make_save(sync, 50)
    for step in (20, 50):
        make_save(out, step)
    mirror = make()
    mirror.adopt(out, 20)
    save(mirror, out, 30)
    assert mirror.drain().ok
    assert (steps(sync), steps(out)) == ([30], [30])
    assert names(sync / f"earlier-{RUN}") == names(out / f"earlier-{RUN}") == ["checkpoint-50"]


def test_the_thread_ends_when_everything_is_safe(folders: tuple[Path, Path], make: Make) -> None:
    mirror = make()
    save(mirror, folders[0], 10)
    mirror.drain()
    assert mirror._thread is not None
    assert not mirror._thread.is_alive()


def test_the_final_model_reaches_the_root(folders: tuple[Path, Path], make: Make) -> None:
    out, sync = folders
    (out / "model.safetensors").write_bytes(b"weights")
    (out / "config.json").write_bytes(b"{}")
    mirror = make()
    mirror.publish_final([out / "config.json", out / "model.safetensors"])
    assert mirror.drain().ok
    assert names(sync) == ["config.json", "model.safetensors"]


def test_draining_with_nothing_to_do_is_done(make: Make) -> None:
    assert make().drain().ok


def test_a_slow_drain_says_how_far_it_is(
    folders: tuple[Path, Path], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinyllm.checkpoints.mirror.SECONDS_BETWEEN_LINES", 0.0)
    drive = SlowDrive()
    mirror = make(copy=drive)
    save(mirror, folders[0], 10)
    drive.begun.wait()
    lines: list[str] = []

    def listen(line: str) -> None:
        lines.append(line)
        drive.go.set()

    assert mirror.drain(on_progress=listen).ok
    assert "checkpoint-10, 0 of 0 MB, 1 left" in lines[0]

"""Saves are published, copied and deleted whole or not at all, whatever the disk does."""

import errno
import json
import os
from pathlib import Path

import pytest
from saves import (
    DISK_ERRORS,
    RUN,
    FaultyDisk,
    check_invariants,
    make_save,
    names,
    write_files,
)

from tinyllm.checkpoints import (
    Checkpoint,
    copy_checkpoint,
    copy_files_verified,
    delete_checkpoint,
    list_checkpoints,
    publish,
    staging_folder,
    verify,
)
from tinyllm.checkpoints.copying import SourceDamagedError
from tinyllm.checkpoints.leftovers import clean_temporaries

pytest_plugins = ("mirror_fixtures",)


def test_a_published_save_has_a_manifest_of_every_file(tmp_path: Path) -> None:
    saved = make_save(tmp_path, 20)
    manifest = json.loads((saved.path / "manifest.json").read_text())
    assert manifest["format"] == 1
    assert (manifest["run_id"], manifest["step"], manifest["ordinal"]) == (RUN, 20, 2)
    assert sorted(manifest["files"]) == ["config.json", "model.safetensors", "nested/optimizer.pt"]
    assert verify(saved) is None


def test_a_save_leaves_nothing_but_its_folder(tmp_path: Path) -> None:
    staging = staging_folder(tmp_path, "checkpoint-10")
    write_files(staging / "checkpoint-10", 10)
    publish(staging / "checkpoint-10", tmp_path / "checkpoint-10", RUN, 10, 1)
    assert names(tmp_path) == ["checkpoint-10"]


def test_an_empty_save_is_not_published(tmp_path: Path) -> None:
    (tmp_path / "staging").mkdir()
    with pytest.raises(OSError, match="nothing was saved"):
        publish(tmp_path / "staging", tmp_path / "checkpoint-1", RUN, 1, None)


def test_files_get_the_mode_that_the_umask_gives(tmp_path: Path) -> None:
    saved = make_save(tmp_path, 10)
    plain = tmp_path / "plain"
    plain.touch()
    assert (saved.path / "model.safetensors").stat().st_mode == plain.stat().st_mode


def test_a_refused_chmod_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_files(tmp_path / "new", 10)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "not here")

    monkeypatch.setattr(os, "chmod", refuse)
    assert verify(publish(source, tmp_path / "checkpoint-10", RUN, 10, 1)) is None


def test_saving_a_step_again_replaces_it(tmp_path: Path) -> None:
    make_save(tmp_path, 10, size=100)
    again = make_save(tmp_path, 10, size=200)
    assert (again.path / "model.safetensors").stat().st_size == 200
    assert names(tmp_path) == ["checkpoint-10"]


@pytest.mark.parametrize("other", ["another-run", None])
def test_what_is_not_this_runs_is_set_aside_not_replaced(tmp_path: Path, other: str | None) -> None:
    if other:
        make_save(tmp_path, 10, run_id=other)
    else:
        write_files(tmp_path / "checkpoint-10", 10)
    mine = make_save(tmp_path, 10)
    assert verify(mine) is None
    aside = tmp_path / f"earlier-{other or 'unmarked'}" / "checkpoint-10"
    assert (aside / "model.safetensors").exists()


def test_a_copy_is_equal_and_its_manifest_too(tmp_path: Path) -> None:
    saved = make_save(tmp_path / "out", 10)
    (tmp_path / "mirror").mkdir()
    copy = copy_checkpoint(saved, tmp_path / "mirror")
    assert verify(copy) is None
    manifests = [(found.path / "manifest.json").read_bytes() for found in (saved, copy)]
    assert manifests[0] == manifests[1]
    assert names(tmp_path / "mirror") == ["checkpoint-10"]


def test_a_damaged_source_is_not_copied(tmp_path: Path) -> None:
    saved = make_save(tmp_path / "out", 10)
    (saved.path / "model.safetensors").write_bytes(b"other")
    (tmp_path / "mirror").mkdir()
    with pytest.raises(SourceDamagedError, match=r"model\.safetensors"):
        copy_checkpoint(saved, tmp_path / "mirror")
    assert names(tmp_path / "mirror") == []


def test_a_copy_that_the_drive_cut_after_closing_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = make_save(tmp_path / "out", 10)
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    close = os.close

    def cut_and_close(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        close(descriptor)
        if path.name == "model.safetensors" and mirror in path.parents:
            os.truncate(path, 10)

    monkeypatch.setattr(os, "close", cut_and_close)
    with pytest.raises(OSError, match="reads back different"):
        copy_checkpoint(saved, mirror)
    assert names(mirror) == []


def test_where_folders_cannot_be_renamed_the_manifest_is_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = make_save(tmp_path / "out", 10)
    mirror = tmp_path / "mirror"
    mirror.mkdir()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSYS, "no rename here")

    monkeypatch.setattr(os, "rename", refuse)
    monkeypatch.setattr(os, "replace", refuse)
    for _ in range(2):  # the second replaces the first
        assert verify(copy_checkpoint(saved, mirror)) is None
        assert names(mirror) == ["checkpoint-10"]
    delete_checkpoint(list_checkpoints(mirror)[0])
    assert names(mirror) == []


def test_a_folder_that_cannot_be_forced_to_disk_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def refuse_folders(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").is_dir():
            raise OSError(errno.EINVAL, "not for folders")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    assert verify(make_save(tmp_path, 10)) is None


def test_every_file_is_forced_to_disk_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_files(tmp_path / "new", 10)
    forced: list[str] = []
    at_rename: list[str] = []
    fsync, rename = os.fsync, os.rename

    def note_fsync(descriptor: int) -> None:
        forced.append(Path(f"/proc/self/fd/{descriptor}").resolve().name)
        fsync(descriptor)

    def note_rename(old: Path, new: Path) -> None:
        at_rename.extend(forced)
        rename(old, new)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "rename", note_rename)
    publish(source, tmp_path / "checkpoint-10", RUN, 10, 1)
    assert {"config.json", "model.safetensors", "optimizer.pt", "new"} <= set(at_rename)
    assert any("manifest" in name for name in at_rename)
    assert forced[-1] == tmp_path.name


@pytest.mark.faults
@pytest.mark.parametrize("error", [*DISK_ERRORS, errno.EPERM], ids=errno.errorcode.get)
@pytest.mark.parametrize("replaces", [False, True])
def test_publishing_survives_an_error_at_any_call(
    quick_disk: Path, error: int, replaces: bool
) -> None:
    for k in range(1, 200):
        out = quick_disk / str(k)
        if replaces:
            make_save(out, 10, size=50)
        staging = staging_folder(out, "checkpoint-10")
        source = write_files(staging / "checkpoint-10", 10)
        with FaultyDisk(out, k, error) as disk:
            try:
                publish(source, out / "checkpoint-10", RUN, 10, 1)
            except OSError:
                assert disk.calls >= k
        check_invariants(out, replaces)
        again = make_save(out, 10)
        assert verify(again) is None
        if disk.calls < k:
            break
    assert k > 15


@pytest.mark.faults
@pytest.mark.parametrize("error", DISK_ERRORS, ids=errno.errorcode.get)
def test_copying_survives_an_error_at_any_call(quick_disk: Path, error: int) -> None:
    saved = make_save(quick_disk / "out", 10)
    for k in range(1, 200):
        mirror = quick_disk / str(k)
        mirror.mkdir()
        with FaultyDisk(mirror, k, error) as disk:
            try:
                copy_checkpoint(saved, mirror)
            except OSError:
                assert disk.calls >= k
        check_invariants(mirror)
        clean_temporaries(mirror, RUN)
        assert verify(copy_checkpoint(saved, mirror)) is None
        assert names(mirror) == ["checkpoint-10"]
        if disk.calls < k:
            break
    assert k > 20


def test_the_config_of_a_final_model_comes_last_and_its_weights_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / name for name in ("config.json", "model.safetensors", "tokenizer.json")]
    for file in files:
        file.write_bytes(b"x")
    target = tmp_path / "mirror"
    target.mkdir()
    arrived: list[str] = []
    replace = os.replace

    def note(source: Path, place: Path) -> None:
        arrived.append(Path(place).name)
        replace(source, place)

    monkeypatch.setattr(os, "replace", note)
    copy_files_verified(files, target, RUN)
    assert arrived[-3:] == ["tokenizer.json", "model.safetensors", "config.json"]


def test_deleting_needs_no_free_space(tmp_path: Path) -> None:
    saved = make_save(tmp_path, 10)
    refused = {"mkdir", "write"}
    with FaultyDisk(tmp_path, 1, errno.ENOSPC, lasting=True) as disk:
        for name in (*FaultyDisk.ON_PATHS, *FaultyDisk.ON_FILES):
            if name not in refused:
                setattr(os, name, disk._originals[name])
        delete_checkpoint(saved)
    assert names(tmp_path) == []


def test_deleting_what_is_gone_is_no_error(tmp_path: Path) -> None:
    delete_checkpoint(Checkpoint(tmp_path / "checkpoint-10", 10, RUN, 1))
    assert names(tmp_path) == []

"""The private cache: one builder, whole results, nothing of anybody else's removed."""

import errno
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from tinyllm import cache
from tinyllm.errors import UserError


def write_answer(folder: Path) -> None:
    (folder / "answer").write_text("42")


def test_the_environment_names_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TINYLLM_CACHE", str(tmp_path / "here"))
    assert cache.cache_root() == tmp_path / "here"


@pytest.mark.parametrize("value", [None, ""])
def test_without_a_setting_the_cache_is_in_the_home_folder(monkeypatch, tmp_path, value):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TINYLLM_CACHE", raising=False)
    if value is not None:
        monkeypatch.setenv("TINYLLM_CACHE", value)
    assert cache.cache_root() == tmp_path / ".cache" / "tinyllm"


def test_a_fingerprint_does_not_depend_on_the_order_of_keys():
    assert cache.fingerprint({"a": 1, "b": [2]}) == cache.fingerprint({"b": [2], "a": 1})


@pytest.mark.parametrize("other", [{"a": 2}, {"a": "1"}, {"b": 1}, {"a": [1]}, {"a": 1, "b": None}])
def test_a_fingerprint_changes_with_its_inputs(other):
    assert cache.fingerprint({"a": 1}) != cache.fingerprint(other)


def test_a_fingerprint_is_the_same_on_every_machine():
    assert cache.fingerprint({"scope": "voice", "ü": 0.5}) == "8ce92a2e33e9d941bb1b785484e582cf"


def test_a_second_call_builds_nothing(tmp_path):
    first = cache.build_once(tmp_path / "c", "key", write_answer)
    second = cache.build_once(tmp_path / "c", "key", lambda folder: pytest.fail("built twice"))
    assert first == second == tmp_path / "c" / "key"
    assert (second / "answer").read_text() == "42"


def test_a_result_is_not_seen_before_it_is_whole(tmp_path):
    def build(folder: Path) -> None:
        write_answer(folder)
        assert not (tmp_path / "key").exists()

    cache.build_once(tmp_path, "key", build)
    assert (tmp_path / "key" / "answer").exists()


def test_a_build_that_fails_leaves_nothing_and_can_be_tried_again(tmp_path):
    def fail(folder: Path) -> None:
        write_answer(folder)
        raise UserError("no")

    with pytest.raises(UserError, match=r"^no$"):
        cache.build_once(tmp_path, "key", fail)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    cache.build_once(tmp_path, "key", write_answer)


def test_processes_that_start_together_build_once(tmp_path):
    builds = tmp_path / "builds"

    def build(folder: Path) -> None:
        with builds.open("a") as file:
            file.write("x")
        write_answer(folder)

    threads = [
        threading.Thread(target=cache.build_once, args=(tmp_path / "c", "key", build))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert builds.read_text() == "x"


def test_one_who_waits_is_told_so_and_gets_the_result_of_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_SECONDS_BETWEEN_CALLS", 0.02)
    told, started, may_end = threading.Event(), threading.Event(), threading.Event()

    def slow(folder: Path) -> None:
        started.set()
        may_end.wait()
        write_answer(folder)

    builder = threading.Thread(target=cache.build_once, args=(tmp_path, "key", slow))
    builder.start()
    started.wait()

    def waiting() -> None:
        told.set()
        may_end.set()

    found = cache.build_once(tmp_path, "key", lambda folder: pytest.fail("built twice"), waiting)
    builder.join()
    assert told.is_set()
    assert (found / "answer").read_text() == "42"


def leave_behind(root: Path, name: str, *files: str) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).write_text("")
    return folder


@pytest.mark.parametrize("key", ["key", "another"])
def test_what_a_dead_build_left_is_removed(tmp_path, key):
    dead = leave_behind(tmp_path, f"building-{key}-abc", cache.MARKER, "half")
    cache.build_once(tmp_path, "key", write_answer)
    assert not dead.exists()


def test_the_folder_of_a_living_build_stays(tmp_path):
    alive = leave_behind(tmp_path, "building-another-abc", cache.MARKER, "half")
    with FileLock(tmp_path / "another.lock"):
        cache.build_once(tmp_path, "key", write_answer)
    assert (alive / "half").exists()


def test_folders_without_the_marker_are_never_removed(tmp_path):
    lookalike = leave_behind(tmp_path, "building-another-abc", "thesis.tex")
    cache.build_once(tmp_path, "key", write_answer)
    assert (lookalike / "thesis.tex").exists()


def test_a_link_to_somebodys_folder_is_never_followed(tmp_path):
    theirs = leave_behind(tmp_path, "theirs", cache.MARKER, "thesis.tex")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "building-another-abc").symlink_to(theirs)
    cache.build_once(tmp_path / "c", "key", write_answer)
    assert (theirs / "thesis.tex").exists()


def test_a_full_folder_of_that_name_that_is_not_ours_is_refused_and_kept(tmp_path):
    theirs = leave_behind(tmp_path, "key", "thesis.tex")
    with pytest.raises(UserError, match="can't be written"):
        cache.build_once(tmp_path, "key", write_answer)
    assert (theirs / "thesis.tex").exists()


def test_a_file_in_the_place_of_the_cache_is_a_user_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file can't be written .*TINYLLM_CACHE"):
        cache.build_once(tmp_path / "file", "key", write_answer)
    with pytest.raises(UserError, match=r"below can't be written"):
        cache.build_once(tmp_path / "file" / "below", "key", write_answer)


def test_a_full_disk_is_a_user_error(tmp_path):
    def fill(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(UserError, match="No space left on device"):
        cache.build_once(tmp_path, "key", fill)


def test_an_unreadable_input_is_not_blamed_on_the_cache(tmp_path):
    def build(folder: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/somewhere/else.jsonl")

    with pytest.raises(PermissionError):
        cache.build_once(tmp_path / "c", "key", build)


BUILD_AND_DIE = """
import os, signal, sys
from pathlib import Path
from tinyllm.cache import build_once

def build(folder):
    (folder / "half").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)

build_once(Path(sys.argv[1]), "key", build)
"""


@pytest.mark.faults
def test_a_build_killed_in_the_middle_is_replaced_by_the_next(tmp_path):
    killed = subprocess.run([sys.executable, "-c", BUILD_AND_DIE, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob("building-*/half"))) == 1
    found = cache.build_once(tmp_path, "key", write_answer)
    assert sorted(path.name for path in found.iterdir()) == sorted([cache.MARKER, "answer"])
    assert list(tmp_path.glob("building-*")) == []


def _build_in_process(root: str, answer: str) -> None:
    def build(folder: Path) -> None:
        (folder / "answer").write_text(json.dumps([answer] * 1000))

    cache.build_once(Path(root), "key", build)


@pytest.mark.slow
def test_four_processes_agree_on_one_result(tmp_path):
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_build_in_process, args=(str(tmp_path), name)) for name in "abcd"
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert len(set(json.loads((tmp_path / "key" / "answer").read_text()))) == 1

"""Checkpoints on an object store and on servers, run for real on this machine."""

import errno
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from saves import RUN, make_save, write_files
from servers import s3_address, settings_for_a_child, sftp_address, webdav_address

from tinyllm import copy, stores
from tinyllm.checkpoints import FolderPlace, Keep, choose, verify
from tinyllm.checkpoints.copying import SourceDamagedError, no_progress
from tinyllm.checkpoints.leftovers import this_process
from tinyllm.checkpoints.mirror import Mirror
from tinyllm.errors import UserError
from tinyllm.runs import Run
from tinyllm.stores import StorePlace, open_place

pytestmark = [
    pytest.mark.slow,
    # The libraries' own: old ciphers, clients that are collected with their sockets.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(params=["s3", "webdav", "sftp"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    served = tmp_path / "served"
    served.mkdir()
    servers: dict[str, Callable[[], AbstractContextManager[str]]] = {
        "s3": s3_address,
        "webdav": lambda: webdav_address(served),
        "sftp": lambda: sftp_address(served),
    }
    with servers[request.param]() as where:
        yield where


@pytest.fixture
def store(address: str) -> StorePlace:
    place = open_place(address)
    assert isinstance(place, StorePlace)
    return place


@pytest.fixture
def memory() -> Iterator[StorePlace]:
    import fsspec

    place = open_place("memory://bucket/run")
    assert isinstance(place, StorePlace)
    yield place
    fsspec.filesystem("memory").store.clear()
    fsspec.filesystem("memory").pseudo_dirs.clear()


def files_in(store: StorePlace) -> list[str]:
    return sorted(store._files(""))


def held_steps(store: StorePlace) -> list[int]:
    return [held.step for held in store.survey().held]


# ---- on each server ----


def test_a_checkpoint_goes_there_and_comes_back_equal(store: StorePlace, tmp_path: Path) -> None:
    saved = make_save(tmp_path / "out", 10, loss=2.5)
    store.put(saved, no_progress)
    (held,) = store.survey().held
    assert (held.step, held.run_id, held.ordinal, held.loss) == (10, RUN, 1, 2.5)
    assert store.fault(held, hashes=True) is None
    back = store.fetch(held, tmp_path)
    assert verify(back) is None
    assert (back.path / "manifest.json").read_bytes() == (saved.path / "manifest.json").read_bytes()
    assert not any(name.endswith("owner.json") for name in files_in(store))


def test_saving_a_step_again_replaces_it_there(store: StorePlace, tmp_path: Path) -> None:
    store.put(make_save(tmp_path / "one", 10, size=100), no_progress)
    store.put(make_save(tmp_path / "two", 10, size=200), no_progress)
    (held,) = store.survey().held
    assert store.records(held)["model.safetensors"].bytes == 200
    assert store.fault(held, hashes=True) is None
    assert {Path(name).parts[0] for name in files_in(store)} == {"checkpoint-10"}


def test_another_runs_of_the_same_step_is_set_aside_whole(
    store: StorePlace, tmp_path: Path
) -> None:
    store.put(make_save(tmp_path / "theirs", 10, run_id="theirs"), no_progress)
    store.put(make_save(tmp_path / "mine", 10), no_progress)
    assert [held.run_id for held in store.survey().held] == [RUN]
    aside = [name for name in files_in(store) if name.startswith("earlier-theirs/checkpoint-10/")]
    assert {Path(name).name for name in aside} == {
        "manifest.json",
        "config.json",
        "model.safetensors",
        "optimizer.pt",
    }


def test_deleting_leaves_nothing_there(store: StorePlace, tmp_path: Path) -> None:
    store.put(make_save(tmp_path, 10), no_progress)
    store.delete(store.survey().held[0])
    assert files_in(store) == []


def test_a_final_model_is_replaced_file_by_file(store: StorePlace, tmp_path: Path) -> None:
    for content in (b"older", b"newer"):
        files = [tmp_path / "config.json", tmp_path / "model.safetensors"]
        for file in files:
            file.write_bytes(content)
        store.put_files(files, RUN, no_progress)
    assert files_in(store) == ["config.json", "model.safetensors"]
    assert store.read("model.safetensors") == b"newer"


def test_the_mirror_keeps_there_what_retention_says(store: StorePlace, tmp_path: Path) -> None:
    mirror = Mirror(store, RUN, Keep(1, 2), say=lambda _: None, first_delay=0.01)
    for step in (10, 20, 30):
        saved = make_save(tmp_path, step)
        mirror.submit(saved.path, step, saved.ordinal)
        assert mirror.drain().ok
    assert held_steps(store) == [20, 30]
    assert [held.step for held in FolderPlace(tmp_path).survey().held] == [30]


def test_a_resume_finds_the_newest_there(store: StorePlace, tmp_path: Path) -> None:
    for step in (10, 20):
        store.put(make_save(tmp_path / "elsewhere", step), no_progress)
    choice = choose(FolderPlace(tmp_path / "out"), store)
    assert choice.checkpoint is not None
    assert (choice.checkpoint.step, choice.checkpoint.where) == (20, f"{store.where}/checkpoint-20")


def test_a_damaged_one_there_is_named_and_set_aside(store: StorePlace, tmp_path: Path) -> None:
    for step in (10, 20):
        store.put(make_save(tmp_path / "elsewhere", step), no_progress)
    store._write_small("checkpoint-20/model.safetensors", b"\0" * 3000)
    choice = choose(FolderPlace(tmp_path / "out"), store)
    assert choice.checkpoint is not None
    assert choice.checkpoint.step == 10
    ((where, reason),) = choice.damaged
    assert where == f"{store.where}/damaged-checkpoint-20"
    assert "model.safetensors has another content" in reason


UPLOAD = """
import sys, time
from pathlib import Path
from tinyllm.checkpoints import list_checkpoints
from tinyllm.stores import open_place
place = open_place(sys.argv[1])
def slowly(count):
    print("uploading", flush=True)
    time.sleep(60)
place.put(list_checkpoints(Path(sys.argv[2]))[-1], slowly)
"""


@pytest.mark.faults
@pytest.mark.parametrize("replaces", [False, True])
def test_a_kill_during_an_upload_leaves_the_older_one_and_nothing_half_listed(
    address: str, store: StorePlace, tmp_path: Path, replaces: bool
) -> None:
    older = 20 if replaces else 10
    store.put(make_save(tmp_path / "older", older, size=50), no_progress)
    make_save(tmp_path / "out", 20)
    import os

    environment = {**os.environ, **settings_for_a_child(address.partition(":")[0])}
    command = [sys.executable, "-W", "ignore", "-c", UPLOAD, address, str(tmp_path / "out")]
    with subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "uploading\n"
        child.send_signal(signal.SIGKILL)
    assert held_steps(store) == ([] if replaces else [10])
    store.recover()
    store.clean(RUN)
    (held,) = store.survey().held
    assert held.step == older
    assert store.fault(held, hashes=True) is None
    assert {Path(name).parts[0] for name in files_in(store)} == {f"checkpoint-{older}"}


# ---- a fault at every call ----


class FaultyStore:
    """Makes the k-th call of the store's file system fail, and all after it if `lasting`."""

    CALLS = ("ls", "cat_file", "exists", "pipe_file", "open", "rm_file", "rm", "cp_file", "find")

    def __init__(self, store: StorePlace, at: int, lasting: bool) -> None:
        self.calls = 0
        self._store, self._at, self._lasting = store, at, lasting

    def __enter__(self) -> "FaultyStore":
        self._true = self._store._fs
        self._store._fs = self
        return self

    def __exit__(self, *_: object) -> None:
        self._store._fs = self._true

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._true, name)
        if name not in self.CALLS:
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self._at or (self._lasting and self.calls > self._at):
                raise OSError(errno.EIO, "broken on purpose")
            return found(*arguments, **named)

        return call


@pytest.mark.faults
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
def test_a_fault_at_any_call_of_replacing_leaves_one_whole_checkpoint(
    memory: StorePlace, tmp_path: Path, lasting: bool
) -> None:
    older, newer = make_save(tmp_path / "one", 10, size=50), make_save(tmp_path / "two", 10)
    for k in range(1, 200):
        memory._delete("")
        memory.put(older, no_progress)
        with FaultyStore(memory, k, lasting) as broken:
            try:
                memory.put(newer, no_progress)
            except OSError:
                assert broken.calls >= k
        memory.recover()
        memory.clean(RUN)
        (held,) = memory.survey().held
        assert memory.fault(held, hashes=True) is None
        memory.put(newer, no_progress)
        assert {Path(name).parts[0] for name in files_in(memory)} == {"checkpoint-10"}
        if broken.calls < k:
            break
    assert k > 30


@pytest.mark.faults
def test_a_fault_at_any_call_of_deleting_never_lists_a_half(
    memory: StorePlace, tmp_path: Path
) -> None:
    saved = make_save(tmp_path, 10)
    for k in range(1, 60):
        memory._delete("")
        memory.put(saved, no_progress)
        (held,) = memory.survey().held
        with FaultyStore(memory, k, lasting=True) as broken:
            try:
                memory.delete(held)
            except OSError:
                assert broken.calls >= k
        assert all(memory.fault(found, hashes=True) is None for found in memory.survey().held)
        memory.clean(RUN)
        assert {Path(name).parts[0] for name in files_in(memory)} <= {"checkpoint-10"}
        if broken.calls < k:
            break
    assert k > 5


@pytest.mark.faults
def test_the_mirror_outlives_one_error_at_any_call(memory: StorePlace, tmp_path: Path) -> None:
    for k in range(1, 300):
        memory._delete("")
        out = tmp_path / str(k)
        with FaultyStore(memory, k, lasting=False) as broken:
            mirror = Mirror(memory, RUN, Keep(1, 2), say=lambda _: None, first_delay=0.001)
            for step in (10, 20, 30):
                saved = make_save(out, step)
                mirror.submit(saved.path, step, saved.ordinal)
            result = mirror.drain()
        assert result.ok
        assert held_steps(memory) == [20, 30]
        if broken.calls < k:
            break
    assert k > 60


# ---- what a store holds ----


def test_a_half_written_checkpoint_is_neither_listed_nor_called_damaged(
    memory: StorePlace,
) -> None:
    memory._mark("checkpoint-10", RUN)
    memory._write_small("checkpoint-10/config.json", b"{}")
    survey = memory.survey()
    assert (survey.held, survey.damaged, survey.unmarked) == ([], [], [])


def test_another_machines_upload_of_another_run_is_left_alone(memory: StorePlace) -> None:
    owner = json.loads(this_process("other").to_bytes())
    mark = json.dumps({**owner, "host": "elsewhere"}).encode()
    memory._write_small("checkpoint-10/owner.json", mark)
    memory.clean(RUN)
    assert files_in(memory) == ["checkpoint-10/owner.json"]


def test_what_lies_there_without_a_manifest_is_never_deleted(
    memory: StorePlace, tmp_path: Path
) -> None:
    memory._write_small("checkpoint-10/thesis.tex", b"mine")
    assert memory.survey().unmarked == ["checkpoint-10"]
    memory.put(make_save(tmp_path, 10), no_progress)
    assert memory.read("earlier-unmarked/checkpoint-10/thesis.tex") == b"mine"


def test_a_later_versions_checkpoint_is_refused_not_renamed(
    memory: StorePlace, tmp_path: Path
) -> None:
    manifest = {"format": 2, "run_id": RUN, "step": 10, "files": {}}
    memory._write_small("checkpoint-10/manifest.json", json.dumps(manifest).encode())
    with pytest.raises(UserError, match="later version of tinyllm"):
        choose(FolderPlace(tmp_path / "out"), memory)
    assert files_in(memory) == ["checkpoint-10/manifest.json"]


def test_a_damaged_local_save_does_not_reach_the_store(memory: StorePlace, tmp_path: Path) -> None:
    saved = make_save(tmp_path, 10)
    (saved.path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(SourceDamagedError, match=r"model\.safetensors"):
        memory.put(saved, no_progress)
    assert held_steps(memory) == []


def test_an_upload_that_reads_back_different_is_an_error(
    memory: StorePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = StorePlace._chunks

    def cut(self: StorePlace, name: str) -> Iterator[bytes]:
        yield from (chunk[:-1] for chunk in chunks(self, name))

    monkeypatch.setattr(StorePlace, "_chunks", cut)
    with pytest.raises(OSError, match="reads back different"):
        memory.put(make_save(tmp_path, 10), no_progress)
    assert held_steps(memory) == []


# ---- addresses ----


def test_a_missing_package_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(UserError, match=r"^--sync-out gs://bucket/run: .*gcsfs"):
        open_place("gs://bucket/run")


def test_an_address_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UserError, match=r"nope://x can't be written .*nope"):
        open_place("nope://x")


def test_a_server_that_does_not_answer_is_refused_without_the_password() -> None:
    pytest.importorskip("sshfs", reason="sshfs isn't installed")
    with pytest.raises(UserError) as refusal:
        open_place("ssh://me:s3cret-word@127.0.0.1:1/run")
    assert "ssh://me:…@127.0.0.1:1/run can't be written" in str(refusal.value)
    assert "s3cret-word" not in str(refusal.value)


def test_a_wrong_password_is_refused_without_telling_it(tmp_path: Path) -> None:
    with sftp_address(tmp_path) as address, pytest.raises(UserError) as refusal:
        open_place(address.replace("s3cret-word", "wr0ng-word"))
    assert "wr0ng-word" not in str(refusal.value)


def test_an_address_of_the_file_system_is_a_folder(tmp_path: Path) -> None:
    assert open_place(f"file://{tmp_path}/mirror") == FolderPlace(tmp_path / "mirror")


def test_a_windows_path_is_no_address() -> None:
    assert stores.as_path(r"C:\models") == Path(r"C:\models")


# ---- python -m tinyllm.copy ----


def test_the_printed_command_copies_what_is_missing(
    memory: StorePlace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = make_save(tmp_path, 10)
    Run(RUN, {}, "", "").write(tmp_path)
    command = memory.copy_command([saved.path], [tmp_path / "run.json"])
    assert command.endswith(f"-m tinyllm.copy {saved.path} {tmp_path}/run.json {memory.where}")
    assert copy.main([str(saved.path), str(tmp_path / "run.json"), "memory://bucket/run"]) == 0
    assert held_steps(memory) == [10]
    assert memory.exists("run.json")
    assert "copied memory://bucket/run/checkpoint-10" in capsys.readouterr().out


def test_what_is_no_checkpoint_is_not_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path / "checkpoint-10", 10)
    assert copy.main([str(tmp_path / "checkpoint-10"), str(tmp_path / "mirror")]) == 2
    assert "neither a file nor a checkpoint" in capsys.readouterr().err

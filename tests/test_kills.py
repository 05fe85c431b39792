"""SIGKILL at every single call of publishing, copying, deleting; and what is cleaned up after."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from saves import RUN, check_invariants, make_save, names, write_files

from tinyllm.checkpoints import (
    FolderPlace,
    Keep,
    choose,
    list_checkpoints,
    staging_folder,
    verify,
)
from tinyllm.checkpoints.leftovers import clean_temporaries
from tinyllm.checkpoints.mirror import Mirror

REPOSITORY = Path(__file__).parent.parent
pytest_plugins = ("mirror_fixtures",)

KILLED = """
import signal, sys
from pathlib import Path
sys.path.insert(0, "tests")
from saves import RUN, FaultyDisk
from tinyllm import checkpoints
action, folder, k = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
source, target = folder / "out", folder / "mirror"
with FaultyDisk(folder, k, signal.SIGKILL) as disk:
    if action == "publish":
        staged = source / ".tinyllm-staging-checkpoint-10" / "checkpoint-10"
        checkpoints.publish(staged, source / "checkpoint-10", RUN, 10, 1)
    elif action == "copy":
        checkpoints.copy_checkpoint(checkpoints.list_checkpoints(source)[0], target)
    elif action == "delete":
        checkpoints.delete_checkpoint(checkpoints.list_checkpoints(target)[0])
    elif action == "final":
        files = sorted((source / "checkpoint-10").glob("*.*"))
        checkpoints.copy_files_verified(files, target, RUN)
"""


def run_and_kill(action: str, folder: Path, k: int) -> bool:
    """True if the script reached the k-th call below `folder` and was killed there."""
    command = [sys.executable, "-c", KILLED, action, str(folder), str(k)]
    code = subprocess.run(command, cwd=REPOSITORY, check=False).returncode
    assert code in (0, -signal.SIGKILL)
    return code != 0


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.parametrize("replaces", [False, True])
def test_a_kill_at_any_call_of_publishing_leaves_a_whole_save_or_none(
    quick_disk: Path, replaces: bool
) -> None:
    for k in range(1, 200):
        out = quick_disk / str(k) / "out"
        if replaces:
            make_save(out, 10, size=50)
        write_files(staging_folder(out, "checkpoint-10") / "checkpoint-10", 10)
        killed = run_and_kill("publish", out.parent, k)
        # The staging folder was marked by this process, which lives; a real one would be dead.
        check_invariants(out, replaces)
        assert verify(make_save(out, 10)) is None
        if not killed:
            break
    assert k > 15


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.parametrize("replaces", [False, True])
def test_a_kill_at_any_call_of_copying_leaves_nothing_half_behind(
    quick_disk: Path, replaces: bool
) -> None:
    for k in range(1, 200):
        folder = quick_disk / str(k)
        make_save(folder / "out", 10)
        (folder / "mirror").mkdir()
        if replaces:
            make_save(folder / "mirror", 10, size=50)
        killed = run_and_kill("copy", folder, k)
        check_invariants(folder / "mirror", replaces)
        clean_temporaries(folder / "mirror", RUN)
        assert set(names(folder / "mirror")) <= {"checkpoint-10"}
        if not killed:
            break
    assert k > 30


@pytest.mark.faults
@pytest.mark.slow
def test_a_kill_at_any_call_of_deleting_leaves_it_whole_or_out_of_sight(quick_disk: Path) -> None:
    for k in range(1, 60):
        mirror = quick_disk / str(k) / "mirror"
        make_save(mirror, 10)
        killed = run_and_kill("delete", mirror.parent, k)
        check_invariants(mirror)
        clean_temporaries(mirror, RUN)
        assert set(names(mirror)) <= {"checkpoint-10"}
        if not killed:
            break
    assert k > 3


@pytest.mark.faults
@pytest.mark.slow
def test_a_kill_at_any_call_never_cuts_a_published_final_model(quick_disk: Path) -> None:
    for k in range(1, 100):
        folder = quick_disk / str(k)
        saved = make_save(folder / "out", 10).path
        (folder / "mirror").mkdir()
        (folder / "mirror" / "model.safetensors").write_bytes(b"the older model")
        killed = run_and_kill("final", folder, k)
        weights = (folder / "mirror" / "model.safetensors").read_bytes()
        assert weights in (b"the older model", (saved / "model.safetensors").read_bytes())
        clean_temporaries(folder / "mirror", RUN)
        assert not any(name.startswith(".") for name in names(folder / "mirror"))
        if not killed:
            break
    assert k > 10


MIRRORING = """
import sys, time
from pathlib import Path
from tinyllm.checkpoints import FolderPlace, Keep, copy_checkpoint, list_checkpoints
from tinyllm.checkpoints.mirror import Mirror
out, sync = Path(sys.argv[1]), Path(sys.argv[2])
def slowly(saved, target, progress):
    def report(count):
        print("copying", flush=True)
        time.sleep(60)
    return copy_checkpoint(saved, target, report)
mirror = Mirror(FolderPlace(sync, slowly), "run-a", Keep(), say=lambda _: None)
mirror.adopt(out, 30)
mirror.drain()
"""


@pytest.mark.faults
@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_slow_copy_costs_nothing(tmp_path: Path) -> None:
    out, sync = tmp_path / "out", tmp_path / "sync"
    make_save(sync, 10)
    for step in (10, 20, 30):
        make_save(out, step)
    command = [sys.executable, "-c", MIRRORING, str(out), str(sync)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "copying\n"
        killed.kill()
    assert [path for path in names(sync) if path.startswith(".tinyllm-copy-")]
    assert [found.step for found in list_checkpoints(sync)] == [10]
    assert [found.step for found in list_checkpoints(out)] == [10, 20, 30]

    choice = choose(FolderPlace(out), FolderPlace(sync))
    assert choice.checkpoint is not None
    assert (choice.checkpoint.step, choice.damaged) == (30, [])
    assert names(sync) == ["checkpoint-10"]

    mirror = Mirror(FolderPlace(sync), RUN, Keep(), say=lambda _: None)
    mirror.adopt(out, 30)
    assert mirror.drain().ok
    assert names(sync) == names(out) == ["checkpoint-30"]


@pytest.mark.slow
def test_another_live_runs_copy_in_progress_is_left_alone(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from tinyllm.checkpoints.leftovers import new_holder
print(new_holder(Path(sys.argv[1]), "another-run").name, flush=True)
time.sleep(60)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        holder = other.stdout.readline().strip()
        clean_temporaries(tmp_path, RUN)
        assert names(tmp_path) == [holder]
        other.kill()
    clean_temporaries(tmp_path, RUN)
    assert names(tmp_path) == []


def test_a_folder_with_a_temporary_name_but_no_mark_stays(tmp_path: Path) -> None:
    stranger = tmp_path / ".tinyllm-copy-abc"
    stranger.mkdir()
    (stranger / "thesis.tex").touch()
    clean_temporaries(tmp_path, RUN)
    assert names(tmp_path) == [".tinyllm-copy-abc"]

"""A run under torchrun: two processes on one machine, which talk through gloo."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_runs import CHILD, ROOT, arguments, write_corpus

from tinyllm.errors import UserError
from tinyllm.processes import from_main_process


def run_two(tmp_path: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a training command in two processes."""
    script = tmp_path / "child.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{CHILD}")
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         str(script), "-1", "0", *command],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_two_processes_train_one_run_mirror_it_once_and_resume_it(tmp_path: Path):
    corpus, out, mirror = write_corpus(tmp_path / "logs"), tmp_path / "out", tmp_path / "mirror"
    more = ["--sync-out", str(mirror), "--batch-size", "1"]
    first = run_two(tmp_path, arguments(corpus, out, *more, steps=4))
    assert first.returncode == 0, first.stderr
    assert (mirror / "checkpoint-4" / "manifest.json").exists()
    assert (mirror / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()
    assert first.stdout.count("done ") == 1  # one process speaks
    second = run_two(tmp_path, [*arguments(corpus, out, *more, steps=8), "--resume"])
    assert second.returncode == 0, second.stderr
    assert "resuming at step 4" in second.stdout
    record = json.loads((mirror / "checkpoint-8" / "manifest.json").read_text())
    assert {"rng_state_0.pth", "rng_state_1.pth"} <= set(record["files"])
    assert record["run_id"] == json.loads((out / "run.json").read_text())["run_id"]


@pytest.mark.slow
def test_what_one_process_refuses_ends_them_all(tmp_path: Path):
    corpus, out = write_corpus(tmp_path / "logs"), tmp_path / "out"
    run_two(tmp_path, arguments(corpus, out, "--batch-size", "1", steps=4))
    command = [*arguments(corpus, out, "--batch-size", "1", "--seed", "7", steps=8), "--resume"]
    refused = run_two(tmp_path, command)
    assert refused.returncode != 0
    assert "--seed was 42 and is now 7" in refused.stderr


def test_a_single_process_just_calls(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert from_main_process(lambda: 7) == 7


def test_a_single_process_raises_what_it_finds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)

    def refuse() -> None:
        raise UserError("no")

    with pytest.raises(UserError, match="no"):
        from_main_process(refuse)

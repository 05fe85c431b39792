"""Small real runs for tests: a corpus, a preset that trains in seconds, a process to kill."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import model_config

ROOT = Path(__file__).parent.parent
TINY = model_config.Preset(hidden_size=64, ffn_size=128, layers=2, heads=2, kv_heads=1)
WORDS = [
    "tide",
    "gull",
    "lamp",
    "kelp",
    "rope",
    "salt",
    "wind",
    "door",
    "bell",
    "moss",
    "fern",
    "clay",
    "reed",
    "wool",
    "rust",
    "pine",
]

# Trains as `python train.py ARGS` would, with the tiny preset; sends itself a signal at a step.
CHILD = """
import os, sys
import model_config
model_config.PRESETS["tiny"] = model_config.Preset(64, 128, 2, 2, 1)
import train
from tinyllm.callbacks import StopOnSignal
at, number = int(sys.argv[1]), int(sys.argv[2])
on_step_end = StopOnSignal.on_step_end
def kill(self, args, state, control, **kwargs):
    if state.global_step == at:
        os.kill(os.getpid(), number)
    return on_step_end(self, args, state, control, **kwargs)
StopOnSignal.on_step_end = kill
raise SystemExit(train.main(sys.argv[3:]))
"""


def write_corpus(folder: Path, documents: int = 40, seed: int = 0) -> Path:
    """Chats of made-up words, one JSON record each."""
    draw = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)

    def words() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(4, 30)))

    lines = [
        json.dumps(
            {
                "messages": [
                    {"role": "user", "content": words()},
                    {"role": "assistant", "content": words()},
                ]
            }
        )
        for _ in range(documents)
    ]
    (folder / "chats.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def arguments(data: Path, out: Path, *more: str, steps: int = 12) -> list[str]:
    """A command line that trains the tiny preset in a few seconds."""
    return [
        "--data", str(data), "--out", str(out), "--size", "tiny", "--block-size", "32",
        "--batch-size", "2", "--grad-accum", "2", "--max-steps", str(steps),
        "--save-steps", "4", "--precision", "fp32", "--eval-fraction", "0.1", *more,
    ]  # fmt: skip


def run_child(
    command: Sequence[str], at: int = -1, number: int = signal.SIGKILL, cache: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a training command in a process of its own, which signals itself at step `at`."""
    cache = cache or Path(os.environ["TINYLLM_CACHE"])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TINYLLM_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(at), str(int(number)), *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def weights(out: Path) -> bytes:
    """The final model's weights, byte for byte."""
    return (out / "model.safetensors").read_bytes()

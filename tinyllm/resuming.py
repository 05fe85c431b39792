"""Where a launch begins: at a sound checkpoint of --out or --sync-out, or fresh."""

import os
from dataclasses import dataclass
from pathlib import Path

from tinyllm import checkpoints
from tinyllm.checkpoints.publishing import as_name
from tinyllm.console import say
from tinyllm.errors import UserError
from tinyllm.report import REPORT_FILE
from tinyllm.runs import RUN_FILE, Run, announce_changes, read_run

# What `PretrainTrainer.save_final` writes, with all versions of the libraries.
FINAL_FILES = (
    "model.safetensors",
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "training_args.bin",
    REPORT_FILE,
    "README.md",
    RUN_FILE,
)


@dataclass(frozen=True, slots=True)
class Resumed:
    """The checkpoint a launch goes on from, and the run it belongs to."""

    checkpoint: checkpoints.Checkpoint
    run: Run


def find_resume(out: Path, sync_out: Path | None) -> Resumed | None:
    """The newest sound checkpoint of --out and --sync-out; None where there is none."""
    choice = checkpoints.choose(out, sync_out)
    for path, reason in choice.damaged:
        say(f"damaged checkpoint set aside: {path} ({reason})")
    for other in choice.other_runs:
        say(f"not this run's, left alone: {other.path} (run {other.run_id})")
    for path in choice.unmarked:
        say(f"without a manifest, so not resumed from: {path}")
    if choice.checkpoint is None:
        say("nothing to resume, starting at step 0")
        return None
    return Resumed(choice.checkpoint, read_run(choice.checkpoint.path))


def enter_out(out: Path, sync_out: Path | None, resumed: Resumed | None, run: Run) -> str | None:
    """Make --out this run's: bring the checkpoint down, or move an earlier run's out of the way.

    Returns the folder to resume from. Deletes nothing.
    """
    folders = [folder for folder in (out, sync_out) if folder]
    local, moved = None, []
    for folder in folders:
        if resumed is None:
            moved += checkpoints.set_aside_earlier(folder, run.run_id)
        else:
            moved += checkpoints.set_aside_newer(folder, run.run_id, resumed.checkpoint.step)
        moved += _set_aside_model(folder, run.run_id)
    for path in moved:
        say(f"an earlier run's {path.name} was moved to {path.parent}")
    if resumed is not None:
        step = resumed.checkpoint.step
        for line in announce_changes(resumed.run, run, step):
            say(line)
        local = str(checkpoints.bring_down(resumed.checkpoint, out).path)
        say(f"resuming at step {step:,} from {resumed.checkpoint.path}")
    run.write(out)
    return local


def _set_aside_model(folder: Path, run_id: str) -> list[Path]:
    """Move what lies under a final model's names away, unless it is this run's own.

    An earlier run's model would be exported as the new one's; a stranger's would be overwritten.
    """
    owner = _owner(folder)
    if owner == as_name(run_id):
        return []
    earlier = folder / f"earlier-{owner}"
    return [
        checkpoints.set_aside(folder / name, earlier / name)
        for name in FINAL_FILES
        if os.path.lexists(folder / name)
    ]


def _owner(folder: Path) -> str:
    """The id of the run whose final model lies in `folder`, as a part of a file name."""
    try:
        return as_name(read_run(folder).run_id)
    except UserError:
        return "unmarked"

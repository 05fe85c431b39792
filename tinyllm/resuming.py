"""Where a launch begins: at a sound checkpoint of --out or --sync-out, or fresh."""

from dataclasses import dataclass
from pathlib import Path

from tinyllm import checkpoints
from tinyllm.console import say
from tinyllm.runs import Run, announce_changes, read_run


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
    if choice.checkpoint is None:
        say("nothing to resume, starting at step 0")
        return None
    return Resumed(choice.checkpoint, read_run(choice.checkpoint.path))


def enter_out(out: Path, sync_out: Path | None, resumed: Resumed | None, run: Run) -> str | None:
    """Make --out this run's: bring the checkpoint down, or move an earlier run's out of the way.

    Returns the folder to resume from. Deletes nothing.
    """
    folders = [folder for folder in (out, sync_out) if folder]
    local = None
    if resumed is None:
        moved = [
            path for folder in folders for path in checkpoints.set_aside_earlier(folder, run.run_id)
        ]
    else:
        step = resumed.checkpoint.step
        moved = [
            path
            for folder in folders
            for path in checkpoints.set_aside_newer(folder, run.run_id, step)
        ]
        for line in announce_changes(resumed.run, run, step):
            say(line)
        local = str(checkpoints.bring_down(resumed.checkpoint, out).path)
        say(f"resuming at step {step:,} from {resumed.checkpoint.path}")
    for path in moved:
        say(f"an earlier checkpoint was moved to {path}")
    run.write(out)
    return local

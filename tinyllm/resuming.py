"""Where a launch begins: at a sound checkpoint of --out or --sync-out, or fresh."""

from dataclasses import dataclass
from pathlib import Path

from tinyllm import checkpoints
from tinyllm.checkpoints.places import FolderPlace, Place
from tinyllm.checkpoints.publishing import as_name
from tinyllm.console import say
from tinyllm.errors import UserError
from tinyllm.report import REPORT_FILE
from tinyllm.runs import RUN_FILE, Run, announce_changes, parse_run

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

    checkpoint: checkpoints.Held
    run: Run


def find_resume(out: Place, mirror: Place | None, hashes: bool) -> Resumed | None:
    """The newest sound checkpoint of --out and --sync-out; None where there is none.

    hashes  read every byte of it; False compares sizes alone
    """
    choice = checkpoints.choose(out, mirror, hashes)
    for path, reason in choice.damaged:
        say(f"damaged checkpoint set aside: {path} ({reason})")
    for other in choice.other_runs:
        say(f"not this run's, left alone: {other.where} (run {other.run_id})")
    for where in choice.unmarked:
        say(f"without a manifest, so not resumed from: {where}")
    if choice.checkpoint is None:
        say("nothing to resume, starting at step 0")
        return None
    return Resumed(choice.checkpoint, _run_in(choice.checkpoint.place, choice.checkpoint.name))


def bring_down(resumed: Resumed, out: Path) -> Path:
    """The checkpoint as a local folder in --out, copied there if only the mirror has it."""
    return checkpoints.bring_down(resumed.checkpoint, out).path


def enter_out(
    out: FolderPlace, mirror: Place | None, resumed: Resumed | None, run: Run
) -> str | None:
    """Make --out this run's: bring the checkpoint down, or move an earlier run's out of the way.

    Returns the folder to resume from. Deletes nothing.
    """
    places = [out] if mirror is None else [out, mirror]
    local, moved = None, []
    for place in places:
        try:
            if resumed is None:
                moved += checkpoints.set_aside_earlier(place, run.run_id)
            else:
                moved += checkpoints.set_aside_newer(place, run.run_id, resumed.checkpoint.step)
            moved += _set_aside_model(place, run.run_id)
        except OSError as error:
            raise UserError(
                f"what an earlier run left in {place.where} can't be moved out of the way "
                f"({error.strerror or error}): mend that, or give another place"
            ) from error
    for where in moved:
        say(f"an earlier run's, moved to {where}")
    if resumed is not None:
        step = resumed.checkpoint.step
        for line in announce_changes(resumed.run, run, step):
            say(line)
        local = str(bring_down(resumed, out.path))
        say(f"resuming at step {step:,} from {resumed.checkpoint.where}")
    run.write(out.path)
    return local


def _set_aside_model(place: Place, run_id: str) -> list[str]:
    """Move what lies under a final model's names away, unless it is this run's own.

    An earlier run's model would be exported as the new one's; a stranger's would be overwritten.
    """
    owner = _owner(place)
    if owner == as_name(run_id):
        return []
    return [
        place.set_aside(name, f"earlier-{owner}/{name}")
        for name in FINAL_FILES
        if place.exists(name)
    ]


def _owner(place: Place) -> str:
    """The id of the run whose final model lies in `place`, as a part of a file name."""
    try:
        return as_name(_run_in(place).run_id)
    except UserError:
        return "unmarked"


def _run_in(place: Place, name: str = "") -> Run:
    file = f"{name}/{RUN_FILE}" if name else RUN_FILE
    return parse_run(lambda: place.read(file), place.path_of(file))

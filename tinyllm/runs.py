"""What identifies a run: run.json, kept in --out and inside every checkpoint."""

import json
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tinyllm.errors import UserError

RUN_FILE = "run.json"
FORMAT_VERSION = 1

# The flag a user would change for each setting. A difference in one of these is another model or
# another corpus, so a checkpoint can't go on with it.
FIXED_SETTINGS: dict[str, str] = {
    "size": "--size",
    "tokenizer": "--tokenizer",
    "block_size": "--block-size",
    "scope": "--scope",
    "relabel": "--relabel",
    "me": "--me",
    "keep": "--keep",
    "near_dedup": "--near-dedup",
    "near_dedup_human": "--near-dedup-human",
    "seed": "--seed",
    "eval_fraction": "--eval-fraction",
    "global_batch": "--batch-size x --grad-accum x processes",
    "precision": "--precision",
    "optimizer": "--8bit-adam / --precision",
}
# A difference in one of these takes effect from the resumed step on, and is said.
CHANGEABLE_SETTINGS: dict[str, str] = {
    "learning_rate": "--lr",
    "total_steps": "--epochs / --max-steps",
    "data": "--data",
    "threads": "thread count",
}


@dataclass(frozen=True, slots=True)
class Run:
    """A run's identity and what it was started with.

    settings   values of FIXED_SETTINGS and CHANGEABLE_SETTINGS
    data_key   name of the prepared data in the cache
    content    hash of the token blocks themselves, the same on every machine
    """

    run_id: str
    settings: dict[str, Any]
    data_key: str
    content: str

    def write(self, folder: Path) -> None:
        """Write run.json into `folder`, whole or not at all."""
        target = folder / RUN_FILE
        temporary = folder / f".{RUN_FILE}.{os.getpid()}"
        record = {"format": FORMAT_VERSION, **asdict(self)}
        temporary.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        temporary.replace(target)


def new_run_id() -> str:
    """A fresh run's id."""
    return uuid.uuid4().hex[:12]


def read_run(folder: Path) -> Run:
    """The run recorded in a folder: a checkpoint's, or --out. Raises as `parse_run` does."""
    path = folder / RUN_FILE
    return parse_run(path.read_bytes, str(path))


def parse_run(read: Callable[[], bytes], path: str) -> Run:
    """The run that a run.json tells of.

    read  gives the file's bytes
    path  its path or address, for messages

    Raises UserError if it is missing, damaged or of a later format.
    """
    try:
        record = json.loads(read())
        version = record.pop("format")
        run = Run(**record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} can't be read ({error}), so nothing tells what was trained there: "
            "start without --resume"
        ) from error
    if version != FORMAT_VERSION:
        raise UserError(
            f"{path} has format {version} and this tinyllm reads {FORMAT_VERSION}: "
            "resume with the version that wrote it"
        )
    return run


def refuse_differences(old: Run, new_settings: dict[str, Any]) -> None:
    """Raise UserError naming every setting that makes this another run than the checkpoint's."""
    different = [
        f"{flag} was {old.settings.get(name)!r} and is now {new_settings[name]!r}"
        for name, flag in FIXED_SETTINGS.items()
        if name in new_settings
        and name in old.settings
        and old.settings[name] != new_settings[name]
    ]
    if different:
        raise UserError(
            "can't resume: " + "; ".join(different) + "; give the old values, or leave out --resume"
        )


def announce_changes(old: Run, new: Run, step: int) -> Sequence[str]:
    """One sentence for each setting that changed and takes effect from `step` on."""
    lines = [
        f"{flag} was {old.settings[name]!r} and is {new.settings[name]!r} from step {step} on"
        for name, flag in CHANGEABLE_SETTINGS.items()
        if name in old.settings and old.settings[name] != new.settings[name]
    ]
    if old.content != new.content:
        lines.append(
            f"the data changed since this run began: step {step} goes on at the same position "
            "in the new blocks"
        )
    return lines

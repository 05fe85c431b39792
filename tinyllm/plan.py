"""Everything about a run that can be decided, or refused, before any heavy work."""

import math
import os
import shlex
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinyllm.checkpoints import FolderPlace, Place, folders_overlap
from tinyllm.console import say
from tinyllm.errors import UserError
from tinyllm.packing import PackStats
from tinyllm.stores import as_path, open_folder, open_place

MIN_BLOCK_SIZE = 8
MAX_EPOCHS = 1_000_000


def world_size() -> int:
    """Training processes, as torchrun sets it; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps of a run.

    steps_per_epoch  optimizer steps in one pass over the blocks
    total_steps      where the cosine reaches zero
    warmup_steps     linear warm-up: 2% of the run, 10 steps or more, but never over a tenth of it
    """

    steps_per_epoch: int
    total_steps: int
    warmup_steps: int


def schedule(blocks: int, args: Namespace) -> Schedule:
    """Count steps as Trainer does: the last step of an epoch may be smaller, none is dropped."""
    batches = math.ceil(blocks / (args.batch_size * world_size()))
    steps_per_epoch = max(1, math.ceil(batches / args.grad_accum))
    total = args.max_steps if args.max_steps > 0 else math.ceil(args.epochs * steps_per_epoch)
    return Schedule(steps_per_epoch, total, min(max(10, total // 50), max(1, total // 10)))


def check_numbers(args: Namespace) -> None:
    """Raise UserError for the first number that no run can have."""
    at_least = {
        "--batch-size": (args.batch_size, 1),
        "--grad-accum": (args.grad_accum, 1),
        "--save-steps": (args.save_steps, 1),
        "--keep-recent": (args.keep_recent, 1),
        "--keep-every": (args.keep_every, 0),
        "--block-size": (args.block_size, MIN_BLOCK_SIZE),
        "--seed": (args.seed, 0),
        "--num-proc": (args.num_proc, 1),
    }
    for flag, (value, least) in at_least.items():
        if value < least:
            raise UserError(f"{flag} is {value} and must be {least} or more")
    if args.max_steps == 0 or args.max_steps < -1:
        raise UserError(f"--max-steps is {args.max_steps}: give 1 or more, or -1 to go by --epochs")
    if not 0 < args.epochs <= MAX_EPOCHS:
        raise UserError(f"--epochs is {args.epochs}: give more than 0, and {MAX_EPOCHS:,} at most")
    if args.lr is not None and not 0 < args.lr < math.inf:
        raise UserError(f"--lr is {args.lr} and must be above 0")
    if not 0 <= args.eval_fraction < 1:
        raise UserError(f"--eval-fraction is {args.eval_fraction}: give 0 (no held-out part) to <1")


def open_places(out: Path, sync_out: str | None) -> tuple[FolderPlace, Place | None]:
    """--out and --sync-out, made where they are absent.

    Raises UserError unless both can be written and neither lies inside the other.
    """
    if sync_out is not None:
        path = as_path(sync_out)
        if path is not None and folders_overlap(path, out):
            raise UserError(
                f"--sync-out {sync_out} and --out {out} overlap: "
                "the mirror must be a folder of its own, outside --out"
            )
    return open_folder(out, "--out"), None if sync_out is None else open_place(sync_out)


def resume_command(argv: Sequence[str]) -> str:
    """The exact shell command that continues this run."""
    words = [word for word in argv if word != "--resume"]
    return shlex.join(["python", "train.py", *words, "--resume"])


def announce_data(stats: PackStats, args: Namespace) -> None:
    """What there is to train on."""
    say(
        f"data      {stats.documents:,} documents, {stats.tokens:,} tokens in {stats.blocks:,} "
        f"blocks of {stats.block_size}; held out: {stats.heldout_documents:,} documents, "
        f"{stats.heldout_tokens:,} tokens"
    )
    if stats.block_size < args.block_size:
        say(
            f"          all the text together is {stats.tokens:,} tokens, less than one block of "
            f"{args.block_size}: the block is lowered to {stats.block_size}"
        )
    if args.eval_fraction and not stats.heldout_documents:
        say("          a single document: nothing is held out, so no held-out loss")


def announce_steps(
    args: Namespace,
    mirror: Place | None,
    steps: Schedule,
    settings: Mapping[str, Any],
    block_size: int,
) -> None:
    """What is about to happen."""
    tokens = settings["global_batch"] * block_size
    say(
        f"steps     {steps.total_steps:,} of {tokens:,} tokens ({steps.steps_per_epoch:,} an epoch)"
        f", {settings['optimizer']}, peak learning rate {settings['learning_rate']:g}"
    )
    mirrored = f", mirrored to {mirror.where}" if mirror else ""
    say(f"saves     every {args.save_steps} steps to {args.out}{mirrored}")

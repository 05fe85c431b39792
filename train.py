"""Pretrain a small language model on your own agent and chat logs.

    python train.py                                  # your default folders, or the bundled sample
    python train.py --data my_logs/ --scope voice    # then: python export_gguf.py
    python train.py --data my_logs/ --resume         # after a kill, on this or another machine

The story: parse -> plan -> prepare -> train -> finish.
"""

import os

# The tokenizer's own thread pool and forked data workers can deadlock together.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import logging
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainingArguments, set_seed
from transformers.utils import logging as transformers_logging

from model_config import BLOCK_SIZE, PRESETS, Precision, build_model, choose_precision
from tinyllm import __version__, report
from tinyllm.callbacks import AsyncCheckpointSync, ProgressLines, StopOnSignal
from tinyllm.checkpoints import Keep
from tinyllm.console import is_main_process, say
from tinyllm.corpus_flags import add_corpus_flags, corpus_settings
from tinyllm.errors import EXIT_FAILED, EXIT_OK, Parser, UserError, place, run_command
from tinyllm.optimizers import default_learning_rate, import_bitsandbytes, optimizer_name
from tinyllm.plan import (
    Schedule,
    announce_data,
    announce_steps,
    check_numbers,
    open_places,
    resume_command,
    schedule,
    world_size,
)
from tinyllm.preparing import PreparedData, RunTokenizer, prepare_blocks, prepare_tokenizer
from tinyllm.processes import device_type, from_main_process
from tinyllm.resuming import Resumed, bring_down, enter_out, find_resume
from tinyllm.runs import Run, new_run_id, refuse_differences
from tinyllm.trainer import KeepCheckpoints, PretrainTrainer, check_report_to

__all__ = ["AsyncCheckpointSync", "main"]

DEFAULT_DATA = ("~/ggmlagent", "~/frontier-boonie/logs")
SAMPLE = Path(__file__).parent / "sample"
# The sample is small: these, where the user gave none, make it learn visibly in minutes.
SAMPLE_SETTINGS = {"epochs": 8.0, "batch_size": 2, "grad_accum": 1}


# fmt: off
def _add_data_flags(parser: Parser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument("--data", nargs="+", metavar="PATH", help="files, folders, globs "
                       f"(default: {' '.join(DEFAULT_DATA)}, or else the sample)")
    add_corpus_flags(group)
    group.add_argument("--tokenizer", default="tokenizer", metavar="FOLDER",
                       help="or `auto`: train one on the data (default: the bundled one)")
    group.add_argument("--block-size", type=int, default=BLOCK_SIZE, metavar="TOKENS",
                       help="a training sequence, and the model's context (default: %(default)s)")
    group.add_argument("--eval-fraction", type=float, default=0.01, metavar="SHARE",
                       help="of documents held out, never trained on; 0 = none "
                       "(default: %(default)s)")
    group.add_argument("--num-proc", type=int, default=os.cpu_count() or 1, metavar="N",
                       help="workers that encode text; the result is the same for any "
                       "(default: one a core)")
    group.add_argument("--cache", type=Path, metavar="FOLDER",
                       help="prepared data (default: $TINYLLM_CACHE or ~/.cache/tinyllm)")


def _add_model_flags(parser: Parser) -> None:
    group = parser.add_argument_group("model and optimizer")
    group.add_argument("--size", choices=list(PRESETS), default="nano",
                       help="8M, 20M, 48M, 84M parameters with 8,000 tokens (default: %(default)s)")
    group.add_argument("--epochs", type=float, default=1.0, metavar="N",
                       help="passes over the data (default: 1, on the sample 8)")
    group.add_argument("--max-steps", type=int, default=-1, metavar="STEPS",
                       help="overrides --epochs; -1 = off (default)")
    group.add_argument("--batch-size", type=int, default=8, metavar="BLOCKS",
                       help="a micro-batch of one process (default: 8, on the sample 2)")
    group.add_argument("--grad-accum", type=int, default=4, metavar="N",
                       help="micro-batches a step (default: 4, on the sample 1)")
    group.add_argument("--lr", type=float, metavar="RATE",
                       help="peak learning rate (default: 2e-3 for nano, less the wider the model)")
    group.add_argument("--precision", default="auto", metavar="NAME", help="fp32, bf16 (weights), "
                       "bf16-autocast, fp16-autocast; auto = by hardware (default)")
    group.add_argument("--8bit-adam", action="store_true", dest="adam8bit",
                       help="AdamW moments in 8 bits (bitsandbytes)")
    group.add_argument("--grad-checkpoint", action="store_true",
                       help="less activation memory for about a third more compute")
    group.add_argument("--seed", type=int, default=42, metavar="N",
                       help="of weights, order and samples (default: %(default)s)")


def _add_checkpoint_flags(parser: Parser) -> None:
    group = parser.add_argument_group("checkpoints")
    group.add_argument("--out", type=Path, default=Path("checkpoints"), metavar="FOLDER",
                       help="checkpoints and the final model (default: %(default)s)")
    group.add_argument("--sync-out", type=place, metavar="PLACE",
                       help="mirror checkpoints here in the background: a folder, e.g. of a "
                       "mounted drive, or an address as s3://bucket/run, ssh://host/folder")
    group.add_argument("--save-steps", type=int, default=500, metavar="STEPS",
                       help="from save to save, each with a held-out loss (default: %(default)s)")
    group.add_argument("--keep-recent", type=int, default=1, metavar="N",
                       help="newest N saves are kept (default: %(default)s)")
    group.add_argument("--keep-every", type=int, default=0, metavar="K",
                       help="every K-th save is kept for good; 0 = off (default)")
    group.add_argument("--keep-best", action="store_true",
                       help="the save with the lowest held-out loss is kept too")
    group.add_argument("--resume", action="store_true",
                       help="go on from the newest sound checkpoint of --out and --sync-out")
    group.add_argument("--no-verify", action="store_false", dest="verify",
                       help="resume without reading every byte of a huge checkpoint: compare sizes")
    group.add_argument("--report-to", default="none", metavar="NAME",
                       help="what Trainer takes, e.g. trackio (default: %(default)s)")
# fmt: on


def build_parser() -> Parser:
    """Every flag, in groups, with its unit and its "off" value."""
    parser = Parser(
        prog="train.py", description=__doc__.splitlines()[0], epilog="README.md has more."
    )
    parser.add_argument("--version", action="version", version=f"tinyllm {__version__}")
    _add_data_flags(parser)
    _add_model_flags(parser)
    _add_checkpoint_flags(parser)
    return parser


def parse(argv: Sequence[str] | None) -> Namespace:
    """The settings; where no data is given and the default folders are absent, the sample's."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser()
    args = parser.parse_args(given)
    args.resume_command = resume_command(given)
    if args.data is None:
        args.data = [path for path in DEFAULT_DATA if Path(path).expanduser().exists()]
    if not args.data:
        args.data = [str(SAMPLE)]
        unset = parser.parse_args(given, Namespace(**dict.fromkeys(SAMPLE_SETTINGS)))
        extra = {k: v for k, v in SAMPLE_SETTINGS.items() if getattr(unset, k) is None}
        vars(args).update(extra)
        flags = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in extra.items())
        say(
            f"no --data, and neither {' nor '.join(DEFAULT_DATA)} exists: "
            f"training on the bundled sample {flags}".rstrip()
        )
    return args


def plan_precision(args: Namespace, resumed: Resumed | None) -> Precision:
    """Precision by hardware, by flag, or, where a run goes on, the one it began with."""
    requested = args.precision
    if requested == "auto" and resumed is not None:
        requested = resumed.run.settings["precision"]
    if requested == "auto" and args.adam8bit:
        automatic = choose_precision("auto", device_type())
        requested = {"bf16": "bf16-autocast"}.get(automatic.name, automatic.name)
    precision = choose_precision(requested, device_type())
    if args.adam8bit and precision.weights != torch.float32:
        raise UserError(
            "--8bit-adam has no bf16 weights: they would be rounded without a Kahan sum; "
            "give --precision bf16-autocast or fp32"
        )
    if args.adam8bit:
        import_bitsandbytes()
    return precision


def plan_settings(args: Namespace, precision: Precision, tokenizer_id: str) -> dict[str, Any]:
    """What is compared with a checkpoint's run.json (see `tinyllm.runs`)."""
    width = PRESETS[args.size].hidden_size
    return {
        "size": args.size,
        "tokenizer": tokenizer_id,
        "block_size": args.block_size,
        **corpus_settings(args),
        "seed": args.seed,
        "eval_fraction": args.eval_fraction,
        "global_batch": args.batch_size * args.grad_accum * world_size(),
        "precision": precision.name,
        "optimizer": optimizer_name(precision.weights, args.adam8bit),
        "learning_rate": args.lr or default_learning_rate(width),
        "data": [str(path) for path in args.data],
        "threads": torch.get_num_threads(),
    }


def training_arguments(
    args: Namespace, steps: Schedule, precision: Precision, learning_rate: float, heldout: int
) -> TrainingArguments:
    """The design's recipe: cosine to 0, warm-up, beta2 0.95, clip 1.0."""
    return TrainingArguments(
        output_dir=str(args.out),
        max_steps=steps.total_steps,
        per_device_train_batch_size=args.batch_size,
        per_device_eval_batch_size=args.batch_size,
        gradient_accumulation_steps=args.grad_accum,
        learning_rate=learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=steps.warmup_steps,
        max_grad_norm=1.0,
        bf16=precision.autocast == torch.bfloat16,
        fp16=precision.autocast == torch.float16,
        use_cpu=device_type() == "cpu",
        logging_steps=10,
        logging_first_step=True,
        save_strategy="steps",
        save_steps=args.save_steps,
        eval_strategy="steps" if heldout else "no",
        eval_steps=args.save_steps,
        save_total_limit=None,
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        dataloader_pin_memory=device_type() == "cuda",
        seed=args.seed,
        data_seed=args.seed,
        report_to=args.report_to,
    )


@dataclass(frozen=True, slots=True)
class Watch:
    """The callbacks of a run: who stops it, who speaks, who keeps its folders small."""

    stop: StopOnSignal
    progress: ProgressLines
    keeper: TrainerCallback


def retention(args: Namespace, run: Run) -> TrainerCallback:
    """What keeps --out small: the mirror, which also copies, or plain pruning."""
    if args.sync_out:
        return AsyncCheckpointSync(
            args.sync_out,
            args.keep_recent,
            args.keep_every,
            args.save_steps,
            keep_best=args.keep_best,
        )
    return KeepCheckpoints(run.run_id, Keep(args.keep_recent, args.keep_every, args.keep_best))


def build_trainer(
    args: Namespace,
    run: Run,
    prepared: PreparedData,
    tokenizer: RunTokenizer,
    steps: Schedule,
    precision: Precision,
    watch: Watch,
) -> PretrainTrainer:
    """The model from random weights, and the trainer that owns it."""
    set_seed(args.seed)
    model: Any = build_model(
        vocab_size=len(tokenizer.pretrained), size=args.size, block_size=args.block_size
    )
    model.to(precision.weights)
    if args.grad_checkpoint:
        # The older name goes away with transformers 6; Colab's 5.15 knows only that one.
        enable = getattr(model, "activation_checkpointing_enable", None)
        (enable or model.gradient_checkpointing_enable)()
    rate = run.settings["learning_rate"]
    return PretrainTrainer(
        model=model,
        args=training_arguments(args, steps, precision, rate, len(prepared.heldout)),
        train_blocks=prepared.train,
        heldout_blocks=prepared.heldout,
        token_bytes=tokenizer.token_bytes,
        tokenizer=tokenizer.pretrained,
        run=run,
        eight_bit=args.adam8bit,
        callbacks=[watch.stop, watch.progress, watch.keeper],
    )


def finish(
    args: Namespace, trainer: PretrainTrainer, prepared: PreparedData, run: Run
) -> list[Path]:
    """Write the final model and the pages about it into --out; returns what was written."""
    history = trainer.state.log_history
    samples = report.write_samples(trainer.network, trainer.processing_class, args.seed)
    heldout = [row for row in history if "eval_loss" in row]
    rows = [(name.replace("_", " "), str(value)) for name, value in run.settings.items()]
    if heldout:
        loss, bits = heldout[-1]["eval_loss"], heldout[-1]["eval_bits_per_byte"]
        rows.insert(0, ("held-out loss", f"{loss:.4f} nats a token, {bits:.4f} bits per byte"))
        say(f"held out  {loss:.4f} nats a token, {bits:.4f} bits per byte")
    facts = report.Facts(f"tinyllm {args.size}", rows, history, prepared.ledger, samples)
    files = trainer.save_final(lambda folder: report.write_pages(folder, facts))
    say(f"done      model and report.html in {args.out}; next: python export_gguf.py {args.out}")
    return files


def train(args: Namespace) -> int:
    """Plan, prepare, train, finish. Returns the exit code."""
    check_numbers(args)
    check_report_to(args.report_to)
    out, mirror = open_places(args.out, args.sync_out)
    transformers_logging.set_verbosity(logging.ERROR)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    resumed = (
        from_main_process(lambda: find_resume(out, mirror, args.verify)) if args.resume else None
    )
    precision = plan_precision(args, resumed)
    kept_tokenizer = bring_down(resumed, args.out) if resumed and args.tokenizer == "auto" else None
    tokenizer = prepare_tokenizer(args, kept_tokenizer)
    settings = plan_settings(args, precision, tokenizer.fingerprint)
    if resumed:
        refuse_differences(resumed.run, settings)

    prepared = prepare_blocks(args, tokenizer, resumed.run if resumed else None)
    announce_data(prepared.stats, args)
    steps = schedule(len(prepared.train), args)
    run = Run(
        run_id=resumed.run.run_id if resumed else from_main_process(new_run_id),
        settings={**settings, "total_steps": steps.total_steps},
        data_key=prepared.key,
        content=prepared.stats.content_sha256,
    )
    checkpoint = from_main_process(lambda: enter_out(out, mirror, resumed, run))

    watch = Watch(
        stop=StopOnSignal(),
        progress=ProgressLines(settings["global_batch"] * prepared.stats.block_size),
        keeper=retention(args, run),
    )
    trainer = build_trainer(args, run, prepared, tokenizer, steps, precision, watch)
    size = trainer.network.num_parameters() / 1e6
    say(f"model     {args.size}, {size:.2f}M parameters")
    say(f"precision {precision.name}: {precision.reason}")
    announce_steps(args, mirror, steps, run.settings, prepared.stats.block_size)
    return fit(args, trainer, watch, checkpoint, lambda: finish(args, trainer, prepared, run))


def fit(
    args: Namespace,
    trainer: PretrainTrainer,
    watch: Watch,
    checkpoint: str | None,
    finish_run: Callable[[], list[Path]],
) -> int:
    """Train to the last step or a signal, then finish, and in any case drain the mirror."""
    stop = watch.stop
    sync = watch.keeper if isinstance(watch.keeper, AsyncCheckpointSync) else None
    try:
        trainer.train_from(checkpoint)
        if stop.exit_code is None and is_main_process():
            files = finish_run()
            if sync:
                sync.publish_final(files)
    finally:
        watch.progress.close()
        stop.install()  # a signal while the mirror drains must not cut it short
        mirrored = sync.drain() if sync else None
        stop.restore()
    if stop.exit_code is not None:
        say(f"stopped at step {trainer.state.global_step:,} and saved; go on with:")
        say(f"  {args.resume_command}")
    if sync and mirrored and not mirrored.ok:
        say(f"error: not everything is on {sync.place.where} ({mirrored.error}); copy it with:")
        say(f"  {mirrored.command}")
        return EXIT_FAILED
    return EXIT_OK if stop.exit_code is None else stop.exit_code


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return run_command(lambda: train(parse(argv)))


if __name__ == "__main__":
    raise SystemExit(main())

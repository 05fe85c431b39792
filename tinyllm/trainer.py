"""The Hugging Face Trainer with saves that are whole or absent, and a held-out score.

Data order, gradient accumulation, clipping, schedule, logging and resuming are Trainer's own.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import nn
from transformers import (
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.integrations.integration_utils import get_available_reporting_integrations

from tinyllm import checkpoints
from tinyllm.callbacks import StuckWeights, heldout_loss_at
from tinyllm.console import say
from tinyllm.errors import UserError
from tinyllm.evaluation import heldout_loss
from tinyllm.optimizers import build_optimizer
from tinyllm.runs import Run


def collate(rows: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """Blocks to a batch: `input_ids` (batch, block) and labels equal to them.

    Nothing is masked: `<|endoftext|>` ends documents here, and is learnt.
    """
    ids = torch.from_numpy(np.stack([row["input_ids"] for row in rows]).astype(np.int64))
    return {"input_ids": ids, "labels": ids.clone()}


def check_report_to(name: str) -> None:
    """Raise UserError if Trainer can't report to `name` here."""
    installed: list[str] = get_available_reporting_integrations()  # type: ignore[no-untyped-call]
    if name not in ("none", "all", *installed):
        known = ", ".join(["none", *installed])
        raise UserError(
            f"--report-to {name!r} is unknown or not installed: `pip install` it, or give {known}"
        )


class FinalStep(TrainerCallback):
    """Logs before every save, so a resumed curve has no gap, and scores the last step."""

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if state.global_step >= state.max_steps and args.eval_strategy != "no":
            control.should_evaluate = True
        if control.should_save:
            control.should_log = True


class KeepCheckpoints(TrainerCallback):
    """After each save, deletes what retention no longer wants of this run (without a mirror)."""

    def __init__(self, run_id: str, keep: checkpoints.Keep) -> None:
        self._run_id, self._keep = run_id, keep

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if state.is_world_process_zero:
            checkpoints.prune(Path(str(args.output_dir)), self._run_id, self._keep)


class PretrainTrainer(Trainer):
    """Trainer for one run: its optimizer, its atomic checkpoints, its held-out loss."""

    def __init__(
        self,
        *,
        model: nn.Module,
        args: TrainingArguments,
        train_blocks: Dataset,
        heldout_blocks: Dataset,
        token_bytes: np.ndarray,
        tokenizer: Any,
        run: Run,
        eight_bit: bool,
        callbacks: Sequence[TrainerCallback],
    ) -> None:
        super().__init__(
            model=model,
            args=args,
            train_dataset=train_blocks.with_format("numpy"),
            eval_dataset=heldout_blocks.with_format("numpy"),
            data_collator=collate,
            processing_class=tokenizer,
            callbacks=[FinalStep(), StuckWeights(), *callbacks],
        )
        self.remove_callback(PrinterCallback)  # ProgressLines speaks instead
        self.run = run
        self._token_bytes = token_bytes
        self._eight_bit = eight_bit
        self._staging: Path | None = None

    @property
    def out(self) -> Path:
        """The folder of --out."""
        return Path(str(self.args.output_dir))

    @property
    def network(self) -> Any:
        """The model itself, unwrapped."""
        assert self.model is not None
        return self.model

    def train_from(self, checkpoint: str | None) -> None:
        """Train to `max_steps`; from a checkpoint that is there already, only load it."""
        if checkpoint is not None:
            state = TrainerState.load_from_json(str(Path(checkpoint) / "trainer_state.json"))
            if state.global_step >= self.args.max_steps:
                self._load_from_checkpoint(checkpoint)
                self.state = state
                say(f"already trained to step {state.global_step:,}: nothing left to train")
                return
        self.train(resume_from_checkpoint=checkpoint)

    def save_final(self, add_pages: Callable[[Path], None]) -> list[Path]:
        """Write the model, tokenizer and run.json, and what `add_pages` writes, into --out.

        Returns the files in --out. Written aside, then renamed one by one, the weights last.
        """
        out = self.out
        holder = checkpoints.staging_folder(out, "final")
        staging = holder / "final"
        try:
            self.save_model(str(staging))
            self.run.write(staging)
            add_pages(staging)
            names = sorted(path.name for path in staging.iterdir())
            checkpoints.copy_files_verified(
                [staging / name for name in names], out, self.run.run_id
            )
        finally:
            checkpoints.discard_holder(holder)
        return [out / name for name in names]

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            self.optimizer = build_optimizer(
                model or self.network, self.args.learning_rate, self._eight_bit
            )
        return self.optimizer

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Score the held-out blocks; logged as `eval_loss` (nats a token), `eval_bits_per_byte`."""
        score = heldout_loss(
            self.network, self.eval_dataset, self._token_bytes, self.args.per_device_eval_batch_size
        )
        metrics = {"eval_loss": score.nats_per_token, "eval_bits_per_byte": score.bits_per_byte}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        return metrics

    def _get_output_dir(self, trial: Any) -> str:
        return str(self._staging or super()._get_output_dir(trial))

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        """Let Trainer write into a staging folder, then publish it under its name in one rename."""
        out = self.out
        step = self.state.global_step
        name = f"checkpoint-{step}"
        self._staging = checkpoints.staging_folder(out, name)
        staging = self._staging / name
        try:
            super()._save_checkpoint(model, trial)
            self.accelerator.wait_for_everyone()
            if self.is_world_process_zero():
                self.run.write(staging)
                checkpoints.publish(
                    staging,
                    out / name,
                    run_id=self.run.run_id,
                    step=step,
                    ordinal=checkpoints.ordinal_of(step, int(self.args.save_steps)),
                    loss=heldout_loss_at(self.state),
                )
        finally:
            self._staging = None
        self.accelerator.wait_for_everyone()

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """A checkpoint must hold every weight; lm_head is the embedding and is never saved."""
        missing = set(load_result.missing_keys) - {"lm_head.weight"}
        if missing or load_result.unexpected_keys:
            raise RuntimeError(
                f"the checkpoint's weights don't fit the model: missing {sorted(missing)}, "
                f"unexpected {sorted(load_result.unexpected_keys)}"
            )

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Restore both; the learning rate of this launch wins over the saved one."""
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        scheduler, optimizer = self.lr_scheduler, self.optimizer
        assert scheduler is not None and optimizer is not None
        rate = self.args.learning_rate
        scheduler.base_lrs = [rate] * len(scheduler.base_lrs)
        factors = [factor(scheduler.last_epoch) for factor in scheduler.lr_lambdas]
        for group, factor in zip(optimizer.param_groups, factors, strict=True):
            group["initial_lr"] = rate
            group["lr"] = rate * factor

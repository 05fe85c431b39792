"""A trained model and its tokenizer from a run's folder."""

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM
from transformers.utils import logging as transformers_logging

from tinyllm.checkpoints.manifests import checkpoint_folders
from tinyllm.errors import UserError
from tinyllm.runs import read_run
from tinyllm.tokenization import load_tokenizer

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"


@dataclass(frozen=True, slots=True)
class Trained:
    """A model to ask.

    settings  what its run.json says of the run; {} without one
    """

    folder: Path
    model: Any
    tokenizer: Tokenizer
    settings: dict[str, Any]


def load_trained(folder: Path) -> Trained:
    """The final model in `folder`, or its newest checkpoint, in fp32 on the CPU.

    Raises UserError if there is none, if it is damaged, or if the tokenizer beside it isn't its.
    """
    source = _find(folder)
    tokenizer = load_tokenizer(source)
    model = _load(source)
    rows = int(model.config.vocab_size)
    if rows != tokenizer.get_vocab_size():
        raise UserError(
            f"{source} has a tokenizer of {tokenizer.get_vocab_size()} tokens and an embedding of "
            f"{rows} rows: copy the tokenizer the model was trained with there"
        )
    if not all(bool(weight.isfinite().all()) for weight in model.parameters()):
        raise UserError(f"{source} has weights that are no numbers: give an earlier checkpoint")
    return Trained(source, model, tokenizer, _settings(source))


def _find(folder: Path) -> Path:
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: give the --out of a training run")
    steps = {
        int(path.name.rpartition("-")[2]): path
        for path in checkpoint_folders(folder)
        if _holds_model(path)
    }
    if _holds_model(folder):
        return folder
    if not steps:
        raise UserError(
            f"{folder} holds no model ({CONFIG_FILE} and {WEIGHTS_FILE}) and no checkpoint: "
            "train one with `python train.py`"
        )
    return steps[max(steps)]


def _holds_model(folder: Path) -> bool:
    return (folder / CONFIG_FILE).is_file() and (folder / WEIGHTS_FILE).is_file()


def _load(source: Path) -> Any:
    transformers_logging.set_verbosity(logging.CRITICAL)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        json.loads((source / CONFIG_FILE).read_text(encoding="utf-8"))
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            source, dtype=torch.float32, local_files_only=True, output_loading_info=True
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UserError(
            f"the model in {source} can't be loaded ({reason}): give another checkpoint"
        ) from error
    model, faults = loaded
    lost = faults["missing_keys"] or faults["mismatched_keys"]
    if lost:
        raise UserError(f"the model in {source} lacks {len(lost)} weights: give another checkpoint")
    return model


def _settings(source: Path) -> dict[str, Any]:
    """A model that was copied without its run.json can be asked all the same."""
    try:
        return read_run(source).settings
    except UserError:
        return {}

"""Logs to token blocks, once: what a launch needs before it can train, from the cache if there."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer

from tinyllm import packing
from tinyllm.cache import CACHE_VARIABLE, MARKER, build_once, cache_root, fingerprint
from tinyllm.console import Phase, say
from tinyllm.corpus import Corpus
from tinyllm.corpus_flags import corpus_settings
from tinyllm.errors import UserError
from tinyllm.ledger_page import page
from tinyllm.reading.inputs import InputFile, find_files
from tinyllm.runs import Run
from tinyllm.tokenization import (
    DEFAULT_TOKENIZER,
    Encoder,
    load_tokenizer,
    sample_texts,
    save_tokenizer,
    token_bytes,
    train_tokenizer,
)

# Raise it whenever reading, cleaning or packing change what they give for the same input.
PREPARATION_VERSION = 3
LEDGER_FILE = "ledger.txt"


@dataclass(frozen=True, slots=True)
class RunTokenizer:
    """A run's tokenizer: as transformers saves it, as packing encodes with it, and its identity."""

    pretrained: Any
    encoder: Encoder
    token_bytes: Any
    fingerprint: str


@dataclass(frozen=True, slots=True)
class PreparedData:
    """Blocks to train on and to score, their statistics, their name in the cache, their ledger."""

    train: Dataset
    heldout: Dataset
    stats: packing.PackStats
    key: str
    ledger: str


def _corpus_key(args: Namespace, files: Sequence[InputFile]) -> dict[str, Any]:
    return {
        "version": PREPARATION_VERSION,
        "files": [(file.path, file.size, file.mtime_ns) for file in files],
        **corpus_settings(args),
        "strict": args.strict,  # what was prepared without it may hold losses it refuses
    }


def _corpus(args: Namespace, phase: str) -> Corpus:
    return Corpus(args.data, **corpus_settings(args), strict=args.strict, progress=Phase(phase))


def _root(args: Namespace) -> Path:
    """The cache's folder, made if it is missing; UserError if it can't be."""
    root: Path = args.cache.absolute() if args.cache else cache_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"the cache {root} can't be made ({error.strerror or error}): give another folder "
            f"with --cache or {CACHE_VARIABLE}"
        ) from error
    return root


def prepare_tokenizer(args: Namespace, kept: Path | None) -> RunTokenizer:
    """The tokenizer of --tokenizer; `auto` trains one on a sample of the corpus, once.

    kept  folder of the checkpoint a run goes on from, which holds the tokenizer it began with
    """
    folder = kept
    if folder is None and args.tokenizer == "auto":
        folder = _train_tokenizer(args)
    elif folder is None:
        folder = Path(args.tokenizer).expanduser()
        if args.tokenizer == DEFAULT_TOKENIZER.name and not folder.exists():
            folder = DEFAULT_TOKENIZER
    tokenizer = load_tokenizer(folder)
    return RunTokenizer(
        pretrained=AutoTokenizer.from_pretrained(str(folder)),
        encoder=Encoder(tokenizer),
        token_bytes=token_bytes(tokenizer),
        fingerprint=fingerprint({"vocabulary": tokenizer.get_vocab()}),
    )


def _train_tokenizer(args: Namespace) -> Path:
    def build(folder: Path) -> None:
        say("tokenizer auto: training one on a sample of the data")
        texts = sample_texts(_corpus(args, "sampling"), seed=args.seed)
        save_tokenizer(train_tokenizer(texts), folder)

    key = {"tokenizer": "auto", "seed": args.seed, **_corpus_key(args, find_files(args.data))}
    return build_once(_root(args), fingerprint(key), build, _waiting)


def _waiting() -> None:
    say("another process is preparing the same data; waiting for it")


def prepare_blocks(args: Namespace, tokenizer: RunTokenizer, resumed: Run | None) -> PreparedData:
    """Token blocks for these settings, prepared or out of the cache.

    A resumed run whose inputs have grown, or gone, meanwhile keeps the blocks it began with where
    the cache still has them.
    """
    root = _root(args)
    began_with = _began_with(root, args, resumed)
    try:
        key = _blocks_key(args, tokenizer)
    except UserError:
        if began_with is None:
            raise
        key = ""
    if began_with is not None:
        if began_with.name != key:
            say("the logs changed since this run began: it goes on with the data it began with")
        return _open(began_with)
    return _open(build_once(root, key, _builder(args, tokenizer), _waiting))


def _blocks_key(args: Namespace, tokenizer: RunTokenizer) -> str:
    return fingerprint(
        {
            **_corpus_key(args, find_files(args.data)),
            "tokenizer": tokenizer.fingerprint,
            "block_size": args.block_size,
            "seed": args.seed,
            "eval_fraction": args.eval_fraction,
        }
    )


def _began_with(root: Path, args: Namespace, resumed: Run | None) -> Path | None:
    """The prepared data a resumed run began with, if --data is as it was and the cache has it."""
    if resumed is None or resumed.settings["data"] != list(args.data):
        return None
    folder = root / resumed.data_key
    return folder if (folder / MARKER).is_file() else None


def _builder(args: Namespace, tokenizer: RunTokenizer) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        corpus = _corpus(args, "preparing")
        packing.prepare(
            corpus,
            tokenizer.encoder,
            folder,
            block_size=args.block_size,
            seed=args.seed,
            eval_fraction=args.eval_fraction,
            num_proc=args.num_proc,
            progress=_packing_progress(),
        )
        table = page(corpus.ledger, args.scope)
        say(table)
        (folder / LEDGER_FILE).write_text(table, encoding="utf-8")

    return build


def _packing_progress() -> packing.Progress:
    """Lines for the second pass; the first is told by the bytes that are read."""
    phases: dict[str, Phase] = {}

    def progress(name: str, done: int, total: int | None) -> None:
        if total is not None:
            phases.setdefault(name, Phase(name, "M tokens"))(done, total)

    return progress


def _open(folder: Path) -> PreparedData:
    packed = packing.open_packed(folder)
    try:
        ledger = (folder / LEDGER_FILE).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(
            f"the prepared data in {folder} is damaged ({error}): remove that folder, start again"
        ) from error
    return PreparedData(
        train=packed.train,
        heldout=packed.heldout,
        stats=packed.stats,
        key=folder.name,
        ledger=ledger,
    )

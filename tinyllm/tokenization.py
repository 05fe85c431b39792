"""Byte-level BPE: train a tokenizer, save it, load it.

    python -m tinyllm.tokenization my_text/ --out my_tokenizer --vocab-size 8000

The pre-tokenizer is the one llama.cpp calls "qwen2", so a GGUF file gives the same ids.
"""

import hashlib
import heapq
import json
import re
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    processors,
    trainers,
)

from tinyllm import __version__
from tinyllm.console import Phase, duration, say
from tinyllm.corpus import Corpus
from tinyllm.documents import (
    END_OF_TEXT,
    END_OF_TURN,
    PLACEHOLDERS,
    ROLE_TOKENS,
    SPECIAL_TOKENS,
    Document,
)
from tinyllm.encoding import Encoder, split_text, token_bytes
from tinyllm.errors import EXIT_OK, Parser, UserError, run_command

__all__ = ["Encoder", "token_bytes"]

TOKENIZER_FILE = "tokenizer.json"
DEFAULT_TOKENIZER = Path(__file__).parent.parent / "tokenizer"
VOCAB_SIZE = 8000

# The qwen2 expression. `(?i:'s|'t|…)` would be shorter, but differs from llama.cpp on 'ſ.
PRE_TOKENIZER_EXPRESSION = (
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
    r"|[^\r\n\p{L}\p{N}]?\p{L}+"
    r"|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)

# On text without a repeated word, the worst case, training takes 115 bytes of memory a byte.
SAMPLE_BYTES = 8 << 20
_LONG_RUN = re.compile(r"(?<!\S)(\S{1000})\S+")
# Longer tokens are names, paths and rulers that the sample happens to repeat.
MAX_TOKEN_CHARACTERS = 16

CHAT_TEMPLATE = (
    "{{- bos_token -}}\n"
    "{%- for message in messages -%}\n"
    "  {%- set role = message['role'] -%}\n"
    "  {%- if role == 'developer' -%}{%- set role = 'system' -%}{%- endif -%}\n"
    "  {%- if role in ['tool', 'function'] -%}{%- set role = 'env' -%}{%- endif -%}\n"
    "  {%- if role not in [" + ", ".join(f"'{role}'" for role in ROLE_TOKENS) + "] -%}\n"
    "    {{- raise_exception('unknown role: ' + role) -}}\n"
    "  {%- endif -%}\n"
    "  {{- '<|' + role + '|>' -}}\n"
    "  {%- if message['content'] is string -%}\n"
    "    {{- message['content'] -}}\n"
    "  {%- elif message['content'] -%}\n"
    "    {%- for part in message['content'] -%}\n"
    "      {{- part['text'] -}}{%- if not loop.last -%}{{- '\\n\\n' -}}{%- endif -%}\n"
    "    {%- endfor -%}\n"
    "  {%- endif -%}\n"
    f"  {{{{- '{END_OF_TURN}' -}}}}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}{{- '" + ROLE_TOKENS["assistant"] + "' -}}{%- endif -%}\n"
)


def new_tokenizer() -> Tokenizer:
    """An untrained tokenizer with the pre-tokenizer, the decoder and no vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PRE_TOKENIZER_EXPRESSION), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train_tokenizer(texts: Iterable[str], vocab_size: int = VOCAB_SIZE) -> Tokenizer:
    """Learn a byte-level BPE vocabulary from `texts`.

    Ids: the special tokens, the placeholders, the 256 bytes, then merges by frequency. The result
    has `vocab_size` tokens, or fewer where the texts hold too few pairs that occur twice, and is
    the same for the same texts. Memory grows with the number of different words: give a bounded
    sample (`sample_texts`). Raises UserError for a `vocab_size` that has no room for the bytes.
    """
    reserved = (*SPECIAL_TOKENS, *PLACEHOLDERS)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    smallest = len(reserved) + len(alphabet)
    if vocab_size < smallest:
        raise UserError(
            f"a vocabulary of {vocab_size} has no room for the {smallest} reserved tokens and "
            f"bytes: give --vocab-size {smallest} or more"
        )
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=[AddedToken(token, normalized=False) for token in reserved],
        initial_alphabet=alphabet,
        max_token_length=MAX_TOKEN_CHARACTERS,
        show_progress=False,
    )
    tokenizer = new_tokenizer()
    tokenizer.train_from_iterator(_pieces_without_placeholders(texts), trainer)
    return _finish(tokenizer)


def _pieces_without_placeholders(texts: Iterable[str]) -> Iterator[str]:
    """What there is to learn merges from: a placeholder is one token already."""
    placeholder = re.compile("|".join(map(re.escape, PLACEHOLDERS)))
    for text in texts:
        for part in placeholder.split(text):
            yield from split_text(part)


def _finish(trained: Tokenizer) -> Tokenizer:
    """The trained tokenizer with placeholders as plain added tokens, and bos in front of a text.

    A trainer makes every token it is given special, and only the file's text can undo that.
    """
    spec = json.loads(trained.to_str())
    for added in spec["added_tokens"]:
        if added["content"] in PLACEHOLDERS:
            added["special"] = False
    tokenizer = Tokenizer.from_str(json.dumps(spec))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END_OF_TEXT} $A",
        special_tokens=[(END_OF_TEXT, tokenizer.token_to_id(END_OF_TEXT))],
    )
    return tokenizer


def sample_texts(
    documents: Iterable[Document], max_bytes: int = SAMPLE_BYTES, seed: int = 0
) -> list[str]:
    """A fair share of the documents' text to train a tokenizer on, of `max_bytes` at most.

    Documents are cut into pieces, each gets a number from a hash of `seed` and its position, and
    the pieces with the smallest numbers stay: one pass, memory for the sample alone, the same
    result every time. Of a run without white space only the first 1,000 characters count, so that
    no base64 fills the vocabulary.
    """
    heap: list[tuple[int, int, str]] = []
    held = 0
    pieces = (piece for document in documents for piece in split_text(_text_to_learn(document)))
    for position, text in enumerate(pieces):
        digest = hashlib.blake2b(f"{seed} {position}".encode(), digest_size=8).digest()
        heapq.heappush(heap, (-int.from_bytes(digest, "big"), position, text))
        held += _cost(text)
        while held > max_bytes and len(heap) > 1:
            held -= _cost(heapq.heappop(heap)[2])
    return [text for _, _, text in sorted(heap, key=lambda kept: kept[1])]


def _text_to_learn(document: Document) -> str:
    return _LONG_RUN.sub(r"\1", "\n".join(turn.text for turn in document.turns))


def _cost(text: str) -> int:
    """Bytes that a kept text takes in memory."""
    return len(text.encode()) + 100


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write a folder that `transformers.AutoTokenizer.from_pretrained` loads."""
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END_OF_TEXT,
        "eos_token": END_OF_TEXT,
        "pad_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 32_768,
    }
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / TOKENIZER_FILE))
    text = json.dumps(config, indent=2) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a folder that this module wrote.

    Raises UserError if there is none, or if it is one that training and export can't use: another
    pre-tokenizer, a normalizer, or special tokens that are missing or elsewhere.
    """
    file = path / TOKENIZER_FILE
    advice = "give a folder that `python -m tinyllm.tokenization` wrote, or --tokenizer auto"
    try:
        text = file.read_text(encoding="utf-8")
        tokenizer, spec = Tokenizer.from_str(text), json.loads(text)
    except OSError as error:
        raise UserError(
            f"the tokenizer {path} can't be read ({file}: {error.strerror}): {advice}"
        ) from error
    except Exception as error:  # tokenizers raises nothing narrower
        raise UserError(f"{file} is no tokenizer ({error}): {advice}") from error
    fault = _fault(tokenizer, spec)
    if fault:
        raise UserError(f"the tokenizer {path} can't be used, {fault}: {advice}")
    return tokenizer


def _fault(tokenizer: Tokenizer, spec: dict[str, Any]) -> str | None:
    """Why a tokenizer can't serve here, or None."""
    names = dict(enumerate((*SPECIAL_TOKENS, *PLACEHOLDERS)))
    for index, name in names.items():
        found = tokenizer.token_to_id(name)
        if found != index:
            place = "is missing" if found is None else f"has id {found}"
            return f"{name} {place} where id {index} is expected"
    expected = json.loads(new_tokenizer().to_str())
    if spec.get("model", {}).get("type") != "BPE":
        return "its model is not BPE"
    if spec.get("pre_tokenizer") != expected["pre_tokenizer"]:
        return "its pre-tokenizer is not the qwen2 one"
    if spec.get("normalizer") is not None:
        return "it has a normalizer"
    if sorted(tokenizer.get_vocab().values()) != list(range(tokenizer.get_vocab_size())):
        return "its ids have gaps"
    return None


def build_parser() -> Parser:
    """The flags of `python -m tinyllm.tokenization`."""
    parser = Parser(
        prog="python -m tinyllm.tokenization",
        description="Train a byte-level BPE tokenizer on logs and text files.",
    )
    parser.add_argument("--version", action="version", version=f"tinyllm {__version__}")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, globs")
    parser.add_argument("--out", type=Path, default=Path("tokenizer"), metavar="FOLDER")
    parser.add_argument("--vocab-size", type=int, default=VOCAB_SIZE, metavar="TOKENS")
    parser.add_argument(
        "--sample-mb",
        type=float,
        default=SAMPLE_BYTES / 1e6,
        metavar="MB",
        help="learn from at most this much of the text; sets the memory it takes",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    return parser


def make(args: Namespace) -> int:
    """Sample, train, save, and say how well the result compresses its own sample."""
    if args.sample_mb <= 0:
        raise UserError(f"--sample-mb is {args.sample_mb}: give more than 0")
    started = time.monotonic()
    corpus = Corpus(args.paths, "full", progress=Phase("reading"))
    texts = sample_texts(corpus, int(args.sample_mb * 1e6), args.seed)
    say(f"training on {sum(len(text.encode()) for text in texts) / 1e6:.1f} MB of text")
    tokenizer = train_tokenizer(texts, args.vocab_size)
    try:
        save_tokenizer(tokenizer, args.out)
    except OSError as error:
        raise UserError(
            f"{args.out} can't be written ({error.strerror}): give another folder with --out"
        ) from error
    size, tokens = 0, 0
    encoder = Encoder(tokenizer)
    for text in texts:
        size += len(text.encode())
        tokens += len(encoder.encode_segments([[text]])[0])
    say(
        f"{args.out}: {tokenizer.get_vocab_size():,} tokens, {size / tokens:.2f} bytes a token on "
        f"the sample, in {duration(time.monotonic() - started)}"
    )
    return EXIT_OK


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0, or 2 for what the user has to change."""
    return run_command(lambda: make(build_parser().parse_args(argv)))


if __name__ == "__main__":
    raise SystemExit(main())

"""Peak memory and speed of preparation on a corpus made up as it is read.

    python -m benchmarks.prepare_memory --megabytes 1000 --num-proc 16

Documents of 40 tokens to 100 kB of words by a Zipf law, JSON and code, and among them one line of
25 MB and one run of 8 MB without a space. Nothing of the corpus is kept, so the peak is that of
preparation. Prints one JSON object; with one version of NumPy the same --megabytes and --seed give
the same `content_sha256`, whatever --num-proc is.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tinyllm.documents import Document, Turn
from tinyllm.encoding import Encoder
from tinyllm.errors import EXIT_OK, Parser, run_command
from tinyllm.packing import prepare
from tinyllm.tokenization import load_tokenizer, sample_texts, train_tokenizer

BUNDLED = Path(__file__).parent.parent / "tokenizer"
CODE = "def {0}({1}, {2}=None):\n    return [{1}.{0}({2}) for {2} in range({3})]\n\n"
BASE64 = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8
)


class Words:
    """Made-up words, frequent and rare ones in the proportions of natural text."""

    def __init__(self, generator: np.random.Generator, count: int = 60_000) -> None:
        letters = np.array(list("etaoinshrdlucmfywgpbvkxqjz"))
        sizes = generator.integers(2, 12, count)
        picks = generator.zipf(1.3, (count, 12)) % 26
        self._words = ["".join(letters[row[:size]]) for row, size in zip(picks, sizes, strict=True)]
        shares = 1.0 / (np.arange(count) + 2.7)
        self._generator = generator
        self._cumulative = np.cumsum(shares / shares.sum())

    def draw(self, count: int) -> list[str]:
        """`count` words."""
        places = np.searchsorted(self._cumulative, self._generator.random(count))
        return [self._words[place] for place in np.minimum(places, len(self._words) - 1)]


def documents(megabytes: float, seed: int) -> Iterator[Document]:
    """About `megabytes` of text; the two outsize documents come after a tenth of it."""
    generator = np.random.default_rng(seed)
    words = Words(generator)
    made = 0
    outsize = [_long_line, _long_run]
    while made < megabytes * 1e6:
        if outsize and made > megabytes * 1e5:
            text = outsize.pop()(words, generator)
        else:
            text = _ordinary(words, generator)
        made += len(text)
        half = len(text) // 2
        yield Document((Turn("user", text[:half]), Turn("assistant", text[half:])), f"made:{made}")


def _ordinary(words: Words, generator: np.random.Generator) -> str:
    count = int(min(25 * np.exp(generator.exponential(1.3)), 16_000))
    drawn = words.draw(count + 4)
    kind = generator.integers(4)
    if kind == 0:
        return json.dumps({word: drawn[i : i + 9] for i, word in enumerate(drawn[::9])}, indent=1)
    if kind == 1:
        calls = zip(drawn[::4], drawn[1::4], drawn[2::4], strict=False)
        return "".join(CODE.format(*names, generator.integers(1000)) for names in calls)
    return ". ".join(" ".join(drawn[i : i + 14]).capitalize() for i in range(0, count, 14)) + "\n"


def _long_line(words: Words, _: np.random.Generator) -> str:
    return " ".join(words.draw(4_500_000))[:25_000_000]


def _long_run(_: Words, generator: np.random.Generator) -> str:
    return BASE64[generator.integers(0, 64, 8_000_000)].tobytes().decode()


def main(argv: Sequence[str] | None = None) -> int:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--num-proc", type=int, default=2)
    parser.add_argument("--block-size", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--tokenizer", default=str(BUNDLED), help="a folder, or `auto` to train one"
    )
    args = parser.parse_args(argv)
    # As in train.py: the tokenizer starts no threads beside those of --num-proc.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    return run_command(lambda: measure(args))


def measure(args: argparse.Namespace) -> int:
    """Prepare once and print the figures."""
    figures: dict[str, float | int | str] = {"num_proc": args.num_proc, "megabytes": args.megabytes}
    if args.tokenizer == "auto":
        started = time.monotonic()
        tokenizer = train_tokenizer(sample_texts(documents(args.megabytes, args.seed)))
        figures["tokenizer_seconds"] = round(time.monotonic() - started, 1)
        figures["tokenizer_peak_mb"] = _peak_megabytes()
    else:
        tokenizer = load_tokenizer(Path(args.tokenizer))
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        stats = prepare(
            documents(args.megabytes, args.seed),
            Encoder(tokenizer),
            Path(folder),
            block_size=args.block_size,
            seed=args.seed,
            eval_fraction=0.01,
            num_proc=args.num_proc,
        )
        seconds = time.monotonic() - started
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
    text_bytes = stats.text_bytes + stats.heldout_bytes
    tokens = stats.tokens + stats.heldout_tokens
    figures |= {
        "seconds": round(seconds, 1),
        "mb_per_s": round(text_bytes / 1e6 / seconds, 2),
        "peak_mb": _peak_megabytes(),
        "documents": stats.documents + stats.heldout_documents,
        "tokens": tokens,
        "lost_tokens": stats.lost_tokens,
        "file_bytes_per_token_byte": round(size / tokens / np.dtype(stats.dtype).itemsize, 4),
        "content_sha256": stats.content_sha256,
    }
    print(json.dumps(figures, indent=1))
    return EXIT_OK


def _peak_megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    raise SystemExit(main())

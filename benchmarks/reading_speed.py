"""How fast logs become documents: reading, recognising, cleaning and dedup, on one core.

    python -m benchmarks.reading_speed my_logs/ --scope voice --rounds 5
    python -m benchmarks.reading_speed my_logs/ --top 5      # the functions that cost most
    py-spy record -o flame.svg -- python -m benchmarks.reading_speed my_logs/   # a flame graph

Speed is bytes on disk by CPU time of this process, the median of the rounds; encoding to tokens
is not part of it. Prints one JSON object.
"""

import cProfile
import json
import pstats
import resource
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from tinyllm.corpus import Corpus
from tinyllm.corpus_flags import add_corpus_flags, corpus_settings
from tinyllm.errors import EXIT_OK, Parser, UserError, run_command


def build_parser() -> Parser:
    """The benchmark's flags."""
    parser = Parser(prog="python -m benchmarks.reading_speed", description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, globs")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--top", type=int, default=0, metavar="N", help="functions by own time")
    add_corpus_flags(parser)
    return parser


def measure(argv: Sequence[str] | None) -> int:
    """Read the corpus `--rounds` times and print the figures."""
    args = build_parser().parse_args(argv)
    if args.rounds < 1 or args.top < 0:
        raise UserError("--rounds must be 1 or more and --top 0 or more")
    seconds = []
    for _ in range(args.rounds):
        corpus = Corpus(args.paths, **corpus_settings(args))
        started = time.process_time()
        documents = sum(1 for _ in corpus)
        seconds.append(time.process_time() - started)
    figures = {
        "megabytes": round(corpus.ledger.bytes / 1e6, 1),
        "records": corpus.ledger.records,
        "documents": documents,
        "megabytes_per_cpu_second": round(
            corpus.ledger.bytes / 1e6 / statistics.median(seconds), 1
        ),
        "slowest_to_fastest_round": round(max(seconds) / min(seconds), 2),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    if args.top:
        figures["top"] = costliest(Corpus(args.paths, **corpus_settings(args)), args.top)
    print(json.dumps(figures, indent=1))
    return EXIT_OK


def costliest(corpus: Corpus, count: int) -> list[str]:
    """The functions with the most time of their own, and their share under the profiler."""
    profile = cProfile.Profile()
    profile.runcall(lambda: sum(1 for _ in corpus))
    stats = pstats.Stats(profile)
    own = {place: times[2] for place, times in stats.stats.items()}  # type: ignore[attr-defined]
    whole = sum(own.values())
    ranked = sorted(own.items(), key=lambda item: -item[1])[:count]
    return [f"{share / whole:.1%} {Path(file).stem}.{name}" for (file, _, name), share in ranked]


if __name__ == "__main__":
    raise SystemExit(run_command(lambda: measure(None)))

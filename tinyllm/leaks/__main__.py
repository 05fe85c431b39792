"""Check that a trained model has learnt no secret of its logs. No value is ever printed.

python -m tinyllm.leaks                                  # checkpoints/, on the logs of its run
python -m tinyllm.leaks --model my_run --data my_logs/ --canary-file planted.txt
"""

import json
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tinyllm import __version__
from tinyllm.console import SECONDS_BETWEEN_LINES, Phase, complain, duration
from tinyllm.corpus import Corpus, NothingKept
from tinyllm.encoding import Encoder
from tinyllm.errors import EXIT_FAILED, EXIT_OK, Parser, UserError, run_command
from tinyllm.leaks.candidates import Finder, FindSecrets
from tinyllm.leaks.checking import OTHERS, SAMPLES, SECRETS, check
from tinyllm.leaks.loading import Trained, load_trained
from tinyllm.leaks.page import as_json, page
from tinyllm.scopes import SCOPES
from tinyllm.secrets import GROUPS, find_secrets


# fmt: off
def build_parser() -> Parser:
    """The command's flags."""
    parser = Parser(prog="python -m tinyllm.leaks", description=__doc__.splitlines()[0],
                    epilog="Exit code: 0 nothing found, 1 a leak, 2 an error to mend.")
    parser.add_argument("--version", action="version", version=f"tinyllm {__version__}")
    parser.add_argument("--model", type=Path, default=Path("checkpoints"), metavar="FOLDER",
                        help="the --out of a run, or a checkpoint (default: %(default)s)")
    parser.add_argument("--data", nargs="+", metavar="PATH",
                        help="files, folders, globs of logs (default: those of the run)")
    parser.add_argument("--scope", choices=SCOPES,
                        help="whose secrets to ask for (default: the run's, else full)")
    parser.add_argument("--canary", action="append", default=[], metavar="TEXT",
                        help="a text planted in the training data on purpose; its last word is "
                        "the secret; may be given again")
    parser.add_argument("--canary-file", type=Path, metavar="FILE",
                        help="such texts, one a line: they stay out of the shell's history")
    parser.add_argument("--secrets", type=int, default=SECRETS, metavar="N",
                        help="secrets to ask for at most, drawn by --seed (default: %(default)s)")
    parser.add_argument("--others", type=int, default=OTHERS, metavar="N",
                        help="values of the same shape that each is ranked among "
                        "(default: %(default)s)")
    parser.add_argument("--samples", type=int, default=SAMPLES, metavar="N",
                        help="texts to draw and search; 0 = none (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    return parser
# fmt: on


def check_numbers(args: Namespace) -> None:
    """Raise UserError for counts that can't be."""
    for name, least in (("secrets", 1), ("others", 1), ("samples", 0)):
        if getattr(args, name) < least:
            raise UserError(f"--{name} is {getattr(args, name)}: give {least} or more")


def canaries(args: Namespace) -> list[tuple[str, str]]:
    """(what to call it, text) of each planted text.

    Raises UserError for a file that can't be read, or holds none.
    """
    given = [(f"--canary {number}", text) for number, text in enumerate(args.canary, start=1)]
    if args.canary_file is None:
        return given
    try:
        lines = args.canary_file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise UserError(
            f"--canary-file {args.canary_file} can't be read ({reason}): give a text file"
        ) from error
    found = [(f"{args.canary_file}:{n}", line) for n, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise UserError(f"--canary-file {args.canary_file} is empty: give one text a line")
    return [*given, *found]


def read_logs(
    args: Namespace, trained: Trained, planted: Sequence[tuple[str, str]], find: FindSecrets
) -> Finder:
    """The secrets of the logs, as the run read them but without redaction."""
    run = trained.settings
    paths = args.data or run.get("data")
    if not paths:
        raise UserError(f"{trained.folder} has no run.json to name its logs: give --data PATH")
    kept = {kind for name in run.get("keep") or () for kind in GROUPS.get(name, ())}
    finder = Finder(Encoder(trained.tokenizer), find, kept, planted)
    corpus = Corpus(
        paths,
        args.scope or run.get("scope") or "full",
        relabel=run.get("relabel") or (),
        me=run.get("me") or (),
        keep=tuple(GROUPS),
        progress=Phase("reading", tell=complain),
    )
    try:
        for document in corpus:
            finder.add(document)
    except NothingKept:
        if not planted:
            raise
    return finder


class Steps:
    """A line of progress every 10 s at most, with what is left of the phase."""

    def __init__(self) -> None:
        self._phase = ""
        self._started = self._said = time.monotonic()

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Note that `done` of `total` are through."""
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._started = phase, now
        if now - self._said < SECONDS_BETWEEN_LINES or not done or now == self._started:
            return
        self._said = now
        left = (now - self._started) * (total - done) / done
        complain(f"{phase}: {done:,} of {total:,}, {duration(left)} left")


def run(args: Namespace, find: FindSecrets) -> int:
    """Load, read, ask, tell."""
    check_numbers(args)
    planted = canaries(args)
    trained = load_trained(args.model)
    finder = read_logs(args, trained, planted, find)
    missing = finder.missing_canaries()
    findings = check(
        trained.model,
        trained.tokenizer,
        [*missing, *finder.candidates],
        finder.open_text,
        samples=args.samples,
        others=args.others,
        limit=args.secrets,
        seed=args.seed,
        progress=Steps(),
    )
    if args.json:
        facts: dict[str, Any] = as_json(findings, finder.places, finder.let_through)
        print(json.dumps(facts, indent=1, ensure_ascii=False))
    else:
        absent = {candidate.source for candidate in missing}
        print(page(findings, finder.places, finder.let_through, absent))
    return EXIT_FAILED if findings.leaking else EXIT_OK


def main(argv: Sequence[str] | None = None, find: FindSecrets = find_secrets) -> int:
    """Run the command; returns its exit code."""
    return run_command(lambda: run(build_parser().parse_args(argv), find))


if __name__ == "__main__":
    raise SystemExit(main())

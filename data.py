"""Turn agent and chat logs into documents, and show where every byte of them went.

python data.py my_logs/ --scope voice        # the ledger: what is kept, what is not, and why
python data.py my_logs/ --show 3             # three documents as the model will see them
"""

import contextlib
import json
import os
import random
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinyllm import __version__
from tinyllm.console import Phase, complain
from tinyllm.corpus import Corpus, NothingKept, Progress
from tinyllm.corpus_flags import add_corpus_flags, corpus_settings
from tinyllm.documents import END_OF_TURN, ROLE_TOKENS, Document
from tinyllm.errors import EXIT_OK, Parser, UserError, run_command
from tinyllm.ledger_page import page
from tinyllm.reading.inputs import StrPath
from tinyllm.scopes import SCOPES

__all__ = ["SCOPES", "iter_documents", "main", "read_corpus"]

# ANSI colours of the roles on a terminal.
_COLOURS = {"system": 35, "user": 36, "assistant": 32, "env": 90, "code": 33}


def read_corpus(
    paths: Sequence[StrPath],
    scope: str,
    *,
    strict: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Corpus:
    """The documents of files, folders and globs; iterate once, then see `.ledger`.

    strict    the first unreadable record, or one of unknown shape, is a UserError
    progress  called with bytes read and bytes in all
    settings  further ones of `tinyllm.corpus.Corpus`: relabel, me, keep, near_dedup, …

    Raises UserError for paths without files, unknown scopes and bad rules at once, and at the
    end of the iteration if no document was kept.
    """
    return Corpus(paths, scope, strict=strict, progress=progress, **settings)


def iter_documents(paths: Sequence[StrPath], scope: str) -> Iterator[str]:
    """Each document as text, role tokens spelled out; none where the scope keeps nothing.

    Raises UserError for paths without files and for an unknown scope.
    """
    with contextlib.suppress(NothingKept):
        for document in read_corpus(paths, scope):
            yield document.render()


def build_parser() -> Parser:
    """The command's flags."""
    parser = Parser(prog="data.py", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"tinyllm {__version__}")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, globs")
    add_corpus_flags(parser)
    parser.add_argument("--json", action="store_true", help="print the ledger as JSON")
    parser.add_argument(
        "--show",
        type=int,
        default=0,
        metavar="N",
        help="also print N documents from all over the corpus; 0 = none",
    )
    return parser


class Sample:
    """`count` documents, each as likely as the other, the same ones every time, in order.

    Reservoir sampling (Vitter's algorithm R): memory for `count` documents.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._chosen: list[tuple[int, Document]] = []
        self._rng = random.Random(0)
        self._seen = 0

    def add(self, document: Document) -> None:
        """The next document."""
        if len(self._chosen) < self._count:
            self._chosen.append((self._seen, document))
        elif self._count and (place := self._rng.randrange(self._seen + 1)) < self._count:
            self._chosen[place] = (self._seen, document)
        self._seen += 1

    @property
    def documents(self) -> list[Document]:
        """The documents chosen so far."""
        return [document for _, document in sorted(self._chosen, key=lambda item: item[0])]


def coloured(document: Document) -> str:
    """A document for a terminal, each role in its colour."""
    parts = []
    for turn in document.turns:
        if turn.role is None:
            parts.append(_harmless(turn.text))
            continue
        colour = f"\x1b[{_COLOURS[turn.role]}m"
        mark = f"{colour}\x1b[1m{ROLE_TOKENS[turn.role]}\x1b[22m"
        parts.append(f"{mark}{_harmless(turn.text)}\x1b[1m{END_OF_TURN}\x1b[0m\n")
    return "".join(parts)


def _harmless(text: str) -> str:
    """Text that can't steer a terminal: control characters as their pictures (U+2400)."""
    return "".join(
        chr(0x2400 + ord(char)) if char < " " and char not in "\n\t" else char for char in text
    )


def show(args: Namespace) -> int:
    """Read everything, then print the ledger, and documents where asked for."""
    if args.show < 0:
        raise UserError(f"--show is {args.show}: give how many documents to print, 0 or more")
    corpus = read_corpus(
        args.paths,
        **corpus_settings(args),
        strict=args.strict,
        progress=Phase("reading", tell=complain),
    )
    sample = Sample(args.show)
    tokens = _token_count()
    nothing_kept: NothingKept | None = None
    try:
        for document in corpus:
            sample.add(document)
            tokens.add(document)
    except NothingKept as error:
        nothing_kept = error
    print_results(args, corpus, sample.documents, tokens.totals())
    if nothing_kept:
        raise nothing_kept
    return EXIT_OK


def _token_count() -> Any:
    """A count of tokens with the default tokenizer."""
    # Documents alone need no tokenizer, nor the 0.2 s that it takes to load.
    from tinyllm.encoding import Encoder  # noqa: PLC0415
    from tinyllm.token_count import TokenCount  # noqa: PLC0415
    from tinyllm.tokenization import DEFAULT_TOKENIZER, load_tokenizer  # noqa: PLC0415

    return TokenCount(Encoder(load_tokenizer(DEFAULT_TOKENIZER)))


def print_results(
    args: Namespace, corpus: Corpus, documents: list[Document], tokens: Mapping[str, str]
) -> None:
    """The documents, then the ledger; or both as JSON."""
    if args.json:
        ledger = corpus.ledger.to_json()
        for name, count in tokens.items():
            ledger["formats"][name]["tokens"] = int(count.strip("~").replace(",", ""))
        if args.show:
            ledger["shown"] = [{"source": d.source, "text": d.render()} for d in documents]
        print(json.dumps(ledger, indent=1, ensure_ascii=False))
        return
    paint = coloured if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else Document.render
    for document in documents:
        print(f"--- {document.format} {document.source}\n{paint(document)}")
    print(page(corpus.ledger, args.scope, tokens))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0, or 2 for what the user has to change."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run_command(lambda: show(build_parser().parse_args(argv)))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    return code


if __name__ == "__main__":
    raise SystemExit(main())

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
from collections.abc import Iterator, Sequence

from tinyllm import __version__
from tinyllm.corpus import Corpus, NothingKept, Progress
from tinyllm.documents import Document
from tinyllm.errors import EXIT_OK, Parser, UserError, run_command
from tinyllm.reading.inputs import StrPath
from tinyllm.scopes import SCOPES

__all__ = ["SCOPES", "iter_documents", "main", "read_corpus"]


def read_corpus(
    paths: Sequence[StrPath],
    scope: str,
    *,
    relabel: Sequence[str] = (),
    strict: bool = False,
    progress: Progress | None = None,
) -> Corpus:
    """The documents of files, folders and globs; iterate once, then see `.ledger`.

    relabel   rules FORMAT.ROLE=ROLE, applied before the scope
    strict    the first unreadable record, or one of unknown shape, is a UserError
    progress  called with bytes read and bytes in all

    Raises UserError for paths without files, unknown scopes and bad rules at once, and at the
    end of the iteration if no document was kept.
    """
    return Corpus(paths, scope, relabel=relabel, strict=strict, progress=progress)


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
    parser.add_argument("--scope", choices=SCOPES, default="voice", help="whose turns to keep: "
                        "voice leaves out tool output, assistant all but the agent's "
                        "(default: %(default)s)")  # fmt: skip
    parser.add_argument(
        "--relabel",
        action="append",
        metavar="FORMAT.ROLE=ROLE",
        default=[],
        help="who speaks, e.g. openai_chat.user=env; may be given again",
    )
    parser.add_argument("--strict", action="store_true", help="any unreadable record is fatal")
    parser.add_argument("--json", action="store_true", help="print the ledger as JSON")
    parser.add_argument(
        "--show",
        type=int,
        default=0,
        metavar="N",
        help="also print N documents from all over the corpus; 0 = none",
    )
    return parser


def sample(documents: Iterator[Document], count: int) -> list[Document]:
    """`count` documents, each as likely as the other, the same ones every time, in order.

    Reservoir sampling (Vitter's algorithm R): memory for `count` documents.
    """
    chosen: list[tuple[int, Document]] = []
    rng = random.Random(0)
    for index, document in enumerate(documents):
        if len(chosen) < count:
            chosen.append((index, document))
        elif count and (place := rng.randrange(index + 1)) < count:
            chosen[place] = (index, document)
    return [document for _, document in sorted(chosen, key=lambda item: item[0])]


def show(args: Namespace) -> int:
    """Read everything, then print the ledger, and documents where asked for."""
    if args.show < 0:
        raise UserError(f"--show is {args.show}: give how many documents to print, 0 or more")
    corpus = read_corpus(args.paths, args.scope, relabel=args.relabel, strict=args.strict)
    nothing_kept: NothingKept | None = None
    documents: list[Document] = []
    try:
        documents = sample(iter(corpus), args.show)
    except NothingKept as error:
        nothing_kept = error
    if args.json:
        ledger = corpus.ledger.to_json()
        if args.show:
            ledger["shown"] = [{"source": d.source, "text": d.render()} for d in documents]
        print(json.dumps(ledger, indent=1, ensure_ascii=False))
    else:
        for document in documents:
            print(f"--- {document.source}\n{document.render()}")
        print(f"scope {args.scope}: {corpus.ledger.table()}")
    if nothing_kept:
        raise nothing_kept
    return EXIT_OK


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

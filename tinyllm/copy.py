"""Copy checkpoints and a final model's files to a folder or a store, verified.

python -m tinyllm.copy checkpoints/checkpoint-500 s3://bucket/run
"""

from collections.abc import Sequence
from pathlib import Path

from tinyllm import __version__
from tinyllm.checkpoints.copying import SourceDamagedError, no_progress
from tinyllm.checkpoints.manifests import NotACheckpointError, read_checkpoint
from tinyllm.console import say
from tinyllm.errors import EXIT_OK, Parser, UserError, run_command
from tinyllm.runs import read_run
from tinyllm.stores import open_place, reason_of


def copy(paths: Sequence[Path], where: str) -> int:
    """Copy each: a checkpoint under its own name, files to the root. Returns the exit code.

    Raises UserError for what isn't there, is damaged, or can't be copied.
    """
    place = open_place(where)
    files = [path for path in paths if path.is_file()]
    for path in (path for path in paths if path not in files):
        try:
            checkpoint = read_checkpoint(path.resolve())
        except (OSError, NotACheckpointError) as error:
            raise UserError(f"{path} is damaged ({error}): copy another") from error
        if checkpoint is None:
            raise UserError(f"{path} is neither a file nor a checkpoint with a manifest")
        try:
            place.put(checkpoint, no_progress)
        except (OSError, SourceDamagedError) as error:
            raise UserError(f"{path} can't be copied ({reason_of(error)})") from error
        say(f"copied {place.path_of(path.name)}")
    if files:
        run_id = read_run(files[0].resolve().parent).run_id
        try:
            place.put_files(files, run_id, no_progress)
        except (OSError, SourceDamagedError) as error:
            raise UserError(f"the files can't be copied ({reason_of(error)})") from error
        say(f"copied {len(files)} files to {place.where}")
    return EXIT_OK


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""

    def run() -> int:
        parser = Parser(prog="python -m tinyllm.copy", description=(__doc__ or "").splitlines()[0])
        parser.add_argument("--version", action="version", version=f"tinyllm {__version__}")
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("place", metavar="PLACE", help="a folder, or an address fsspec knows")
        args = parser.parse_args(argv)
        return copy(args.paths, args.place)

    return run_command(run)


if __name__ == "__main__":
    raise SystemExit(main())

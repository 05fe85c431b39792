"""Which files a run reads: files, folders and globs, in an order that depends on nothing else."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from tinyllm.errors import UserError

StrPath = str | os.PathLike[str]

HIDDEN = "hidden"
# Logs that their program hides beside the work they are about.
HIDDEN_LOGS = frozenset({".aider.chat.history.md"})
# Logs of which a program keeps a second copy: for its own window (Cline, Roo Code), or as the
# model gets it, which is cut where it grows too long (Kimi CLI).
TWINS = {"ui_messages.json": "api_conversation_history.json", "context.jsonl": "wire.jsonl"}


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input as it was when listed.

    path       as the user reached it, `~` expanded
    size       bytes on disk; 0 for what is not a regular file
    mtime_ns   time of the last change, for fingerprints
    fault      why it can't be read ("named pipe", "dangling link", …), "" if it can
    passed_by  why it isn't read though it could be, "" if it is: "hidden" (in a folder that was
               named, under a name with a leading dot), or another file says the same
    """

    path: str
    size: int
    mtime_ns: int
    fault: str = ""
    passed_by: str = ""


def find_files(paths: Sequence[StrPath]) -> list[InputFile]:
    """List what `paths` (files, folders, globs with `**`) hold, each file once.

    Folders are walked to the bottom; hidden entries in them are listed as such, hidden folders
    are entered only when named. The order is that of absolute paths, whatever the order of
    `paths`. Raises UserError for a missing path, an empty folder, a glob without match, or no
    path at all.
    """
    if not paths:
        raise UserError("no input was named: give files, folders or globs of logs")
    found: dict[str, InputFile] = {}
    for path in paths:
        for file in _expand(os.fspath(path)):
            # Not `resolve`: links to the same file are told apart, and circular ones don't raise.
            key = os.path.abspath(file.path)  # noqa: PTH100
            found[key] = min(file, found.get(key, file), key=lambda same: same.path)
    return list(_each_once(found))


def has_changed(file: InputFile) -> bool:
    """True if a readable file is no longer as it was when listed."""
    if file.fault or file.passed_by:
        return False
    status = _status(Path(file.path))
    return status is None or (status.st_size, status.st_mtime_ns) != (file.size, file.mtime_ns)


def _each_once(found: dict[str, InputFile]) -> Iterator[InputFile]:
    """In the order of absolute paths; a file reached by several links comes once."""
    seen: set[tuple[int, int]] = set()
    for _, file in sorted(found.items()):
        if not file.fault:
            status = _status(Path(file.path))
            if status is not None:
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
        yield file


def _expand(given: str) -> list[InputFile]:
    """The files behind one argument; UserError if there is none."""
    path = _expand_home(given)
    if given and os.path.lexists(path):
        files = _list(path)
        if not files:
            raise UserError(f"the folder {given!r} holds no files: name one with logs in it")
        return files
    if not has_magic(given):
        raise UserError(f"no such file or folder: {given!r}; check the path after --data")
    # `Path.glob` takes no absolute pattern, and follows no links to folders before Python 3.13.
    matches = sorted(glob(str(path), recursive=True))  # noqa: PTH207
    files = [file for match in matches for file in _list(Path(match))]
    if not files:
        raise UserError(f"no file matches the pattern {given!r}; check it, or name the folder")
    return files


def _expand_home(given: str) -> Path:
    try:
        return Path(given).expanduser()
    except RuntimeError:  # `~somebody` whose home is unknown
        return Path(given)


def _list(path: Path) -> list[InputFile]:
    """A file itself, or everything in a folder."""
    return list(_walk(path, set())) if path.is_dir() else [_describe(path)]


def _walk(folder: Path, entered: set[tuple[int, int]]) -> Iterator[InputFile]:
    """Files under `folder` by name; a folder already entered (a circle of links) is passed by."""
    status = _status(folder)
    if status is None or (status.st_dev, status.st_ino) in entered:
        return
    entered.add((status.st_dev, status.st_ino))
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        yield InputFile(str(folder), 0, 0, fault=f"folder: {_reason(error)}")
        return
    for entry in entries:
        if entry.name.startswith(".") and entry.name not in HIDDEN_LOGS:
            yield _describe(entry, passed_by=HIDDEN)
        elif (twin := TWINS.get(entry.name)) and (folder / twin).is_file():
            yield _describe(entry, passed_by=f"said in {twin} too")
        elif entry.is_dir():
            yield from _walk(entry, entered)
        else:
            yield _describe(entry)


def _describe(path: Path, *, passed_by: str = "") -> InputFile:
    """Size, time and fault of one entry, which is looked at and never opened blindly."""
    try:
        status = path.stat()
    except OSError as error:
        dangling = path.is_symlink() and isinstance(error, FileNotFoundError)
        return InputFile(
            str(path), 0, 0, "dangling link" if dangling else _reason(error), passed_by
        )
    if not stat.S_ISREG(status.st_mode):
        return InputFile(str(path), 0, status.st_mtime_ns, _kind(status.st_mode), passed_by)
    readable = passed_by or os.access(path, os.R_OK)
    fault = "" if readable else "permission denied"
    return InputFile(str(path), status.st_size, status.st_mtime_ns, fault, passed_by)


def _kind(mode: int) -> str:
    """What something is that is no regular file."""
    kinds: dict[str, Callable[[int], bool]] = {
        "folder": stat.S_ISDIR,
        "named pipe": stat.S_ISFIFO,
        "socket": stat.S_ISSOCK,
        "device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
    }
    return next((name for name, test in kinds.items() if test(mode)), "not a regular file")


def _reason(error: OSError) -> str:
    """The system's own words for a failure, without the path."""
    return (error.strerror or type(error).__name__).lower()


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None

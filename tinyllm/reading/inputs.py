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
            found[key] = min(file, found.get(key, file), key=_preference)
    return _each_once(found)


def _preference(file: InputFile) -> tuple[bool, str]:
    """Of the ways to one file, that by which it is read goes first."""
    return bool(file.passed_by), file.path


def has_changed(file: InputFile) -> bool:
    """True if a readable file is no longer as it was when listed."""
    if file.fault or file.passed_by:
        return False
    status = _status(Path(file.path))
    return status is None or (status.st_size, status.st_mtime_ns) != (file.size, file.mtime_ns)


def _each_once(found: dict[str, InputFile]) -> list[InputFile]:
    """In the order of absolute paths; a file reached by several links comes once."""
    seen: set[tuple[int, int] | None] = set()
    kept: list[tuple[str, InputFile]] = []
    for path, file in sorted(found.items(), key=lambda item: (bool(item[1].passed_by), item[0])):
        place = None if file.fault else _inode(Path(file.path))
        if place is None or place not in seen:
            kept.append((path, file))
        seen.add(place)
    return [file for _, file in sorted(kept, key=lambda item: item[0])]


def _expand(given: str) -> list[InputFile]:
    """The files behind one argument; UserError if there is none."""
    path = _expand_home(given)
    if given and os.path.lexists(path):
        files = _list(path)
        if not files:
            raise UserError(f"the folder {given!r} holds no files: name one with logs in it")
        return files
    if not has_magic(given):
        raise UserError(_missing(path, given))
    try:
        # `Path.glob` takes no absolute pattern, follows no links to folders before Python 3.13.
        matches = sorted(glob(str(path), recursive=True))  # noqa: PTH207
    except RecursionError:
        raise UserError(
            f"the folders that the pattern {given!r} enters lie too deep: name the folder instead"
        ) from None
    files = [file for match in matches for file in _list(Path(match))]
    if not files:
        raise UserError(f"no file matches the pattern {given!r}; check it, or name the folder")
    return files


def _expand_home(given: str) -> Path:
    try:
        return Path(given).expanduser()
    except RuntimeError:  # `~somebody` whose home is unknown
        return Path(given)


def _missing(path: Path, given: str) -> str:
    """Why nothing can be found at a path."""
    try:
        path.lstat()
    except PermissionError:
        return f"{given!r} can't be looked at: a folder above it denies permission"
    except (OSError, ValueError):
        pass
    return f"no such file or folder: {given!r}; check the path after --data"


def _list(path: Path) -> list[InputFile]:
    """A file itself, or everything in a folder."""
    return list(_walk(path)) if _is(path, stat.S_ISDIR) else [_describe(path)]


def _walk(folder: Path) -> Iterator[InputFile]:
    """Files under `folder` by name; a folder already entered (a circle of links) is passed by."""
    entered: set[tuple[int, int] | None] = {None}
    # Not by recursion: folders may lie deeper in each other than Python calls may.
    open_folders = [iter([folder])]
    while open_folders:
        entry = next(open_folders[-1], None)
        if entry is None:
            open_folders.pop()
        elif len(open_folders) > 1 and (reason := _pass_by(entry)):
            yield _describe(entry, passed_by=reason)
        elif not _is(entry, stat.S_ISDIR):
            yield _describe(entry)
        elif (place := _inode(entry)) not in entered:
            entered.add(place)
            try:
                entries = sorted(entry.iterdir(), key=lambda below: below.name)
            except OSError as error:
                yield InputFile(str(entry), 0, 0, fault=f"folder: {_reason(error)}")
                continue
            open_folders.append(iter(entries))


def _pass_by(entry: Path) -> str:
    """Why what lies in a folder isn't read, though it could be."""
    if entry.name.startswith(".") and entry.name not in HIDDEN_LOGS:
        return HIDDEN
    twin = TWINS.get(entry.name)
    return f"said in {twin} too" if twin and _is(entry.parent / twin, stat.S_ISREG) else ""


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    """True if a path leads to something of a kind; False where that can't be told."""
    status = _status(path)
    return status is not None and kind(status.st_mode)


def _describe(path: Path, *, passed_by: str = "") -> InputFile:
    """Size, time and fault of one entry, which is looked at and never opened blindly."""
    try:
        status = path.stat()
    except OSError as error:
        dangling = isinstance(error, FileNotFoundError) and path.is_symlink()
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


def _inode(path: Path) -> tuple[int, int] | None:
    """What tells a file from others, however it is reached; None if it is gone."""
    status = _status(path)
    return None if status is None else (status.st_dev, status.st_ino)

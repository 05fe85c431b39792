"""The private cache: folders named by what went into them, each whole or not there at all."""

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tinyllm.errors import UserError

CACHE_VARIABLE = "TINYLLM_CACHE"
# Written first into every folder made here; without it, nothing here is ever removed.
MARKER = ".made-by-tinyllm"
_BUILDING = "building-"
_SECONDS_BETWEEN_CALLS = 10.0
_REFUSALS = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.ENOTEMPTY,
)


def cache_root() -> Path:
    """The cache's folder: `TINYLLM_CACHE` where it is set, else `~/.cache/tinyllm`.

    Raises UserError if there is no home folder to put it in.
    """
    try:
        return Path(os.environ.get(CACHE_VARIABLE) or "~/.cache/tinyllm").expanduser().absolute()
    except RuntimeError as error:
        raise UserError(
            f"no home folder was found for the cache ({error}): set {CACHE_VARIABLE} to a folder"
        ) from error


def fingerprint(inputs: Mapping[str, Any]) -> str:
    """32 hex digits that change with any of `inputs`, which must be what JSON can hold.

    The order of keys makes no difference.
    """
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def build_once(
    root: Path,
    key: str,
    build: Callable[[Path], None],
    on_wait: Callable[[], None] | None = None,
) -> Path:
    """The folder `root/key`, made by `build` if it isn't there.

    root     folder of the cache; made if it is missing
    key      name of the result, as `fingerprint` gives it
    build    fills the empty folder it is given
    on_wait  called every 10 s while another process builds the same key

    The result appears whole: it is built beside its place, synced to the disk, then renamed. Of
    several processes one builds and the others wait for it and use its result. What builds that
    died have left is removed. Raises UserError if the cache can't be written or is full; what
    `build` raises passes through and leaves nothing behind.
    """
    assert key and Path(key).name == key, key
    target = root / key
    try:
        if (target / MARKER).is_file():
            return target
        root.mkdir(parents=True, exist_ok=True)
        with _locked(root, key, on_wait):
            if (target / MARKER).is_file():
                return target
            _remove_dead_builds(root, key)
            _build(root, target, build)
    except OSError as error:
        if not _is_about(error, root):
            raise
        raise UserError(
            f"the cache {root} can't be written ({error.strerror or error}): make room or give "
            f"another folder with --cache or {CACHE_VARIABLE}"
        ) from error
    return target


def _build(root: Path, target: Path, build: Callable[[Path], None]) -> None:
    """Build in a temporary sibling of `target` and rename it there."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_BUILDING}{target.name}-", dir=root))
    try:
        (folder / MARKER).touch()
        build(folder)
        folder.chmod(0o755)
        _sync_tree(folder)
        folder.rename(target)
        _sync(root)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _locked(root: Path, key: str, on_wait: Callable[[], None] | None) -> FileLock:
    """The lock of `key`, acquired."""
    lock = FileLock(root / f"{key}.lock")
    seconds = 0.0
    while True:
        try:
            lock.acquire(timeout=seconds)
        except Timeout:
            seconds = _SECONDS_BETWEEN_CALLS
            if on_wait is not None:
                on_wait()
        else:
            return lock


def _remove_dead_builds(root: Path, locked_key: str) -> None:
    """Remove the temporary folders of builds that no process works on any more.

    A build is dead when its key's lock is free, or held by the caller.
    """
    for folder in root.glob(f"{_BUILDING}*-*"):
        key = folder.name.removeprefix(_BUILDING).rpartition("-")[0]
        if folder.is_symlink() or not folder.is_dir() or not _is_ours(folder):
            continue
        if key == locked_key:
            shutil.rmtree(folder, ignore_errors=True)
            continue
        lock = FileLock(root / f"{key}.lock", timeout=0)
        try:
            with lock:
                shutil.rmtree(folder, ignore_errors=True)
        except Timeout:
            continue


def _is_ours(folder: Path) -> bool:
    """True if this program made `folder`; an empty one may have died before its marker."""
    return (folder / MARKER).is_file() or not any(folder.iterdir())


def _is_about(error: OSError, root: Path) -> bool:
    """True if the error says that the cache's own disk or folder refuses to be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    if error.errno not in _REFUSALS:
        return False
    named = error.filename2 or error.filename
    return named is not None and _is_within(Path(os.fsdecode(named)), root)


def _is_within(path: Path, root: Path) -> bool:
    """True if `path` is `root`, inside it, or a folder on the way to it."""
    return path.is_relative_to(root) or root.is_relative_to(path)


def _sync_tree(folder: Path) -> None:
    """Put every file and folder below `folder` on the disk, contents before names."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            _sync(Path(parent) / name)
        _sync(Path(parent))


def _sync(path: Path) -> None:
    """Sync one file or folder; a file system that can't sync folders is left at that."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(descriptor)

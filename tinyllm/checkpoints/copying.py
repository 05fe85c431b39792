"""Hash, copy, force to disk, move and remove files: the work below checkpoints and the mirror.

Everything goes through the `os` module's calls, so tests can make the k-th of them fail.
"""

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 20  # bytes read at a time: large enough to hash outside the GIL
MANIFEST_FILE = "manifest.json"
OWNER_FILE = "owner.json"
# Either proves that this program wrote the folder it lies in.
PROOF_FILES = frozenset({MANIFEST_FILE, OWNER_FILE})

# What a file system answers when it lacks an operation (FUSE drives, object stores, network
# shares); it says nothing about the data. EXDEV: some overlays can't rename a folder.
NOT_SUPPORTED = frozenset(
    {
        errno.EPERM,
        errno.EACCES,
        errno.EINVAL,
        errno.ENOSYS,
        errno.ENOTSUP,
        errno.EOPNOTSUPP,
        errno.EXDEV,
        errno.EBADF,
        errno.EISDIR,
    }
)

Progress = Callable[[int], None]


class SourceDamagedError(Exception):
    """The file to copy is not what its manifest says; trying again can't help."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """Size in bytes and SHA-256 (hex) of one file."""

    bytes: int
    sha256: str


def no_progress(_: int) -> None:
    """The default of every `progress` argument."""


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _force(descriptor: int) -> None:
    """fsync, where the file system has it."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise


def force_file(path: Path) -> None:
    """Force a file's content to the disk."""
    with _opened(path, os.O_RDONLY) as descriptor:
        _force(descriptor)


def force_folder(path: Path) -> None:
    """Force a folder's entries (new names, renames) to the disk, where that can be asked for."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        if error.errno in NOT_SUPPORTED:
            return
        raise
    try:
        _force(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def write_file(path: Path, data: bytes) -> None:
    """Write a whole small file and force it to the disk. Not atomic: for temporary names."""
    with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
        _write_all(descriptor, data)
        _force(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Write a small file under its final name, whole or not at all where renaming works."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    write_file(temporary, data)
    try:
        temporary.replace(path)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
        temporary.unlink()
        write_file(path, data)
    force_folder(path.parent)


def hash_file(path: Path, progress: Progress = no_progress) -> FileRecord:
    """Read a file from the disk, not from memory where the system can be asked for that."""
    digest = hashlib.sha256()
    size = 0
    with _opened(path, os.O_RDONLY) as descriptor:
        if hasattr(os, "posix_fadvise"):
            with contextlib.suppress(OSError):
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        while chunk := os.read(descriptor, CHUNK):
            digest.update(chunk)
            size += len(chunk)
            progress(len(chunk))
    return FileRecord(size, digest.hexdigest())


def chunks_of(path: Path) -> Generator[bytes, None, None]:
    """The bytes of a file, CHUNK at a time. Raises SourceDamagedError if it is gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError as error:
        raise SourceDamagedError(f"{path} is gone") from error
    try:
        while chunk := os.read(descriptor, CHUNK):
            yield chunk
    finally:
        os.close(descriptor)


def write_verified(
    target: Path,
    chunks: Iterable[bytes],
    source: object,
    expected: FileRecord | None = None,
    progress: Progress = no_progress,
) -> None:
    """Write a file, force it to the disk and read it back; `progress` gets the bytes of both.

    source    where the bytes come from, for messages

    Raises SourceDamagedError if the bytes differ from `expected`, OSError (EIO) if the file
    differs from the bytes: some drives report success for a file that they cut after closing it.
    """
    digest = hashlib.sha256()
    size = 0
    with _opened(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as writing:
        for chunk in chunks:
            _write_all(writing, chunk)
            digest.update(chunk)
            size += len(chunk)
            progress(len(chunk))
        _force(writing)
    read = FileRecord(size, digest.hexdigest())
    refuse_other(read, expected, source)
    if hash_file(target, progress) != read:
        raise OSError(errno.EIO, "the copy reads back different", str(target))


def refuse_other(read: FileRecord, expected: FileRecord | None, source: object) -> None:
    """Raise SourceDamagedError if what was read isn't what the manifest says."""
    if expected is not None and read != expected:
        raise SourceDamagedError(
            f"{source} has {read.bytes} bytes and another content than its manifest says "
            f"({expected.bytes} bytes)"
        )


def copy_file_verified(
    source: Path,
    target: Path,
    expected: FileRecord | None = None,
    progress: Progress = no_progress,
) -> None:
    """Copy one file as `write_verified` does, which also tells what it raises."""
    with contextlib.closing(chunks_of(source)) as chunks:
        write_verified(target, chunks, source, expected, progress)


def final_order(files: Iterable[Path]) -> list[Path]:
    """A final model's files in the order to publish them in.

    Weights come last but for config.json: a reader who finds a new config.json finds everything.
    """
    return sorted(files, key=lambda f: (f.name == "config.json", f.suffix == ".safetensors"))


def files_below(folder: Path) -> list[str]:
    """Names of all files in a checkpoint, relative with `/`, sorted, without this program's own."""
    found = []
    for root, _, names in os.walk(folder):
        found += [(Path(root) / name).relative_to(folder).as_posix() for name in names]
    own = (*PROOF_FILES, *(f".{name}." for name in PROOF_FILES))
    return sorted(name for name in found if not name.startswith(own))


def remove_tree(path: Path) -> None:
    """Remove a folder, what proves whose it is last, so that half removed it still can be told.

    What is gone already is no error.
    """
    with contextlib.suppress(FileNotFoundError):
        entries = sorted(path.iterdir(), key=lambda entry: entry.name in PROOF_FILES)
        for entry in entries:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        path.rmdir()


def folders_overlap(one: Path, other: Path) -> bool:
    """True if they are the same folder, or one lies inside the other, links followed."""
    a, b = one.resolve(), other.resolve()
    return a == b or a in b.parents or b in a.parents


def free_name(folder: Path, name: str) -> Path:
    """`folder/name`, or with `-2`, `-3` … behind it where that is taken."""
    path = folder / name
    number = 1
    while os.path.lexists(path):
        number += 1
        path = folder / f"{name}-{number}"
    return path

"""Checkpoints on an object store or a server: whatever fsspec has an address for.

    s3://bucket/run   gs://   hf://   ssh://user@host/folder   webdav+https://…   memory://

These have no atomic rename. A checkpoint is there once its manifest is: that is written last, and
removed first. `owner.json` marks what is being written or deleted, as in a folder. Addresses take
their settings from fsspec's own configuration: FSSPEC_S3='{"key": …}' or ~/.config/fsspec/*.json.
"""

import contextlib
import errno
import hashlib
import re
import shlex
import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, cast
from urllib.parse import urlsplit

from tinyllm.checkpoints.copying import (
    CHUNK,
    MANIFEST_FILE,
    OWNER_FILE,
    PROOF_FILES,
    FileRecord,
    Progress,
    SourceDamagedError,
    chunks_of,
    final_order,
    no_progress,
    refuse_other,
    write_verified,
)
from tinyllm.checkpoints.leftovers import COPY_PREFIX, is_stale, parse_owner, this_process
from tinyllm.checkpoints.manifests import (
    Checkpoint,
    LaterFormatError,
    NotACheckpointError,
    file_records,
    identity_in,
    parse_manifest,
    records_in,
    step_of,
)
from tinyllm.checkpoints.places import FolderPlace, Held, Place, Survey
from tinyllm.checkpoints.publishing import as_name, receive
from tinyllm.errors import UserError

OLD_PREFIX = ".tinyllm-old-"
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def open_place(where: str) -> Place:
    """The folder or store at a path or fsspec address, made if it isn't there, and tried out.

    Raises UserError if it can't be written, or the address needs a package that isn't installed.
    """
    path = as_path(where)
    if path is not None:
        return open_folder(path, "--sync-out")
    try:
        place = StorePlace(where)
        place.try_out()
    except ImportError as error:
        raise UserError(f"--sync-out {masked(where)}: {error}") from error
    except OSError as error:
        raise UserError(
            f"--sync-out {masked(where)} can't be written ({reason_of(error)}): "
            "mend that, or give another place"
        ) from error
    return place


def as_path(where: str) -> Path | None:
    """The folder that is meant; None if it is an address of a store or server."""
    if where.startswith("file://"):
        where = urlsplit(where).path
    return None if ADDRESS.match(where) else Path(where).expanduser()


def open_folder(path: Path, flag: str) -> FolderPlace:
    """A folder, made if it isn't there, and tried out. Raises UserError that names the flag."""
    probe = path / f".tinyllm-write-test-{uuid.uuid4().hex[:8]}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as error:
        raise UserError(
            f"{flag} {path} can't be written ({error.strerror or error}): give another folder"
        ) from error
    return FolderPlace(path)


def masked(address: str) -> str:
    """An address without its password."""
    password = urlsplit(address).password
    return address.replace(f":{password}@", ":…@") if password else address


def reason_of(error: BaseException) -> str:
    """What an error says, or its kind where it says nothing."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class StorePlace:
    """A folder on an object store or a server.

    address  any that fsspec knows

    Raises ImportError (one sentence) if its package isn't installed, ValueError for an address
    that nobody knows.
    """

    def __init__(self, address: str) -> None:
        import fsspec  # noqa: PLC0415 - only where a store is asked for

        self.where = masked(address).rstrip("/")
        self._password = urlsplit(address).password
        with self._errors():
            self._fs, root = fsspec.core.url_to_fs(address)
        self._root = root.rstrip("/")

    # ---- as Place says ----

    def path_of(self, name: str) -> str:
        return f"{self.where}/{name}"

    def check(self) -> None:
        self._list("")

    def try_out(self) -> None:
        """Write, read and remove a small file. Raises OSError where that fails."""
        probe = f".tinyllm-write-test-{uuid.uuid4().hex[:8]}"
        self._make_folder("")
        self._write_small(probe, b"x")
        self._remove([probe])

    def survey(self) -> Survey:
        found = Survey()
        for name in self._list(""):
            step = step_of(name)
            if step is None:
                continue
            try:
                manifest = parse_manifest(self.read(f"{name}/{MANIFEST_FILE}"))
                if manifest is None:
                    found.unmarked.append(name)
                else:
                    found.held.append(Held(self, step, *identity_in(manifest, step)))
            except FileNotFoundError:
                if not self.exists(f"{name}/{OWNER_FILE}"):
                    found.unmarked.append(name)
            except LaterFormatError:
                found.later.append(name)
            except NotACheckpointError as error:
                found.damaged.append((name, str(error)))
        found.held.sort(key=lambda held: held.step)
        return found

    def recover(self) -> None:
        for old in self._list(""):
            if not old.startswith(OLD_PREFIX):
                continue
            with contextlib.suppress(FileNotFoundError, NotACheckpointError):
                manifest = parse_manifest(self.read(f"{old}/{MANIFEST_FILE}"))
                step = manifest.get("step") if manifest else None
                if not isinstance(step, int):
                    continue
                name = f"checkpoint-{step}"
                if self.exists(f"{name}/{MANIFEST_FILE}"):
                    self._delete(old)
                else:
                    self._delete(name)
                    self._move(old, name)

    def clean(self, run_id: str | None) -> None:
        for name in self._list(""):
            temporary = name.startswith((COPY_PREFIX, OLD_PREFIX))
            if not temporary and step_of(name) is None:
                continue
            with contextlib.suppress(FileNotFoundError):
                owner = parse_owner(self.read(f"{name}/{OWNER_FILE}"))
                if owner is None or not is_stale(owner, run_id):
                    continue
                if self.exists(f"{name}/{MANIFEST_FILE}"):
                    self._remove([f"{name}/{OWNER_FILE}"])  # it was complete when its maker ended
                else:
                    self._delete(name)

    def fault(self, held: Held, hashes: bool) -> str | None:
        try:
            records = self.records(held)
        except NotACheckpointError as error:
            return str(error)
        for name, expected in records.items():
            path = f"{held.name}/{name}"
            try:
                size = self._size(path)
                if size != expected.bytes:
                    return f"{name} has {size} bytes instead of {expected.bytes}"
                if hashes and self._hash(path) != expected:
                    return f"{name} has another content than was saved"
            except FileNotFoundError:
                return f"{name} is missing"
        return None

    def records(self, held: Held) -> dict[str, FileRecord]:
        try:
            manifest = parse_manifest(self.read(f"{held.name}/{MANIFEST_FILE}"))
        except FileNotFoundError:
            manifest = None
        if manifest is None:
            raise NotACheckpointError(f"{MANIFEST_FILE} is missing")
        return records_in(manifest)

    def read(self, name: str) -> bytes:
        with self._errors():
            return cast(bytes, self._fresh.cat_file(self._path(name)))

    def exists(self, name: str) -> bool:
        with self._errors():
            return bool(self._fresh.exists(self._path(name)))

    def put(self, checkpoint: Checkpoint, progress: Progress = no_progress) -> None:
        name, run_id = checkpoint.path.name, checkpoint.run_id
        try:
            records = file_records(checkpoint)
        except NotACheckpointError as error:
            raise SourceDamagedError(f"{checkpoint.path}: {error}") from error
        old = self._clear_the_way(name, run_id)
        self._mark(name, run_id)
        for file, record in records.items():
            self._upload(checkpoint.path / file, f"{name}/{file}", record, progress)
        manifest = (checkpoint.path / MANIFEST_FILE).read_bytes()
        self._write_small(f"{name}/{MANIFEST_FILE}", manifest)
        self._remove([f"{name}/{OWNER_FILE}"])
        if old is not None:
            self._delete(old)

    def put_files(
        self, files: Sequence[Path], run_id: str, progress: Progress = no_progress
    ) -> None:
        holder = f"{COPY_PREFIX}{uuid.uuid4().hex[:12]}"
        self._mark(holder, run_id)
        try:
            for file in final_order(files):
                self._upload(file, f"{holder}/{file.name}", None, progress)
            for file in final_order(files):
                self._move_file(f"{holder}/{file.name}", file.name)
        finally:
            with contextlib.suppress(OSError):  # the next start cleans up
                self._delete(holder)

    def fetch(self, held: Held, out: Path) -> Checkpoint:
        def bring(name: str, place: Path, record: FileRecord) -> None:
            path = f"{held.name}/{name}"
            write_verified(place, self._chunks(path), self.path_of(path), record)

        manifest = self.read(f"{held.name}/{MANIFEST_FILE}")
        return receive(PurePosixPath(held.where), manifest, out, bring)

    def set_aside(self, name: str, target: str) -> str:
        place, number = target, 1
        while self.exists(place):
            number += 1
            place = f"{target}-{number}"
        with self._errors():
            is_file = self._fresh.isfile(self._path(name))
        if is_file:
            self._make_folder(str(PurePosixPath(place).parent))
            self._move_file(name, place)
        else:
            self._move(name, place)
        return self.path_of(place)

    def delete(self, held: Held) -> None:
        with contextlib.suppress(OSError):  # a full store must let go too
            self._mark(held.name, held.run_id)
        self._delete(held.name)

    def free_bytes(self) -> int | None:
        return None

    def copy_command(self, checkpoints: Sequence[Path], files: Sequence[Path]) -> str:
        words = [sys.executable, "-m", "tinyllm.copy", *map(str, [*checkpoints, *files])]
        return shlex.join([*words, self.where])

    # ---- replacing, moving, deleting ----

    def _clear_the_way(self, name: str, run_id: str) -> str | None:
        """Move away what lies under `name`; the new name of this run's older save, else None."""
        if not self.exists(name):
            return None
        try:
            data = self.read(f"{name}/{MANIFEST_FILE}")
        except FileNotFoundError:
            self._clear_unfinished(name, run_id)
            return None
        with contextlib.suppress(NotACheckpointError):
            manifest = parse_manifest(data)
            if manifest is not None and manifest["run_id"] == run_id:
                old = f"{OLD_PREFIX}{uuid.uuid4().hex[:12]}"
                self._mark(old, run_id)
                self._move(name, old)
                return old
            if manifest is not None:
                self.set_aside(name, f"earlier-{as_name(str(manifest['run_id']))}/{name}")
                return None
        self.set_aside(name, f"earlier-unmarked/{name}")
        return None

    def _clear_unfinished(self, name: str, run_id: str) -> None:
        """What has no manifest: this run's own half is removed, anything else set aside."""
        with contextlib.suppress(FileNotFoundError):
            owner = parse_owner(self.read(f"{name}/{OWNER_FILE}"))
            if owner is not None and owner.run_id == run_id:
                self._delete(name)
                return
        self.set_aside(name, f"earlier-unmarked/{name}")

    def _move(self, name: str, target: str) -> None:
        """Copy, the manifest last; then remove, the manifest first."""
        files = sorted(self._files(name), key=lambda file: file in PROOF_FILES)
        for file in files:
            self._make_folder(str(PurePosixPath(target, file).parent))
            self._copy_file(f"{name}/{file}", f"{target}/{file}")
        self._delete(name)

    def _delete(self, name: str) -> None:
        """Remove a folder: the manifest first, what tells whose it is last."""
        order = {MANIFEST_FILE: 0, OWNER_FILE: 2}
        files = sorted(self._files(name), key=lambda file: order.get(file, 1))
        self._remove(f"{name}/{file}" for file in files)
        with self._errors(), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if self._fresh.exists(self._path(name)):  # servers have folders, object stores don't
                self._fs.rm(self._path(name), recursive=True)

    def _mark(self, name: str, run_id: str) -> None:
        self._make_folder(name)
        self._write_small(f"{name}/{OWNER_FILE}", this_process(run_id).to_bytes())

    # ---- files ----

    def _upload(
        self, source: Path, target: str, expected: FileRecord | None, progress: Progress
    ) -> None:
        """Write one file and read it back; raises as `copying.write_verified` does."""
        self._make_folder(str(PurePosixPath(target).parent))
        digest, size = hashlib.sha256(), 0
        with (
            contextlib.closing(chunks_of(source)) as chunks,
            self._errors(),
            self._fs.open(self._path(target), "wb") as file,
        ):
            for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
                progress(len(chunk))
        read = FileRecord(size, digest.hexdigest())
        refuse_other(read, expected, source)
        if self._hash(target, progress) != read:
            raise OSError(errno.EIO, "the copy reads back different", self.path_of(target))

    def _write_small(self, name: str, data: bytes) -> None:
        with self._errors():
            self._fs.pipe_file(self._path(name), data)
        if self.read(name) != data:
            raise OSError(errno.EIO, "the copy reads back different", self.path_of(name))

    def _chunks(self, name: str) -> Iterator[bytes]:
        with self._errors(), self._fresh.open(self._path(name), "rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk

    def _hash(self, name: str, progress: Progress = no_progress) -> FileRecord:
        digest, size = hashlib.sha256(), 0
        for chunk in self._chunks(name):
            digest.update(chunk)
            size += len(chunk)
            progress(len(chunk))
        return FileRecord(size, digest.hexdigest())

    def _size(self, name: str) -> int:
        with self._errors():
            return int(self._fresh.info(self._path(name))["size"])

    def _copy_file(self, source: str, target: str) -> None:
        """On the server where it can, else through here."""
        size = self._size(source)
        try:
            with self._errors():
                self._fs.cp_file(self._path(source), self._path(target))
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise
            with self._errors(), self._fs.open(self._path(target), "wb") as file:
                for chunk in self._chunks(source):
                    file.write(chunk)
        if self._size(target) != size:
            raise OSError(errno.EIO, "the copy reads back different", self.path_of(target))

    def _move_file(self, source: str, target: str) -> None:
        """Some servers won't overwrite: there, the old goes first."""
        try:
            self._copy_file(source, target)
        except OSError:
            if not self.exists(target):
                raise
            self._remove([target])
            self._copy_file(source, target)
        self._remove([source])

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            with self._errors(), contextlib.suppress(FileNotFoundError):
                self._fs.rm_file(self._path(name))

    def _make_folder(self, name: str) -> None:
        with self._errors():
            self._fs.makedirs(self._path(name), exist_ok=True)

    # ---- what lies there ----

    def _list(self, name: str) -> list[str]:
        """Names in a folder, sorted; [] if there is none."""
        path = self._path(name)
        try:
            with self._errors():
                found = self._fresh.ls(path, detail=False)
        except FileNotFoundError:
            return []
        names = {PurePosixPath(str(entry)).name for entry in found}
        return sorted(names - {"", PurePosixPath(path).name} if name else names - {""})

    def _files(self, name: str) -> list[str]:
        """Every file below a folder, relative to it."""
        path = self._path(name)
        with self._errors():
            found = self._fresh.find(path)
        base = PurePosixPath(path)
        return [str(PurePosixPath(str(entry)).relative_to(base)) for entry in found]

    @property
    def _fresh(self) -> Any:
        """The file system, with no memory of earlier listings: others write there too."""
        self._fs.invalidate_cache()
        return self._fs

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name and name != "." else self._root

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Every library has errors of its own: here they are OSErrors, without the password."""
        try:
            yield
        except (ImportError, FileNotFoundError):
            raise
        except Exception as error:
            text = reason_of(error)
            if self._password and self._password in text:
                raise OSError(errno.EIO, text.replace(self._password, "…")) from None
            if isinstance(error, OSError):
                raise
            raise OSError(errno.EIO, f"{type(error).__name__}: {text}") from error

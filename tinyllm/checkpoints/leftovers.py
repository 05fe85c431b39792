"""Temporary folders: made with a mark that says whose they are, cleaned up by that mark.

    .tinyllm-staging-checkpoint-N   Trainer is writing a save          owner.json inside
    .tinyllm-copy-<token>           a copy on its way                  owner.json inside
    .tinyllm-old-<token>            a checkpoint being replaced        its own manifest inside
    .tinyllm-trash-<token>          a checkpoint being deleted         its own manifest inside
    checkpoint-N                    written in place, no manifest yet  owner.json inside

A folder of such a name without the mark is somebody else's and stays.
"""

import contextlib
import json
import os
import re
import socket
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from tinyllm.checkpoints.copying import MANIFEST_FILE, OWNER_FILE, remove_tree, replace_file

STAGING_PREFIX = ".tinyllm-staging-"
COPY_PREFIX = ".tinyllm-copy-"
TEMPORARY = re.compile(r"\.tinyllm-(staging|copy|old|trash)-[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that made a temporary folder.

    started  when the process began, as the kernel counts: a process number alone comes again
    """

    run_id: str
    host: str
    pid: int
    started: str

    def is_this_process(self) -> bool:
        return (self.host, self.pid, self.started) == (
            socket.gethostname(),
            os.getpid(),
            _started(os.getpid()),
        )

    def is_dead(self) -> bool:
        """True only if it can be told: its machine is this one and it no longer runs."""
        return self.host == socket.gethostname() and not _runs(self.pid, self.started)

    def to_bytes(self) -> bytes:
        """What a folder's owner.json holds."""
        return json.dumps(asdict(self)).encode()


def parse_owner(data: bytes) -> Owner | None:
    """The owner in an owner.json; None if it is cut or somebody else's."""
    try:
        return Owner(**json.loads(data))
    except (ValueError, TypeError):
        return None


def this_process(run_id: str) -> Owner:
    """This process at work for a run."""
    pid = os.getpid()
    return Owner(run_id, socket.gethostname(), pid, _started(pid))


def _started(pid: int) -> str:
    """Field 22 of /proc/PID/stat (man 5 proc); "" where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _runs(pid: int, started: str) -> bool:
    if started:
        return _started(pid) == started
    if os.name == "nt":  # there, signal 0 is Ctrl-C
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def mark(holder: Path, run_id: str) -> None:
    """Write into a folder that this process is at work in it, for this run."""
    replace_file(holder / OWNER_FILE, this_process(run_id).to_bytes())


def read_owner(holder: Path) -> Owner | None:
    """Who made this folder; None if nothing in it says so."""
    try:
        return parse_owner((holder / OWNER_FILE).read_bytes())
    except OSError:
        return None


def new_holder(folder: Path, run_id: str) -> Path:
    """A new, marked temporary folder in `folder` to build a copy in."""
    holder = folder / f"{COPY_PREFIX}{uuid.uuid4().hex[:12]}"
    holder.mkdir()
    try:
        mark(holder, run_id)
    except OSError:
        with contextlib.suppress(OSError):
            _remove_unmarked(holder)
        raise
    return holder


def _remove_unmarked(holder: Path) -> None:
    """Remove a folder whose maker ended before it was marked; any other stays."""
    entries = list(holder.iterdir())
    if all(entry.name.startswith(f".{OWNER_FILE}.") for entry in entries):
        for entry in entries:
            entry.unlink(missing_ok=True)
        holder.rmdir()


def staging_folder(out: Path, name: str) -> Path:
    """The marked temporary folder, the same for every process of a run, to write save `name` in."""
    holder = out / f"{STAGING_PREFIX}{name}"
    holder.mkdir(parents=True, exist_ok=True)
    if not (holder / OWNER_FILE).exists():
        mark(holder, "")
    return holder


def to_old(path: Path) -> Path:
    """Give a checkpoint the name of one that is being replaced; the path."""
    old = path.with_name(f".tinyllm-old-{uuid.uuid4().hex[:12]}")
    path.rename(old)
    return old


def to_trash(path: Path) -> Path:
    """Give a checkpoint the name of one that is being deleted, which is never undone; the path."""
    trash = path.with_name(f".tinyllm-trash-{uuid.uuid4().hex[:12]}")
    path.rename(trash)
    return trash


def discard_holder(holder: Path) -> None:
    """Remove a temporary folder of this program's; anything else stays. A failure is left to
    the next start, which cleans up."""
    if TEMPORARY.fullmatch(holder.name) and (holder / OWNER_FILE).exists():
        with contextlib.suppress(OSError):
            remove_tree(holder)


def temporaries(folder: Path, kind: str) -> list[Path]:
    """Folders with the name of a temporary of this kind (staging, copy, old, trash)."""
    if not folder.is_dir():
        return []
    names = (path for path in folder.iterdir() if TEMPORARY.fullmatch(path.name))
    return sorted(path for path in names if path.name.startswith(f".tinyllm-{kind}-"))


def half_written(folder: Path) -> list[Path]:
    """`checkpoint-N` folders that were being written in place: marked, and without a manifest."""
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.glob("checkpoint-*")
        if (path / OWNER_FILE).exists() and not (path / MANIFEST_FILE).exists()
    )


def clean_temporaries(folder: Path, run_id: str | None) -> None:
    """Remove what killed processes left in `folder`: staging, copies, half-deleted checkpoints.

    run_id  this run: of its own copies, those of other machines go too, and those that this
            process gave up. None: only what certainly has no living owner.
    """
    holders = temporaries(folder, "staging") + temporaries(folder, "copy") + half_written(folder)
    for holder in holders:
        owner = read_owner(holder)
        if owner is None:
            _remove_unmarked(holder)
        elif is_stale(owner, run_id, is_staging=holder.name.startswith(STAGING_PREFIX)):
            remove_tree(holder)
    for trash in temporaries(folder, "trash"):
        if (trash / MANIFEST_FILE).exists():
            remove_tree(trash)
        else:
            with contextlib.suppress(OSError):
                trash.rmdir()


def is_stale(owner: Owner, run_id: str | None, *, is_staging: bool = False) -> bool:
    """Nobody works any more in a folder of this owner's; `run_id` as in `clean_temporaries`."""
    if owner.is_this_process():
        return not is_staging and owner.run_id == run_id
    if owner.host == socket.gethostname():
        return owner.is_dead()
    # Another machine's process can't be asked. It wrote staging only into its own --out, and
    # copies only for its own run, which has moved to this machine.
    return is_staging or owner.run_id == run_id

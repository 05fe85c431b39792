"""User names in home paths, and the same names in prompts, remote paths and listings."""

import re
from collections.abc import Collection

from tinyllm.secrets.kinds import SYSTEM_NAMES, Secret

_NAME = rb"([A-Za-z0-9_](?:(?:[A-Za-z0-9._-]|%20){0,62}[A-Za-z0-9_$-])?)"
_UNIX = re.compile(rb"/(?:home|Users)\\?/" + _NAME + rb"(?![A-Za-z0-9_$-])")
# What may stand before a home's parent: no host and no other folder, but for mounts.
_PATH_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~)}\\-")
_MOUNT = re.compile(
    rb"(?:\\[nrt]|\\|[a-zA-Z]:|/(?:mnt|var|export|net|nfs|srv|media|files|Volumes/[^/\s]{1,40})"
    rb"|(?:\A|[\s\"'`=:(])/(?:data|scratch|work|cluster|shared|storage|gpfs|lustre|efs|vol[0-9]{0,3})"
    rb"|/(?:mnt/|cygdrive/)?[a-zA-Z]|[ =]-[A-Za-z]"
    rb"|(?:file|sftp|ssh|smb|vscode-[a-z-]{1,20})://[A-Za-z0-9.%@:+_-]{1,40}"
    rb"|//wsl(?:\.localhost|\$)/[A-Za-z0-9._-]{1,20})\Z"
)
_MOUNT_SPAN = 60
_WINDOWS = re.compile(
    rb"\\(?:Users|home)\\{1,4}([A-Za-z0-9_](?:[A-Za-z0-9._ -]{0,40}[A-Za-z0-9_])?)(?![A-Za-z0-9_])"
)
_SLUG = re.compile(rb"-(?:home|Users)-([A-Za-z0-9_]{2,32})(?=[-/\"'`\\\s]|\Z)")
_SLUG_BEFORE = re.compile(rb"(?:projects[/\\]+|[\"'/`\n]|\A)(?:-mnt-[a-z]|[A-Za-z]-)?\Z")
_SLUG_SPAN = 16
_LISTING = re.compile(
    rb"[bcdlps-](?:[r-][w-][xsStT-]){3}[.+@]?\s{1,4}[0-9]{1,6}\s{1,4}([A-Za-z_][A-Za-z0-9._-]{0,31})"
    rb"\s{1,12}([A-Za-z_][A-Za-z0-9._-]{0,31})\s{1,12}[0-9]"
)
_MODE_LENGTH = 1
_LISTING_SPAN = 100
_PROMPT = re.compile(
    rb"@(?<=[A-Za-z0-9_]@)[A-Za-z0-9][A-Za-z0-9.-]{0,62}"
    rb"(?::[~/][^\s$#]{0,200}[$#]|:~| [~/][^\s$#%]{0,200} ?[$#%](?![^\s])| [^\s\]]{1,80}\][$#])"
)
_PAGE = re.compile(rb"\.(?:html?|php|aspx?|jsp|js|tsx?|css|md)\Z", re.IGNORECASE)
_NAME_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")


def find_home(raw: bytes, at: int, found: list[Secret]) -> None:
    r"""Append the name in a home path, of which `at` is the byte before `home` or `Users`.

    The path may be `/home/NAME`, `/Users/NAME`, `C:\Users\NAME`, either slash escaped or not, or a
    folder that is named after one, as `projects/-home-NAME-project`.
    """
    byte = raw[at]
    if byte == ord("/"):
        match = _UNIX.match(raw, at)
        if match is None or _PAGE.search(match[1]):
            return
        in_path = at > 0 and raw[at - 1] in _PATH_BYTES
        if in_path and not _MOUNT.search(raw, max(at - _MOUNT_SPAN, 0), at):
            return
    elif byte == ord("-"):
        match = _SLUG.match(raw, at)
        if match is None or not _SLUG_BEFORE.search(raw, max(at - _SLUG_SPAN, 0), at):
            return
    else:
        match = _WINDOWS.match(raw, at)
        if match is None:
            return
    start, end = match.span(1)
    space = raw.find(b" ", start, end)
    if space >= 0 and raw[end : end + 1] != b"\\":  # words after a path that ends with the name
        end = space
    if is_person(raw[start:end]):
        found.append(Secret("path", start, end))


def find_listing(raw: bytes, at: int, found: list[Secret]) -> None:
    """Append owner and group in a line of `ls -l`, in whose mode `at` is."""
    match = _LISTING.search(raw, max(at - _MODE_LENGTH, 0), at + _LISTING_SPAN)
    if match is not None:
        for place in (1, 2):
            if is_person(match[place]) and len(match[place]) > 1:
                found.append(Secret("user", match.start(place), match.end(place)))


def find_prompts(raw: bytes, found: list[Secret]) -> None:
    """Append names in `NAME@host:~/folder$`."""
    for match in _PROMPT.finditer(raw):
        start = match.start()
        while start and raw[start - 1] in _NAME_BYTES:
            start -= 1
        if is_person(raw[start : match.start()]):
            found.append(Secret("user", start, match.start()))


def find_named(raw: bytes, names: Collection[bytes], found: list[Secret]) -> None:
    """Append `NAME@` for the names that home paths of the same text hold."""
    longest = max(map(len, names), default=0)
    at = raw.find(b"@") if names else -1
    while at >= 0:
        low = max(at - longest - 1, 0)
        start = at
        while start > low and raw[start - 1] in _NAME_BYTES:
            start -= 1
        if raw[start:at] in names:
            found.append(Secret("user", start, at))
        at = raw.find(b"@", at + 1)


def is_person(name: bytes) -> bool:
    """True if no machine or image has an account of that name."""
    return name.lower() not in SYSTEM_NAMES and not name.isdigit()

"""Chats as Cursor exports them, and as SpecStory writes them down: one Markdown text a chat."""

import re
from collections.abc import Iterator
from typing import TypeGuard

from tinyllm.documents import Role, Turn
from tinyllm.formats.blocks import blocks
from tinyllm.formats.content import think

_HEAD = 4096
_OWN_HEADER = re.compile(r"^_Exported on [^\n]{1,200} from Cursor\b", re.MULTILINE)
_OWN_MARK = re.compile(r"^---[ \t]*\r?\n\s{0,8}\*\*(User|Cursor)\*\*[ \t]*\r?$", re.MULTILINE)
_SPECSTORY = "SpecStory"
# `_**User (2025-05-04 10:02Z)**_`, `_**Agent (model …)**_`, and `_****_`: the agent goes on.
_MARK = re.compile(
    r"^_\*\*((?:User|Assistant|Agent|Cursor)?)([^*\n]{0,200})\*\*_[ \t]*\r?$", re.MULTILINE
)
# What a tool did and found, as SpecStory shows it, and the agent's reasoning.
_SHOWN = re.compile(r"<(tool-use|details|think)\b[^<>]{0,1000}>")
_SUMMARY = re.compile(r"^\s*<details>\s*(?:<summary>[^<]{0,200}</summary>)?|</details>\s*$")
_MACHINE_OPENINGS = ("<command-", "<local-command-", "<system-reminder", "<task-notification")


def is_markdown(text: object) -> TypeGuard[str]:
    """True if a text begins as such a file does; it costs nothing for other long texts."""
    if not isinstance(text, str):
        return False
    head = text[:_HEAD].lstrip("\ufeff\r\n \t")
    if not head.startswith(("#", "<!--", "_**")):
        return False
    if _OWN_HEADER.search(head) or _MARK.match(head):
        return True
    return _SPECSTORY in head and _MARK.search(head) is not None


def markdown_turns(text: str) -> Iterator[Turn]:
    """The turns of such a text; what stands before the first mark is its title."""
    is_own = _OWN_HEADER.search(text[:_HEAD]) is not None
    marks = list((_OWN_MARK if is_own else _MARK).finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        said = _without_rule(text[mark.end() : end])
        if mark[1] == "User":
            yield Turn(_human(said, "" if is_own else mark[2]), said)
        else:
            yield from [Turn("assistant", said)] if is_own else _agent(said)


def _without_rule(said: str) -> str:
    """A text without the rules that part it from what stands before and after it."""
    said = f"\n{said.strip()}\n".removesuffix("\n---\n").removeprefix("\n---\n")
    return said.strip()


def _human(said: str, header: str) -> Role:
    is_machine = said.startswith(_MACHINE_OPENINGS) or "sidechain" in header
    return "env" if is_machine else "user"


def _agent(said: str) -> Iterator[Turn]:
    done = 0
    for block in blocks(said, _SHOWN):
        yield Turn("assistant", _without_rule(said[done : block.begin]))
        if block.name == "think":
            thought = _SUMMARY.sub("", said[block.inner : block.inner_end])
            yield Turn("assistant", think(_SUMMARY.sub("", thought)))
        else:
            yield Turn("env", said[block.begin : block.end])
        done = block.end
    yield Turn("assistant", _without_rule(said[done:]))

"""Chat histories of aider (`.aider.chat.history.md`): one Markdown file for all its sessions.

A line of a human's opens with `#### `, one of the program's with `> `; the rest is the model's.
aider ends its own lines with two spaces, so where a history shows that, headings and quotes in
the model's text are told from them.
Source: https://github.com/Aider-AI/aider (aider/io.py, aider/utils.py).
"""

import re
from collections.abc import Iterator
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import merge, think
from tinyllm.formats.parsed import Parsed

NAME = "aider"
KEYS = frozenset({"text"})

_BEGINNING = "# aider chat started at "
_SESSION = re.compile(rf"^{_BEGINNING}[^\n]*\n?", re.MULTILINE)
_HUMAN, _PROGRAM = "####", "> "
_LINE_END = "  "
_COMMAND = re.compile(r"^/[a-z][a-z-]*\s+")
_NOTHING_TYPED = "<blank>"
_THINKING, _ANSWER = "► **THINKING**", "► **ANSWER**"
_RULE = "-\r\n"


def recognise(record: dict[str, Any]) -> bool:
    text = record.get("text")
    return isinstance(text, str) and text[:200].lstrip("\ufeff\r\n \t").startswith(_BEGINNING)


def parse(record: dict[str, Any]) -> list[Parsed] | None:
    """The sessions of a history, each a conversation of its own."""
    if not recognise(record):
        return None
    sessions = (tuple(_turns(session)) for session in _SESSION.split(record["text"])[1:])
    return [Parsed(turns, decided="line marks") for turns in sessions if turns]


def _turns(session: str) -> list[Turn]:
    lines = [line.removesuffix("\r") for line in session.split("\n")]
    is_marked = any(
        line.startswith((_HUMAN, _PROGRAM)) and line.endswith(_LINE_END) for line in lines
    )
    runs: list[tuple[Role, list[str]]] = []
    asked = False
    for line in lines:
        role, said = _line(line, is_marked)
        asked = asked or role == "user"
        if not asked:  # the program shows its own start, of which lines may have no mark
            role, said = "env", line.removeprefix(_PROGRAM).rstrip()
        if not runs or runs[-1][0] != role:
            runs.append((role, []))
        runs[-1][1].append(said)
    return merge(turn for role, said in _said_once(runs) for turn in _run(role, said))


def _said_once(runs: list[tuple[Role, list[str]]]) -> Iterator[tuple[Role, list[str]]]:
    """The runs of lines; a question that aider logs after the command that asked it is left out."""
    asked: list[str] = []
    for role, said in runs:
        if role == "user" and said == asked:
            asked = []
            continue
        if role == "user":
            question, is_command = _COMMAND.subn("", said[0], count=1)
            asked = [question, *said[1:]] if is_command else []
        yield role, said


def _line(line: str, is_marked: bool) -> tuple[Role, str]:
    """Who wrote a line, and what it says without aider's marks."""
    if not is_marked or line.endswith(_LINE_END):
        if line.startswith(f"{_HUMAN} ") or line == _HUMAN:
            said = line[len(_HUMAN) + 1 :].rstrip()
            return "user", "" if said == _NOTHING_TYPED else said
        if line.startswith(_PROGRAM):
            return "env", line[len(_PROGRAM) :].rstrip()
    return "assistant", line


def _run(role: Role, lines: list[str]) -> Iterator[Turn]:
    text = "\n".join(lines).strip("\n")
    if role != "assistant":
        yield Turn(role, text)
        return
    before, mark, rest = text.partition(_THINKING)
    thought, end, answer = rest.partition(_ANSWER)
    if not mark or not end or before.strip(_RULE):
        yield Turn(role, text)
        return
    yield Turn(role, think(thought.strip().rstrip(_RULE)))
    yield Turn(role, answer)

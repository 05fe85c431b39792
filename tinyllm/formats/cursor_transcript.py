"""Transcripts of Cursor's agent as text, in versions before the lines of JSON.

A line says who speaks, `user:` or `assistant:`, and in the agent's part a mark in brackets what
follows: its reasoning, a call with an argument a line, or a result, which is mostly left out.
"""

import re
from collections.abc import Iterator
from typing import TypeGuard

from tinyllm.documents import Turn
from tinyllm.formats.content import think, tool_call

_HEAD = 200
# The human's words come in tags. An argument of a call may hold such a line as well, but no tag.
_USER = re.compile(r"^user:[ \t]*\r?\n(?=\s{0,20}<[a-z_]{1,40}[ >])", re.MULTILINE)
_AGENT = re.compile(r"^(?:assistant|A):[ \t]*\r?$", re.MULTILINE)
_QUERY_END = "</user_query>"
_MARK = re.compile(r"^\[(Thinking|Tool call|Tool result)\]([^\n]*)$", re.MULTILINE)
_ARGUMENT = re.compile(r"^  ([A-Za-z_]\w{0,60}):[ \t]?", re.MULTILINE)
# Reasoning that comes as titles with a paragraph each: the next line is the agent's answer.
_TITLED = re.compile(r"\s*\*\*[^*\n]{1,200}\*\*[ \t]*(?:\r?\n[ \t]*\r?\n[^\n]*)*")


def is_transcript(text: object) -> TypeGuard[str]:
    """True if a text begins as such a transcript does."""
    if not isinstance(text, str):
        return False
    return _USER.match(text[:_HEAD].lstrip("\ufeff\r\n \t")) is not None


def transcript_turns(text: str) -> Iterator[Turn]:
    """The turns of a transcript; what stands under `user` may hold tags of the program."""
    marks = list(_USER.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        asked = text.find(_QUERY_END, mark.end(), end)
        agent = _AGENT.search(text, max(asked, mark.end()), end)
        said_until = agent.start() if agent else end
        yield Turn("user", text[mark.end() : said_until].strip())
        for part in _AGENT.split(text[said_until:end]):
            yield from _agent(part)


def _agent(part: str) -> Iterator[Turn]:
    words, *marked = _MARK.split(part)
    yield Turn("assistant", words.strip())
    for kind, rest, body in zip(marked[::3], marked[1::3], marked[2::3], strict=True):
        if kind == "Tool call":
            yield Turn("assistant", _call(rest.strip(), body))
        elif kind == "Tool result":
            yield Turn("env", body.strip("\r\n"))
        else:
            yield from _thought(f"{rest}{body}")


def _call(name: str, body: str) -> str:
    _, *named = _ARGUMENT.split(body)
    values = (value.strip("\r\n") for value in named[1::2])
    return tool_call({"name": name, "arguments": dict(zip(named[::2], values, strict=True))})


def _thought(text: str) -> Iterator[Turn]:
    titled = _TITLED.match(text)
    end = titled.end() if titled else len(text)
    yield Turn("assistant", think(text[:end]))
    yield Turn("assistant", text[end:].strip())

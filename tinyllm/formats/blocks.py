"""Tagged blocks in a text: what programs put around a human's words, or a human's among theirs."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tinyllm.documents import Role, Turn


class Block(NamedTuple):
    """Where `<name …>…</name>` stands in a text: its begin and end, and those of its content."""

    name: str
    begin: int
    inner: int
    inner_end: int
    end: int


def blocks(text: str, opening: re.Pattern[str]) -> Iterator[Block]:
    """The blocks of a text, in order; none lies inside another.

    `opening` matches an opening tag, with the name in group 1. A tag that is never closed opens
    no block. Time is linear in the text's length for each name.
    """
    unclosed: set[str] = set()
    done = 0
    while found := opening.search(text, done):
        name = found[1]
        closing = f"</{name}>"
        at = -1 if name in unclosed else text.find(closing, found.end())
        if at < 0:
            unclosed.add(name)
            done = found.end()
        else:
            done = at + len(closing)
            yield Block(name, found.start(), found.end(), at, done)


def split(text: str, opening: re.Pattern[str], inside: Role, outside: Role) -> Iterator[Turn]:
    """A text as turns: its blocks, tags and all, are one speaker's and the rest is the other's.

    The line ends around a block go.
    """
    done = 0
    for block in blocks(text, opening):
        yield Turn(outside, text[done : block.begin].strip("\r\n"))
        yield Turn(inside, text[block.begin : block.end])
        done = block.end
    yield Turn(outside, text[done:].strip("\r\n") if done else text)

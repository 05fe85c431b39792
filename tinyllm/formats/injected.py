"""Texts that programs put under a human's name, split from what the human said."""

import re
from collections.abc import Iterator, Sequence

from tinyllm.documents import Turn
from tinyllm.formats import blocks

_ATTRIBUTES = r"[^<>\n]{0,400}"


class Injected:
    """What the programs of one family of logs put into a human's messages.

    names     of tags, as regular expressions without groups: `<name>…</name>` is the program's
              where it begins a line
    openings  a text that opens so is the program's to its end
    """

    def __init__(self, names: Sequence[str], openings: Sequence[str] = ()) -> None:
        self._tag = re.compile(rf"(?m)^[ \t]*<({'|'.join(names)})(?: {_ATTRIBUTES})?>")
        self._openings = tuple(openings)

    def split(self, text: str) -> Iterator[Turn]:
        """The turns in a text that stands under a human's name: theirs, and the program's.

        A block that opens the text and isn't closed, as where logs are cut, is the program's too.
        """
        if text.lstrip().startswith(self._openings):
            yield Turn("env", text)
            return
        for turn in blocks.split(text, self._tag, inside="env", outside="user"):
            words = turn.text.strip("\r\n")
            is_human = turn.role == "user" and not self._tag.match(words.lstrip())
            if words.strip():
                yield Turn("user" if is_human else "env", words)

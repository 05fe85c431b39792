"""What a format makes of one record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tinyllm.documents import Turn

Step = str | int


@dataclass(slots=True)
class Change:
    """One change of the value that a file's records build up.

    kind   "set" puts `value` there, "push" adds its members to the list there, "delete" empties it
    path   keys and indices that lead there; () for a value that begins anew
    start  of a push: how many members of the list stay; None for all
    of     what the value is called where it begins anew; another name begins another value
    """

    kind: Literal["set", "push", "delete"]
    path: tuple[Step, ...]
    value: Any = None
    start: int | None = None
    of: str = ""


@dataclass(slots=True)  # not frozen: that makes one three times as slow to build
class Parsed:
    """The speech found in a record, and how it joins with its neighbours.

    turns     what is said, in order; empty if the record holds no speech
    decided   what told who speaks: "role map", "harness markers", "no speaker", …
    thread    records of one file with the same thread make one document;
              None: the record is a document of its own
    family    whose threads these are, where two formats share the records of a conversation;
              "" for the format's own
    message   records of a thread with the same message are parts of one turn, even where results
              of its first calls were logged between them
    joins     the first turn goes on with the thread's last one, if that is of the same role: for
              logs that write an agent's reasoning, words and calls as records of their own
    ends      the record has no words, but the turn before it is over: an empty result, a picture
    mirrors   other records of the thread say this too; it is kept only where none does
    series    which set of mirroring records it is of: within one set each was said by itself
    identity  what a record has in common with its copies, in this file or another: the sender's
              own id or time, and the text; a record whose identity was seen before is a duplicate
    time      seconds since the epoch; a thread is cut where two records lie over 4 hours apart
    noise     bytes of UTF-8 text in the record that repeat its speech or are machine noise
              (results stored twice, encrypted or signed blobs); the reader books them as noise
    unchosen  how many of these bytes are words that others were chosen over: rejected answers,
              branches that were left
    change    what the record does to a value that the records of its file build up: the value is
              read where the file ends, and what this record says by itself only where there is
              no such value
    """

    turns: tuple[Turn, ...] = ()
    decided: str = "role map"
    thread: str | None = None
    family: str = ""
    message: str | None = None
    joins: bool = False
    ends: bool = False
    mirrors: bool = False
    series: str = ""
    identity: str | None = None
    time: float | None = None
    noise: int = 0
    unchosen: int = 0
    change: Change | None = None


class Format(Protocol):
    """One family of logs: a module of `tinyllm.formats` with these four names.

    KEYS  a record that has none of these keys is none of this format; `recognise` isn't asked
    """

    NAME: str
    KEYS: frozenset[str]

    def recognise(self, record: dict[str, Any]) -> bool:
        """True if the record's keys (never its file's name) show this format."""

    def parse(self, record: dict[str, Any]) -> Parsed | Sequence[Parsed] | None:
        """The record's speech; None if the keys fit but the values don't (an unknown shape).

        Several where one record holds several conversations, or messages with times of their own.
        """

"""What a format makes of one record."""

from dataclasses import dataclass
from typing import Any, Protocol

from tinyllm.documents import Turn


@dataclass(frozen=True, slots=True)
class Parsed:
    """The speech found in one record, and how it joins with its neighbours.

    turns     what is said, in order; empty if the record holds no speech
    decided   what told who speaks: "role map", "harness markers" or "no speaker"
    thread    records of one file with the same thread make one document;
              None: the record is a document of its own
    message   records of a thread with the same message are parts of one turn, even where results
              of its first calls were logged between them
    identity  a record of a thread whose identity was seen before in it is a duplicate
    time      seconds since the epoch; a thread is cut where two records lie over 4 hours apart
    noise     bytes of UTF-8 text in the record that repeat its speech or are machine noise
              (results stored twice, encrypted or signed blobs); the reader books them as noise
    """

    turns: tuple[Turn, ...] = ()
    decided: str = "role map"
    thread: str | None = None
    message: str | None = None
    identity: str | None = None
    time: float | None = None
    noise: int = 0


class Format(Protocol):
    """One family of logs: a module of `tinyllm.formats` with these three names."""

    NAME: str

    def recognise(self, record: dict[str, Any]) -> bool:
        """True if the record's keys (never its file's name) show this format."""

    def parse(self, record: dict[str, Any]) -> Parsed | None:
        """The record's speech; None if the keys fit but the values don't (an unknown shape)."""

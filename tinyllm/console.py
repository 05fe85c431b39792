"""What a run says while it works: plain lines from the first process only."""

import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

SECONDS_BETWEEN_LINES = 10.0

# Controls, separators of lines, and marks that reverse the writing's direction.
_STEERING = re.compile(r"[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def in_one_line(text: str) -> str:
    """Text from elsewhere that can be written anywhere, on one line, and steers no terminal.

    What would is spelled as in Python's strings; bytes of names that are no text become `?`.
    """
    return _STEERING.sub(lambda found: _spelled(found[0]), text)


def _spelled(char: str) -> str:
    return "?" if "\ud800" <= char <= "\udfff" else char.encode("unicode_escape").decode("ascii")


def is_main_process() -> bool:
    """True in the one process that speaks: world rank 0, or a run without torchrun."""
    return os.environ.get("RANK", "0") == "0"


def say(text: str) -> None:
    """Print one line from the main process, at once even into a pipe.

    A reader that went away (`| head`) ends the talk, not the run.
    """
    if not is_main_process():
        return
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(text: str) -> None:
    """Print one line to stderr, where it doesn't mix with a command's results."""
    print(text, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """A length of time for people: `42 s`, `3 min 20 s`, `5 h 07 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@dataclass
class Phase:
    """Progress of one phase: a line with share, speed and ETA every 10 s at most."""

    name: str
    unit: str = "MB"  # a million of what is counted
    tell: Callable[[str], None] = say
    _started: float = field(default_factory=time.monotonic)
    _said: float = field(default_factory=time.monotonic)

    def __call__(self, done: int, total: int) -> None:
        """Note that `done` of `total` are through; print if the last line is old enough."""
        now = time.monotonic()
        if now - self._said < SECONDS_BETWEEN_LINES or not done:
            return
        self._said = now
        speed = done / (now - self._started)
        self.tell(
            f"{self.name}: {done / 1e6:,.0f} of {total / 1e6:,.0f} {self.unit}, "
            f"{speed / 1e6:.1f} {self.unit}/s, {duration((total - done) / speed)} left"
        )

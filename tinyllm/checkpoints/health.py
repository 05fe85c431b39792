"""How a background job fares: what it moves, how long it fails, when it tries again."""

import random
import time
from dataclasses import dataclass, field

# A drive that uploads inside fsync shows nothing for minutes: a stall is called a hang only
# after this many times the patience that repeated errors get.
STALL_FACTOR = 5


@dataclass(slots=True)
class Health:
    """State of retries and progress; the owner's lock guards it.

    patience       seconds of failing, or a fifth of the seconds without a byte, to sit out
    first_delay    seconds before the first retry; doubled each time, up to `longest_delay`,
                   with jitter so that several machines don't hit a drive together
    failing_since  monotonic time of the first of the failures in a row, None if the last went well
    error          text of the last failure
    """

    patience: float
    first_delay: float
    longest_delay: float
    failing_since: float | None = None
    error: str | None = None
    retry_at: float = 0.0
    _kind: tuple[str, int | None] = ("", None)
    _failures: int = 0
    _moved_at: float = field(default_factory=time.monotonic)
    _name: str = ""
    _total: int = 0
    _done: int = 0

    def begin(self, name: str, total: int) -> None:
        """A transfer of `total` bytes starts."""
        self._name, self._total, self._done = name, total, 0
        self._moved_at = time.monotonic()

    def advance(self, count: int) -> None:
        """`count` more bytes went through."""
        self._done += count
        self._moved_at = time.monotonic()

    def failed(self, error: Exception) -> bool:
        """A failure; True if it is news: the first in a row, or of another kind."""
        now = time.monotonic()
        kind = (type(error).__name__, getattr(error, "errno", None))
        news = self.failing_since is None or kind != self._kind
        if self.failing_since is None:
            self.failing_since = now
        self._kind = kind
        self.error = str(error) or kind[0]
        delay = min(self.longest_delay, self.first_delay * 2.0 ** min(self._failures, 30))
        self.retry_at = now + delay * random.uniform(0.5, 1.0)
        self._failures += 1
        self._name = ""
        return news

    def try_now(self) -> None:
        """Don't wait for the next retry, and begin again with short delays."""
        self.retry_at, self._failures = 0.0, 0

    def succeeded(self) -> float | None:
        """All went well; the seconds it had been failing, None if it had not."""
        now = time.monotonic()
        failed_for = None if self.failing_since is None else now - self.failing_since
        self.failing_since, self.error, self._failures, self.retry_at = None, None, 0, 0.0
        self._name = ""
        self._moved_at = now
        return failed_for

    def is_hopeless(self, since: float) -> bool:
        """It has failed, or stood still, for too long after monotonic time `since`."""
        now = time.monotonic()
        if self.failing_since is not None:
            return now - max(self.failing_since, since) > self.patience
        return now - max(self._moved_at, since) > self.patience * STALL_FACTOR

    def line(self, waiting: int, since: float) -> str:
        """One line for a person who waits since monotonic time `since`."""
        now = time.monotonic()
        if self.failing_since is not None:
            left = max(0.0, self.patience - (now - max(self.failing_since, since)))
            return f"mirror: failing ({self.error}), trying for {left:.0f} s more"
        if not self._name:
            return f"mirror: {waiting} left to look at"
        still = now - self._moved_at
        stalled = f", nothing moved for {still:.0f} s" if still > 10 else ""
        return (
            f"mirror: {self._name}, {self._done / 1e6:,.0f} of {self._total / 1e6:,.0f} MB"
            f"{stalled}, {waiting} left, {now - since:.0f} s so far"
        )

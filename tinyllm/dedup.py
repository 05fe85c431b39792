"""Exact duplicates: what was said before, word for word."""

from collections.abc import Iterable
from hashlib import blake2b

from tinyllm.documents import Turn

# 128 bits: among ten million texts a false duplicate has odds of 1 in 10^24. An entry takes
# about 90 bytes of memory.
_DIGEST_BYTES = 16


def digest(turns: Iterable[Turn]) -> bytes:
    """A fingerprint of turns, equal only for the same roles and texts in the same order."""
    state = blake2b(digest_size=_DIGEST_BYTES)
    for turn in turns:
        text = turn.text.encode("utf-8", "surrogatepass")
        state.update(f"{turn.role} {len(text)} ".encode())
        state.update(text)
    return state.digest()


class FirstSight:
    """Tells whether turns are seen for the first time."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def __call__(self, *turns: Turn) -> bool:
        """True the first time these turns are shown, False ever after."""
        key = digest(turns)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

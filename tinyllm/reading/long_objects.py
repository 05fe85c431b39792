"""Objects too large to hold: exports that keep years of chats in one JSON value.

Such an object is read as many small ones of the same shape. Each holds what stands before a list
of messages, and one message of the list:

    {"name": "A", "messages": [{…}, {…}]}  →  {"name": "A", "messages": [{…}]}, twice
"""

import re
from collections.abc import Iterator

from tinyllm.reading.jsontext import SEPARATORS, Strings

# Lists whose members are messages, and lists whose members hold such lists.
_LEAF = re.compile(rb'"(?:messages|chat_messages|history)"\s*:\s*\Z')
_INNER = re.compile(rb'"(?:list|conversations|chats)"\s*:\s*\Z')
_KEY_BYTES = 64
# What stands before a list is repeated with each of its messages; larger parts of it are emptied.
_PART_BYTES = 1 << 12

_OUTSIDE = re.compile(rb'["{}\[\]]')
_CLOSERS = {ord("{"): b"}", ord("["): b"]"}


class LongObject(Strings):
    """Splits the bytes of one JSON object into small objects.

    limit  bytes of a message, or of what stands before the lists, that are held; what is longer
           is passed over
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self._before = bytearray()  # of the object, up to the open list of messages
        self._member = bytearray()  # of the message that is being read
        self._open: list[tuple[bytes, int]] = []  # closing bracket; length of `_before` at opening
        self._leaf = 0  # brackets that are open at the open list of messages, with its own
        self._skipping = False
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes | None, int]]:
        """Each small object that ends in a chunk, and the bytes since the last one.

        None instead of one that is too long.
        """
        done = at = 0
        while at < len(chunk):
            if self.in_string:
                at = self.leave_string(chunk, at)
                continue
            match = _OUTSIDE.search(chunk, at)
            if match is None:
                break
            at = match.end()
            byte = chunk[at - 1]
            if byte == ord('"'):
                self.in_string = True
                continue
            self._take(chunk[done:at])
            done = at
            if byte in _CLOSERS:
                self._enter(byte)
            elif (whole := self._leave()) is not None:
                yield (None if self._skipping else whole), self._size
                self._size = 0
                self._skipping = False
        self._take(chunk[done:])

    @property
    def rest(self) -> int:
        """Bytes since the last small object."""
        return self._size

    @property
    def complete(self) -> bool:
        """True if the object is closed."""
        return not self._open

    def _take(self, part: bytes) -> None:
        self._size += len(part)
        target = self._member if self._leaf else self._before
        if len(target) + len(part) > self._limit:
            self._skipping = True
        else:
            target += part

    def _enter(self, byte: int) -> None:
        """A bracket opens; a list of messages may begin with it."""
        if self._open and not self._leaf:
            self._drop_commas(self._open[-1][1])
        is_list = byte == ord("[") and not self._leaf
        key = bytes(self._before[-_KEY_BYTES - 1 : -1]) if is_list else b""
        self._open.append((_CLOSERS[byte], len(self._before) - 1))
        if is_list and _LEAF.search(key):
            self._leaf = len(self._open)
            self._member.clear()

    def _drop_commas(self, opened: int) -> None:
        """The first member that is left in a list stands behind no comma."""
        if len(self._before) - opened < _KEY_BYTES:
            between = self._before[opened + 1 : -1]
            if between and not between.strip(SEPARATORS):
                del self._before[opened + 1 : -1]

    def _leave(self) -> bytes | None:
        """A bracket closes; the small object that is whole with it."""
        _, start = self._open.pop() if self._open else (b"", 0)
        depth = len(self._open)
        if not self._leaf:
            if depth and self._is_inner_member(start):
                del self._before[start:]  # a conversation ends; the next one has its own fields
            elif depth and len(self._before) - start > _PART_BYTES:
                self._before[start + 1 : -1] = b""
            return None
        if depth == self._leaf - 1:  # the list of messages ends
            self._leaf = 0
            self._before += b"]"
            return None
        if depth > self._leaf:
            return None
        closers = b"".join(closer for closer, _ in reversed(self._open))
        member = bytes(self._member).lstrip(b" \t\r\n,")
        self._member.clear()
        return bytes(self._before) + member + closers

    def _is_inner_member(self, start: int) -> bool:
        """True if what began at `start` is a member of a list of conversations."""
        closer, opened = self._open[-1]
        key = bytes(self._before[max(0, opened - _KEY_BYTES) : opened])
        return closer == b"]" and start > opened and _INNER.search(key) is not None

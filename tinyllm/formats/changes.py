"""Values that a log builds up by changes: one record holds it, each later one changes a part.

Source: https://github.com/microsoft/vscode
(src/vs/workbench/contrib/chat/common/model/objectMutationLog.ts).
"""

from typing import Any

from tinyllm.formats.content import string_bytes
from tinyllm.formats.parsed import Change, Step


class Replay:
    """A value, as the changes so far have made it.

    replaced  bytes of UTF-8 text that were in it and are no more
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self.replaced = 0

    def apply(self, change: Change) -> bool:
        """Change the value; False, and nothing changed, if the path or the values don't fit it."""
        if not change.path:
            self.replaced += string_bytes(self.value)
            self.value = change.value
            return True
        *way, last = change.path
        place = self.value
        for step in way:
            place = place[step] if _has(place, step) else None
        if isinstance(place, dict):
            if not isinstance(last, str):
                return False
        elif not _has(place, last):
            return False
        known = place[last] if _has(place, last) else None
        if change.kind == "push":
            return self._push(place, last, known, change)
        self.replaced += string_bytes(known)
        place[last] = change.value if change.kind == "set" else None
        return True

    def _push(self, place: Any, last: Step, known: Any, change: Change) -> bool:
        members = known if known is not None else []
        if not isinstance(members, list) or not isinstance(change.value, list):
            return False
        if change.start is not None:
            self.replaced += string_bytes(members[change.start :])
            del members[change.start :]
        members += change.value
        place[last] = members
        return True


def _has(place: Any, step: Step) -> bool:
    if isinstance(place, dict):
        return isinstance(step, str) and step in place
    return isinstance(place, list) and isinstance(step, int) and 0 <= step < len(place)

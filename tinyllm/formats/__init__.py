"""Formats of logs. A new one is a module here and a line in `registry`."""

from functools import lru_cache
from types import ModuleType
from typing import Any, cast

import tinyllm.formats.registry as registry  # noqa: PLR0402 - as the registry itself imports
from tinyllm.formats.parsed import Format

# In the order in which a record is tried.
FORMATS: tuple[Format, ...] = tuple(
    cast(Format, known) for known in vars(registry).values() if isinstance(known, ModuleType)
)


def recognise(record: dict[str, Any]) -> Format | None:
    """The format that a record's keys show; None for an unknown shape."""
    for known in _candidates(tuple(record)):
        if known.recognise(record):
            return known
    return None


# Logs have few sets of keys, but values used as keys must not fill the memory.
@lru_cache(maxsize=4096)
def _candidates(keys: tuple[str, ...]) -> tuple[Format, ...]:
    return tuple(known for known in FORMATS if not known.KEYS.isdisjoint(keys))


def as_record(value: object) -> dict[str, Any] | None:
    """A decoded value as a record; a list of messages is the chat that it stands for.

    None for a value that is neither.
    """
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not value or not all(isinstance(m, dict) for m in value):
        return None
    if all("role" in message for message in value):
        return {"messages": value}
    if all("from" in message and "value" in message for message in value):
        return {"conversations": value}
    return None

"""Formats of logs. A new one is a module here and a line in `registry`."""

from types import ModuleType
from typing import cast

import tinyllm.formats.registry as registry  # noqa: PLR0402 - as the registry itself imports
from tinyllm.formats.parsed import Format

# In the order in which a record is tried.
FORMATS: tuple[Format, ...] = tuple(
    cast(Format, known) for known in vars(registry).values() if isinstance(known, ModuleType)
)


def recognise(record: object) -> Format | None:
    """The format that a record's keys show; None for an unknown shape or for no object."""
    if not isinstance(record, dict):
        return None
    return next((known for known in FORMATS if known.recognise(record)), None)

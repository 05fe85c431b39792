"""Formats of logs. A new one is a module here and a line in `_MODULES`."""

from importlib import import_module
from typing import cast

from tinyllm.formats.parsed import Format

# In the order in which a record is tried.
_MODULES = (
    "preassembled",
    "harness_session",
    "openai_chat",
    "sharegpt",
    "harness_episode",
    "harness_step",
    "claude_code",
    "flat_message",
    "plain_text",
)
FORMATS: tuple[Format, ...] = tuple(
    cast(Format, import_module(f"{__name__}.{name}")) for name in _MODULES
)


def recognise(record: object) -> Format | None:
    """The format that a record's keys show; None for an unknown shape or for no object."""
    if not isinstance(record, dict):
        return None
    return next((known for known in FORMATS if known.recognise(record)), None)

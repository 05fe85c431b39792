"""Finished documents: `doc` holds the text, which is used as it stands."""

from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.parsed import Parsed

NAME = "preassembled"
KEYS = frozenset({"doc"})


def recognise(record: dict[str, Any]) -> bool:
    return "doc" in record


def parse(record: dict[str, Any]) -> Parsed | None:
    text = record.get("doc")
    if not isinstance(text, str):
        return None
    return Parsed((Turn(None, text),) if text else (), decided="no speaker")

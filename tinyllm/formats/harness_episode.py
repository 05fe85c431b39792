"""Episodes of an agent's harness: a `scratchpad`, then `turns` of one step each."""

from typing import Any

from tinyllm.formats.content import Misfit, unfit_is_unknown
from tinyllm.formats.harness_step import scratchpad_turns, step_turns
from tinyllm.formats.messages import members
from tinyllm.formats.parsed import Parsed

NAME = "harness_episode"
KEYS = frozenset({"turns"})

_STEP_KEYS = frozenset({"output", "command", "tool_result"})


def recognise(record: dict[str, Any]) -> bool:
    turns = record.get("turns")
    if not isinstance(turns, list):
        return False
    first = next((turn for turn in turns if turn is not None), None)
    if first is None:
        return "scratchpad" in record
    return isinstance(first, dict) and not _STEP_KEYS.isdisjoint(first)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    listed = record.get("turns")
    if not isinstance(listed, list):
        raise Misfit
    turns, noise = scratchpad_turns(record), 0
    for step in members(listed):
        said, repeated = step_turns(step)
        turns += said
        noise += repeated
    return Parsed(tuple(turns), noise=noise)

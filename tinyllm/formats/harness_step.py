"""Single steps of an agent's harness: `scratchpad`, and the `output` that followed from it.

`output` is what the agent said, word for word: its reasoning in plain view, then its call. So it
is the turn as it stands, and only reasoning that `output` doesn't hold was hidden and is marked
`<think>`.
"""

from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.content import (
    SEPARATOR,
    Misfit,
    json_text,
    string_bytes,
    text_of,
    think,
    tool_call,
    unfit_is_unknown,
)
from tinyllm.formats.parsed import Parsed

NAME = "harness_step"
KEYS = frozenset({"scratchpad"})

_COPIES = ("reasoning", "command", "body", "tool_call")


def recognise(record: dict[str, Any]) -> bool:
    return "scratchpad" in record and "output" in record and "turns" not in record


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    turns, noise = step_turns(record)
    return Parsed((*scratchpad_turns(record), *turns), noise=noise)


def scratchpad_turns(record: dict[str, Any]) -> list[Turn]:
    """The notes that the agent was started with. Raises Misfit."""
    text = text_of(record.get("scratchpad"))
    return [Turn("system", text)] if text else []


def step_turns(step: dict[str, Any]) -> tuple[list[Turn], int]:
    """What the agent said in one step and what came back, and the bytes that say it again.

    Raises Misfit.
    """
    output, reasoning = step.get("output"), step.get("reasoning")
    if not isinstance(output, str | None) or not isinstance(reasoning, str | None):
        raise Misfit
    said, thought = output or "", reasoning or ""
    if thought.strip() in said:
        thought = ""
    if not said.strip():
        said = _call(step)
    agent = SEPARATOR.join(text for text in (think(thought), said) if text.strip())
    result = text_of(step.get("tool_result"))
    turns = [Turn("assistant", agent)] if agent else []
    if result:
        turns.append(Turn("env", result))
    copies = (step.get(key) for key in _COPIES)
    return turns, sum(string_bytes(copy) for copy in copies if _is_within(copy, output or ""))


def _call(step: dict[str, Any]) -> str:
    """The call of a step whose output is missing."""
    command = step.get("command")
    if not isinstance(command, str) or not command.strip():
        return ""
    arguments = {key: step[key] for key in ("command", "body", "root") if step.get(key) is not None}
    return tool_call({"name": "run_command", "arguments": arguments})


def _is_within(copy: object, output: str) -> bool:
    """True if `output` holds the text too, perhaps as a JSON string."""
    if not isinstance(copy, str) or not copy:
        return False
    return copy in output or json_text(copy)[1:-1] in output

"""Trajectories of SWE-agent and mini-SWE-agent: one JSON object for each run.

`history` is what the model was given and what it said; `trajectory` tells the same by steps, and
is taken only where there is no history. The first `user` turn is the task; later ones are what
commands printed. Source: https://github.com/SWE-agent/SWE-agent (docs/usage/trajectories.md).
"""

from collections.abc import Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    merge,
    role_of,
    string_bytes,
    think,
    tool_call,
    turns_of,
    unfit_is_unknown,
)
from tinyllm.formats.messages import CHAT_ROLES, message_noise, message_turns
from tinyllm.formats.parsed import Parsed

NAME = "swe_agent"
KEYS = frozenset({"history", "trajectory", "trajectory_format"})

_ROLES: Mapping[str, Role] = {**CHAT_ROLES, "ai": "assistant", "exit": "env"}
# Keys of a message that show the program; plain chats have none of them.
_MARKS = frozenset({"agent", "message_type", "is_demo", "thought"})
_STEP_KEYS = ("action", "observation")
_QUERY_KEYS = ("query", "messages")
_MINI = "mini-swe-agent"


def recognise(record: dict[str, Any]) -> bool:
    return _messages(record) is not None or _steps(record) is not None


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    messages = _messages(record)
    steps = _steps(record)
    if messages is not None:
        noise = sum(map(message_noise, messages)) + string_bytes(steps)
        return Parsed(tuple(_chat(messages)), decided="first user turn", noise=noise)
    if steps is None:
        raise Misfit
    turns = _chat(_query(steps[0]))
    for step in steps:
        turns += _step(step)
    repeated = [[step.get(key) for key in (*_QUERY_KEYS, "state")] for step in steps[1:]]
    return Parsed(tuple(turns), decided="first user turn", noise=string_bytes(repeated))


def _messages(record: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The messages of a run; None if nothing shows that the program wrote them."""
    version = record.get("trajectory_format")
    if isinstance(version, str) and version.startswith(_MINI):
        return _all_with_roles(record.get("messages"))
    messages = _all_with_roles(record.get("history"))
    if messages is None or _steps(record) is not None:
        return messages
    return messages if any(not _MARKS.isdisjoint(message) for message in messages) else None


def _all_with_roles(value: object) -> list[dict[str, Any]] | None:
    if not isinstance(value, list) or not value:
        return None
    return value if all(isinstance(said, dict) and "role" in said for said in value) else None


def _steps(record: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The steps of a run: each an action, what the model said to it, and what it printed."""
    value = record.get("trajectory")
    if not isinstance(value, list) or not value:
        return None
    fits = all(isinstance(step, dict) and all(key in step for key in _STEP_KEYS) for step in value)
    return value if fits else None


def _query(step: dict[str, Any]) -> list[dict[str, Any]]:
    """What the model was asked before its first step: the system prompt and the task."""
    queries = (_all_with_roles(step.get(key)) for key in _QUERY_KEYS)
    return next(filter(None, queries), [])


def _chat(messages: list[dict[str, Any]]) -> list[Turn]:
    turns: list[Turn] = []
    asked = False
    for message in messages:
        role = role_of(message.get("role"), _ROLES)
        is_demo = message.get("is_demo") or message.get("message_type") == "demonstration"
        if is_demo or (role == "system" and turns):
            role = "env"
        elif role == "user":
            role, asked = ("env" if asked else "user"), True
        said = message_turns(message, role)
        if role == "assistant":
            thoughts = [_thoughts(message.get("thinking_blocks")), think(_thought(message, said))]
            said = merge([*(Turn(role, text) for text in thoughts), *said])
        turns += said
    return turns


def _step(step: dict[str, Any]) -> list[Turn]:
    """One step: the model's whole answer, the action if that doesn't hold it, and the result."""
    answer = {
        "content": step.get("response"),
        "tool_calls": step.get("tool_calls"),
    }
    said = message_turns(answer, "assistant")
    thoughts = [_thoughts(step.get("thinking_blocks")), think(_thought(step, said))]
    action = first_text(step, ("action",)).strip()
    if not step.get("tool_calls") and not _says(said, action):
        said.append(
            Turn("assistant", tool_call({"name": "bash", "arguments": {"command": action}}))
        )
    result = [Turn("env", turn.text) for turn in turns_of(step.get("observation"), "env")]
    return merge([*(Turn("assistant", text) for text in thoughts), *said, *result])


def _thought(said_by: Mapping[str, Any], said: list[Turn]) -> str:
    """The thought beside an answer, unless the answer says it already."""
    thought = first_text(said_by, ("thought",))
    return "" if _says(said, thought.strip()) else thought


def _thoughts(thinking_blocks: object) -> str:
    return "\n\n".join(turn.text for turn in turns_of(thinking_blocks, "assistant"))


def _says(said: list[Turn], text: str) -> bool:
    return any(text in turn.text for turn in said) or not text

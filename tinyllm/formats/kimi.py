"""Kimi Code's `wire.jsonl`: what enters the agent's context, and what happens around it.

Lines are `type` and `time` (Kimi Code), or `timestamp` and a `message` of `type` and `payload`
(Kimi CLI before it). A prompt is written as it is given, and again as it enters the context.
Kimi CLI's `context.jsonl` has bare messages, and beside them lines of roles that open with `_`.
Source: https://github.com/MoonshotAI/kimi-code and https://github.com/MoonshotAI/kimi-cli
(src/kimi_cli/wire/types.py).
"""

from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    noise_bytes,
    role_of,
    text_of,
    think,
    tool_call,
    turns_of,
    unfit_is_unknown,
)
from tinyllm.formats.human_words import human_pieces
from tinyllm.formats.injected import Injected
from tinyllm.formats.messages import CHAT_ROLES
from tinyllm.formats.parsed import Parsed

NAME = "kimi"
KEYS = frozenset({"type", "message", "role"})

_THREAD = ""  # a file is an agent's session
_PROMPTS = frozenset({"turn.prompt", "turn.steer"})
_SETUPS = frozenset({"config.update", "profile.bind"})
_MESSAGE = "context.append_message"
_EVENT = "context.append_loop_event"
# What the other lines are about: none of them is said.
_FAMILIES = frozenset({
    "turn", "config", "profile", "context", "tools", "llm", "usage", "permission", "plugin",
    "runtime", "token_counting", "goal", "plan_mode", "swarm", "cron", "task", "todo",
    "background", "full_compaction", "micro_compaction", "compaction", "mcp", "skill", "agent",
    "subagent", "session", "hook", "file", "shell", "step",
})  # fmt: skip
_SHAPELESS = frozenset({"metadata", "forked"})
# Of the command line's context: what it tells the model, marks to go back to, and counters.
_SYSTEM_PROMPT = "_system_prompt"
_OWN_ROLES = frozenset({_SYSTEM_PROMPT, "_checkpoint", "_usage"})
_CHECKPOINT = "<system>CHECKPOINT "
_INJECTED = Injected(
    names=[r"system-reminder|system|git-context|notification|[a-z]+(?:-[a-z]+)*-context"]
)


def recognise(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return _is_wire(record) or _is_context(record)
    if kind in _SHAPELESS:
        return "protocol_version" in record or set(record) == {"type", "time"}
    family, dot, _ = kind.partition(".")
    return bool(dot) and family in _FAMILIES and "time" in record and "data" not in record


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    if "role" in record:
        role: Role = "system" if record["role"] == _SYSTEM_PROMPT else "env"
        turns = turns_of(record.get("content"), role)
        return Parsed(tuple(turns), thread=_THREAD, family="bare_message")
    if "type" not in record:
        return _wire(record["message"]) if _is_wire(record) else Parsed()
    kind = record["type"]
    if not isinstance(kind, str):
        raise Misfit
    if kind in _PROMPTS:
        return _said(_given(record.get("input"), record.get("origin")), mirrors=True)
    if kind in _SETUPS:
        told = turns_of(record.get("systemPrompt"), "system")
        return _said(told, mirrors=kind == "profile.bind")
    if kind == _MESSAGE:
        return _message(record.get("message"))
    return _event(record.get("event")) if kind == _EVENT else Parsed()


def _is_wire(record: dict[str, Any]) -> bool:
    message = record.get("message")
    if not isinstance(message, dict) or "timestamp" not in record or len(record) != 2:
        return False
    return isinstance(message.get("type"), str) and "payload" in message


def _is_context(record: dict[str, Any]) -> bool:
    role = record.get("role")
    if role != "user":
        return isinstance(role, str) and role in _OWN_ROLES
    content = record.get("content")
    part = content[0] if isinstance(content, list) and content else content
    text = part.get("text") if isinstance(part, dict) else part
    return isinstance(text, str) and text.startswith(_CHECKPOINT)


def _wire(message: dict[str, Any]) -> Parsed:
    """A line of Kimi CLI, which names its messages after classes."""
    kind, payload = message["type"], message["payload"]
    if not isinstance(payload, dict):
        raise Misfit
    if kind in ("TurnBegin", "SteerInput"):
        return _said(_given(payload.get("user_input"), None))
    if kind in ("ContentPart", "TextPart", "ThinkPart"):
        return _said(_turns(payload, "assistant"))
    if kind == "ToolCall":
        return _said([Turn("assistant", tool_call(payload))])
    if kind == "ToolResult":
        value = payload.get("return_value", payload.get("result"))
        output = value.get("output") if isinstance(value, dict) else value
        return _said([Turn("env", text_of(output))])
    if kind == "Notification":
        return _said([Turn("env", text_of(payload.get("body")))])
    return Parsed()


def _message(message: object) -> Parsed:
    if not isinstance(message, dict):
        raise Misfit
    role = role_of(message.get("role"), CHAT_ROLES)
    content = message.get("content")
    turns = _given(content, message.get("origin")) if role == "user" else _turns(content, role)
    calls = message.get("toolCalls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            turns.append(Turn("assistant", tool_call(call)))
    return _said(turns, noise=noise_bytes(content))


def _event(event: object) -> Parsed:
    if not isinstance(event, dict):
        raise Misfit
    kind = event.get("type")
    if kind == "content.part":
        return _said(_turns(event.get("part"), "assistant"), noise=noise_bytes(event.get("part")))
    if kind == "tool.call":
        call = {"name": event.get("name"), "arguments": event.get("args")}
        return _said([Turn("assistant", tool_call(call))])
    if kind == "tool.result":
        result = event.get("result")
        output = result.get("output") if isinstance(result, dict) else result
        return _said([Turn("env", text_of(output))], noise=noise_bytes(output))
    return Parsed()


def _given(content: object, origin: object) -> list[Turn]:
    """What stands under role user: a human's only if its origin says so, or says nothing."""
    parts = content if isinstance(content, list) else [content]
    turns = [turn for part in parts for turn in turns_of(part, "user")]
    kind = origin.get("kind") if isinstance(origin, dict) else None
    if kind == "shell_command":  # what the human gave to the shell stands in a tag
        return [piece for turn in turns for piece in human_pieces(turn)]
    if kind not in (None, "user"):
        return [Turn("env", turn.text) for turn in turns]
    return [piece for turn in turns for piece in _INJECTED.split(turn.text)]


def _turns(content: object, role: Role) -> list[Turn]:
    """The turns of parts, of which `think` is this format's own."""
    turns: list[Turn] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict) and part.get("type") == "think":
            thought = part.get("think", part.get("text"))
            turns.append(Turn("assistant", think(text_of(thought))))
        else:
            turns += turns_of(part, role)
    return turns


def _said(turns: list[Turn], mirrors: bool = False, noise: int = 0) -> Parsed:
    said = tuple(turn for turn in turns if turn.text.strip())
    joins = not mirrors and bool(said) and said[0].role == "assistant"
    ends = not said and any(turn.role != "assistant" for turn in turns)
    return Parsed(said, thread=_THREAD, joins=joins, ends=ends, mirrors=mirrors, noise=noise)

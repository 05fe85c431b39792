"""OpenHands: events of `source` and `action` or `observation`, or of `source` and `kind`.

They come one a record, or as the `history` of a run's record (a list, or pairs of an action and
its observation). The first shape is of versions below 1, the second of the agent SDK. Sources:
https://github.com/All-Hands-AI/OpenHands (openhands/events/serialization) and
https://github.com/OpenHands/software-agent-sdk (openhands-sdk/openhands/sdk/event).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    json_text,
    merge,
    noise_bytes,
    string_bytes,
    think,
    tool_call,
    turns_of,
    unfit_is_unknown,
)
from tinyllm.formats.parsed import Parsed

NAME = "openhands"
KEYS = frozenset({"source", "history"})

_SOURCES: Mapping[str, Role] = {"user": "user", "agent": "assistant", "environment": "env"}
# Actions of the program, not of the agent, and observations that tell the program's state.
_NO_SPEECH = frozenset({
    "initialize", "start", "null", "change_agent_state", "agent_state_changed", "recall",
    "condensation", "condensation_request", "pause", "resume", "stop", "loop_recovery",
})  # fmt: skip
# What an action carries beside the arguments of its call.
_NO_ARGUMENTS = frozenset({
    "thought", "final_thought", "impl_source", "translated_ipython_code", "confirmation_state",
    "security_risk", "blocking", "hidden", "is_static", "keep_prompt", "is_confirmed", "cwd",
    "wait_for_response", "image_urls", "hard_timeout",
})  # fmt: skip
# What an unattended run says in the user's place when the agent asks for one.
_FAKE_USER = "Please continue working on the task on whatever approach you think is suitable."

# What stands for the reason of a human who gave none to refuse a call.
_NO_REASON = "User rejected"


def recognise(record: dict[str, Any]) -> bool:
    if _is_event(record):
        return True
    history = record.get("history")
    if not isinstance(history, list) or not history:
        return False
    first = history[0]
    return _is_event(first[0] if isinstance(first, list) and first else first)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    if not _is_event(record):
        return _history(record.get("history"))
    turns = tuple(_event(record))
    when = record.get("timestamp")
    identity = None
    if turns and isinstance(when, str):
        identity = json_text([when, [turn.text for turn in turns]])
    return Parsed(turns, "source", thread="", identity=identity, noise=_noise(record, turns))


def _is_event(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("source"), str):
        return False
    kind = value.get("kind")
    if isinstance(kind, str):
        return kind.endswith(("Event", "Observation", "Condensation", "CondensationRequest"))
    if isinstance(value.get("action"), str):
        return isinstance(value.get("args"), dict)
    return isinstance(value.get("observation"), str) and ("content" in value or "extras" in value)


def _history(value: object) -> Parsed:
    listed = value if isinstance(value, list) else []
    events = [one for item in listed for one in (item if isinstance(item, list) else [item])]
    turns: list[Turn] = []
    noise = 0
    for event in events:
        if not isinstance(event, dict):
            raise Misfit
        said = _event(event)
        noise += _noise(event, said)
        turns += [turn for turn in said if turn.role != "system" or turn not in turns]
    return Parsed(tuple(turns), "source", noise=noise)


def _event(event: dict[str, Any]) -> list[Turn]:
    if isinstance(event.get("kind"), str):
        return _sdk_event(event)
    if isinstance(event.get("action"), str):
        return _action(event, event["action"])
    seen = event.get("observation")
    if isinstance(seen, str) and seen in _NO_SPEECH:
        return []
    return _env(turns_of(event.get("content") or event.get("message"), "env"))


def _source(event: dict[str, Any]) -> Role | None:
    source = event.get("source")
    return _SOURCES.get(source) if isinstance(source, str) else None


def _action(event: dict[str, Any], action: str) -> list[Turn]:
    args = event.get("args")
    source = _source(event)
    if action in _NO_SPEECH or not isinstance(args, dict):
        return []
    if action == "message":
        return _message(args.get("content") or event.get("message"), source)
    if action == "system":
        return turns_of(args.get("content"), "system")
    if source == "assistant":
        return _agent_action(event, action, args)
    return turns_of(first_text(args, ("command", "code")), "user") if source == "user" else []


def _message(content: object, role: Role | None) -> list[Turn]:
    turns = turns_of(content, role or "env")
    return _env(turns) if role == "user" and _is_fake(turns) else turns


def _agent_action(event: dict[str, Any], action: str, args: dict[str, Any]) -> list[Turn]:
    """The agent's reasoning and its call; at the end of a run, its last words."""
    thought = first_text(args, ("thought",))
    reasoning, call = _call_made(event)
    if action == "think":
        return merge([Turn("assistant", think(reasoning)), Turn("assistant", think(thought))])
    if action == "finish":
        words = first_text(args, ("final_thought",)) or thought
        thought = "" if words.strip() == thought.strip() else thought
        if words.strip():
            said = [think(reasoning), think(thought), words]
            return merge(Turn("assistant", text) for text in said)
    if not call:
        given = {key: value for key, value in args.items() if key not in _NO_ARGUMENTS}
        call = tool_call({"name": action, "arguments": given})
    return merge(Turn("assistant", text) for text in (think(reasoning), think(thought), call))


def _call_made(event: dict[str, Any]) -> tuple[str, str]:
    """The reasoning and the call of an action as the model wrote them; "" where it isn't kept."""
    kept = event.get("tool_call_metadata")
    response = kept.get("model_response") if isinstance(kept, dict) else None
    choices = response.get("choices") if isinstance(response, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(kept, dict) or not isinstance(message, dict) or not isinstance(calls, list):
        return "", ""
    for at, call in enumerate(calls):
        if isinstance(call, dict) and call.get("id") == kept.get("tool_call_id"):
            # One answer may hold several calls: its reasoning goes with the first.
            return "" if at else first_text(message, ("reasoning_content",)), tool_call(call)
    return "", ""


def _sdk_event(event: dict[str, Any]) -> list[Turn]:
    kind = event["kind"]
    source = _source(event)
    if kind == "SystemPromptEvent":
        return turns_of(event.get("system_prompt"), "system")
    if kind == "MessageEvent":
        message = event.get("llm_message")
        if not isinstance(message, dict):
            raise Misfit
        said = _message(message.get("content"), source)
        thoughts = _thoughts(message) if source == "assistant" else []
        return merge([*thoughts, *said, *_env(turns_of(event.get("extended_content"), "env"))])
    if kind == "ActionEvent":
        return _sdk_action(event)
    return _sdk_result(event, kind)


def _sdk_result(event: dict[str, Any], kind: str) -> list[Turn]:
    """What the agent is told: a result, an error, a refusal, a summary; else nothing."""
    if kind == "ObservationEvent":
        seen = event.get("observation")
        if not isinstance(seen, dict):
            raise Misfit
        return _env(turns_of(seen.get("content") or seen.get("output"), "env"))
    if kind == "UserRejectObservation":
        reason = first_text(event, ("rejection_reason",))
        return turns_of(reason, "env" if reason.startswith(_NO_REASON) else "user")
    if kind in ("AgentErrorEvent", "CondensationSummaryEvent"):
        return turns_of(first_text(event, ("error", "summary")), "env")
    return []


def _sdk_action(event: dict[str, Any]) -> list[Turn]:
    action = event.get("action")
    call = event.get("tool_call")
    if not isinstance(call, dict):
        call = {"name": event.get("tool_name"), "arguments": action}
    text = tool_call(call)
    if isinstance(action, dict) and event.get("tool_name") == "finish":
        text = first_text(action, ("message",)) or text
    spoken = turns_of(event.get("thought"), "assistant")
    return merge([*_thoughts(event), *spoken, Turn("assistant", text)])


def _thoughts(said: dict[str, Any]) -> list[Turn]:
    """Reasoning in signed blocks, or else as the summary beside them."""
    signed = turns_of(said.get("thinking_blocks"), "assistant")
    return signed or [Turn("assistant", think(first_text(said, ("reasoning_content",))))]


def _env(turns: Iterable[Turn]) -> list[Turn]:
    return merge(Turn("env", turn.text) for turn in turns)


def _is_fake(turns: list[Turn]) -> bool:
    return bool(turns) and turns[0].text.lstrip().startswith(_FAKE_USER)


def _noise(event: dict[str, Any], turns: Iterable[Turn]) -> int:
    """Bytes of an event that say again what its turns say, or what the call's event said."""
    copies = ("message", "args", "tool_call_metadata", "extras", "content", "action", "tool_call")
    if isinstance(event.get("kind"), str):
        return noise_bytes(event.get("thinking_blocks")) + string_bytes(event.get("tools"))
    spoken = string_bytes([turn.text for turn in turns])
    return max(0, string_bytes([event.get(key) for key in copies]) - spoken)

"""Codex rollouts: lines of `type` and `payload`; in old ones a header, then bare items.

Each message is written twice, as the item that the model sees and as an event for the screen:
the events only mirror. What stands under role user is a human's only where no program put it
there. Bare items of other logs of the Responses interface are read here too.
Source: https://github.com/openai/codex (codex-rs/protocol/src/protocol.rs).
"""

from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    string_bytes,
    text_of,
    think,
    turns_of,
    unfit_is_unknown,
)
from tinyllm.formats.parsed import Parsed
from tinyllm.formats.response_items import is_item, item_noise, item_turns, user_turns

NAME = "codex"
KEYS = frozenset({"type", "instructions", "record_type"})

_THREAD = ""  # a file is a session
_LINES = frozenset({
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state",
    "inter_agent_communication", "inter_agent_communication_metadata",
})  # fmt: skip
# Events that show what an item says, and the key that it stands under.
_MIRRORS = {
    "user_message": "message",
    "agent_message": "message",
    "agent_reasoning": "text",
    "agent_reasoning_raw_content": "text",
}
_PROGRAM_SAYS = frozenset({"error", "stream_error", "warning", "guardian_warning"})
# Events about the session, and what happened on the screen while a call ran.
_SILENT = frozenset({
    "token_count", "task_complete", "turn_complete", "turn_aborted", "context_compacted",
    "entered_review_mode", "exited_review_mode", "thread_rolled_back", "turn_diff",
    "view_image_tool_call", "thread_settings_applied", "guardian_assessment",
    "sub_agent_activity", "background_event", "session_configured", "shutdown_complete",
    "deprecation_notice", "plan_delta", "agent_reasoning_section_break", "turn.completed",
    "turn.started", "turn.failed", "model_reroute", "raw_response_item",
})  # fmt: skip
_SILENT_ENDINGS = (
    *("_begin", "_end", "_delta", "_update", "_updated", "_started", "_completed"),
    *("_request", "_response", "_metadata", "_verification", "_buffering"),
)
_TEXTS = ("message", "text", "content", "prompt")


def recognise(record: dict[str, Any]) -> bool:
    if "payload" in record:
        kind = record.get("type")
        return isinstance(kind, str) and kind in _LINES
    return _is_header(record) or record.get("record_type") == "state" or is_item(record)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    kind = record.get("type")
    if "payload" not in record:
        return _bare(record)
    payload = record["payload"]
    if not isinstance(payload, dict):
        raise Misfit
    if kind == "response_item":
        return _item(payload, record.get("timestamp"))
    if kind == "event_msg":
        return _event(payload)
    if kind == "session_meta":
        return _instructions(payload)
    if kind == "inter_agent_communication":
        return _said(turns_of(text_of(payload.get("content")), "env"))
    return Parsed()


def _is_header(record: dict[str, Any]) -> bool:
    """True for the first line of an old rollout."""
    is_plain = isinstance(record.get("id"), str) and isinstance(record.get("timestamp"), str)
    about_speech = {"type", "input", "output", "messages"}
    return is_plain and "instructions" in record and about_speech.isdisjoint(record)


def _bare(record: dict[str, Any]) -> Parsed:
    if _is_header(record):
        return _instructions(record)
    return _item(record, record.get("timestamp")) if is_item(record) else Parsed()


def _instructions(meta: dict[str, Any]) -> Parsed:
    """What the session's agent was told before anybody spoke."""
    texts = [text_of(meta.get(key)) for key in ("base_instructions", "instructions")]
    return _said([Turn("system", text) for text in dict.fromkeys(texts) if text.strip()])


def _item(item: dict[str, Any], timestamp: object) -> Parsed:
    turns = [turn for turn in item_turns(item) if turn.text.strip()]
    anchors = [item.get("id"), item.get("call_id"), timestamp]
    anchor = next((text for text in anchors if isinstance(text, str) and text), None)
    said = [f"{turn.role} {turn.text}" for turn in turns]
    identity = "\0".join([anchor, *said]) if anchor and turns else None
    parsed = _said(turns, identity=identity, noise=item_noise(item))
    parsed.ends = not turns and _is_no_agents(item)
    return parsed


def _is_no_agents(item: dict[str, Any]) -> bool:
    kind = item.get("type")
    if kind == "message":
        return item.get("role") != "assistant"
    return isinstance(kind, str) and kind.endswith(("_output", "_result"))


def _event(event: dict[str, Any]) -> Parsed:
    kind = event.get("type")
    if not isinstance(kind, str):
        raise Misfit
    if kind == "item_completed":
        return _said(_completed(event.get("item")), mirrors=True, series=kind)
    if kind in _MIRRORS:
        return _said(_mirrored(kind, event.get(_MIRRORS[kind])), mirrors=True)
    if kind in _PROGRAM_SAYS:
        return _said(turns_of(event.get("message"), "env"))
    if kind in _SILENT or kind.endswith(_SILENT_ENDINGS):
        return Parsed(noise=string_bytes(event.get("last_agent_message")))
    if first_text(event, _TEXTS):
        raise Misfit  # somebody says something, and it isn't known who
    return Parsed()


def _mirrored(kind: str, content: object) -> list[Turn]:
    if kind == "user_message":
        return user_turns(content)
    return turns_of(content, "assistant") if kind == "agent_message" else _thoughts(content)


def _completed(item: object) -> list[Turn]:
    """What an item says that was shown when it was complete; calls are said by other lines."""
    if not isinstance(item, dict):
        raise Misfit
    kind = item.get("type")
    if kind == "UserMessage":
        return user_turns(item.get("content"))
    if kind in ("AgentMessage", "Plan"):
        return turns_of(item.get("content", item.get("text")), "assistant")
    if kind != "Reasoning":
        return []
    listed = (item.get(key) for key in ("summary_text", "raw_content"))
    texts = [text for value in listed if isinstance(value, list) for text in value]
    return [turn for text in texts for turn in _thoughts(text)]


def _thoughts(text: object) -> list[Turn]:
    return [Turn("assistant", think(text_of(text)))]


def _said(
    turns: list[Turn],
    mirrors: bool = False,
    series: str = "",
    identity: str | None = None,
    noise: int = 0,
) -> Parsed:
    said = tuple(turn for turn in turns if turn.text.strip())
    return Parsed(
        said,
        thread=_THREAD,
        joins=not mirrors and bool(said) and said[0].role == "assistant",
        mirrors=mirrors,
        series=series,
        identity=identity,
        noise=noise,
    )

"""Streamed answers of language models' interfaces, put together to the answer they are.

Sources: https://platform.openai.com/docs/api-reference/chat-streaming and
https://docs.anthropic.com/en/docs/build-with-claude/streaming.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tinyllm.formats.content import from_json

_DATA = "data:"
# Of a delta, what adds to a block's text, and under which key the block has it.
_DELTA_KEYS: Mapping[str, str] = {
    "text": "text",
    "thinking": "thinking",
    "partial_json": "input",
}


def events_in(text: str) -> list[dict[str, Any]]:
    """The events of a stream that was logged as it was sent: `data: {…}` lines."""
    found = (
        from_json(line.strip().removeprefix(_DATA))
        for line in text.split("\n")
        if line.strip().startswith(_DATA)
    )
    return [event for event in found if isinstance(event, dict)]


def are_events(value: object) -> bool:
    """True for a list that holds the events of a stream."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(event, dict) and _is_event(event) for event in value)


def _is_event(event: dict[str, Any]) -> bool:
    kind = event.get("type")
    if isinstance(kind, str):
        return kind.startswith(("message_", "content_block_", "response.")) or kind in (
            "ping",
            "error",
        )
    choices = event.get("choices")
    return isinstance(choices, list) and all(isinstance(c, dict) for c in choices) and (
        not choices or "delta" in choices[0] or event.get("object") == "text_completion"
    )  # fmt: skip


def answer_of(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The answer that a stream's events make, as if it had come at once."""
    blocks: dict[object, dict[str, Any]] = {}
    message: dict[str, Any] = {"role": "assistant", "content": "", "reasoning": ""}
    calls: dict[object, dict[str, str]] = {}
    for event in events:
        response = event.get("response")
        if event.get("type") == "response.completed" and isinstance(response, dict):
            return response
        if event.get("type") == "content_block_start":
            block = event.get("content_block")
            blocks[_key(event)] = dict(block) if isinstance(block, dict) else {}
        elif event.get("type") == "content_block_delta":
            _add_to_block(blocks.setdefault(_key(event), {}), event.get("delta"))
        else:
            _add_to_message(message, calls, event.get("choices"))
    if blocks:
        return {"role": "assistant", "content": [_whole(block) for block in blocks.values()]}
    message["tool_calls"] = list(calls.values())
    return {"choices": [{"message": message}]}


def _key(event: dict[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _add_to_block(block: dict[str, Any], delta: object) -> None:
    for name, key in _DELTA_KEYS.items():
        more = delta.get(name) if isinstance(delta, dict) else None
        if isinstance(more, str):
            block.setdefault("type", "text")
            known = block.get(key)
            block[key] = (known if isinstance(known, str) else "") + more


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    """A block whose parts have all come: the input of a call was sent as pieces of JSON."""
    given = block.get("input")
    if isinstance(given, str):
        decoded = from_json(given)
        block["input"] = given if decoded is None else decoded
    return block


def _add_to_message(
    message: dict[str, Any], calls: dict[object, dict[str, str]], choices: object
) -> None:
    """Add the first choice of an event to the message so far."""
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or choice.get("index", 0) != 0:
        return
    delta = choice.get("delta")
    delta = delta if isinstance(delta, dict) else {"content": choice.get("text")}
    for key, names in (
        ("content", ("content",)),
        ("reasoning", ("reasoning_content", "reasoning")),
    ):
        more = next((delta[name] for name in names if isinstance(delta.get(name), str)), "")
        message[key] += more
    listed = delta.get("tool_calls")
    for call in listed if isinstance(listed, list) else ():
        if isinstance(call, dict):
            _add_to_call(calls.setdefault(_key(call), {"name": "", "arguments": ""}), call)


def _add_to_call(known: dict[str, str], call: dict[str, Any]) -> None:
    function = call.get("function")
    for key in known:
        more = function.get(key) if isinstance(function, dict) else None
        if isinstance(more, str):
            known[key] += more

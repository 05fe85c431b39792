"""Logs of requests to language models' interfaces, and of their answers.

As proxies and their kin write them: `request` and `response`, or the two under other names
(LiteLLM's `kwargs`, Helicone's `request_body`, Langfuse's `input` and `output`), each the body,
or an exchange by HTTP with the body in it; files of batches; answers alone. A request repeats
the conversation so far.

Sources: https://platform.openai.com/docs/api-reference/chat,
https://platform.openai.com/docs/api-reference/batch,
https://docs.anthropic.com/en/api/creating-message-batches,
https://docs.litellm.ai/docs/proxy/logging_spec, https://github.com/badlogic/lemmy (claude-trace),
https://github.com/ollama/ollama (docs/api.md).
"""

from collections.abc import Mapping
from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats import harness_session, openai_chat
from tinyllm.formats.api_stream import answer_of, are_events, events_in
from tinyllm.formats.content import (
    Misfit,
    first_text,
    from_json,
    merge,
    string_bytes,
    text_of,
    unfit_is_unknown,
)
from tinyllm.formats.messages import (
    answer_beside,
    chat_turns,
    members,
    message_list,
    message_noise,
    message_turns,
    system_beside,
)
from tinyllm.formats.parsed import Format, Parsed
from tinyllm.formats.prompt_completion import prompt_turns
from tinyllm.formats.response_items import are_items, item_noise, item_turns, user_turns

NAME = "api_log"
# Under which keys a request stands, and for each its answer.
_SIDES: Mapping[str, tuple[str, ...]] = {
    "request": ("response",),
    "request_body": ("response_body",),
    "requestBody": ("responseBody",),
    "kwargs": ("response_obj", "response"),
    "req": ("res",),
    "params": ("response", "result"),
    "body": ("response",),
    "input": ("output",),
}
_BATCH_KEY = "custom_id"
_ANSWER_OBJECTS = frozenset({"chat.completion", "text_completion", "response"})
_TRACE_KEYS = frozenset({"traceId", "trace_id", "observationId", "parentObservationId"})
KEYS = frozenset({*_SIDES, "messages", "choices", "output", "observations", _BATCH_KEY})

# Where an exchange by HTTP has its body.
_BODY_KEYS = ("body", "json", "body_raw", "data", "content")
_MOST_WRAPPINGS = 4  # JSON text of an exchange whose body is JSON text, and one to spare
_HTTP_KEYS = frozenset({"headers", "url", "status_code", "status", "method"})


def recognise(record: dict[str, Any]) -> bool:
    return _exchange(record) is not None or _observations(record) is not None


def parse(record: dict[str, Any]) -> Parsed | list[Parsed] | None:
    observations = _observations(record)
    if observations is None:
        return _parse_exchange(record)
    said = [_parse_exchange(each) for each in observations if _exchange(each) is not None]
    return [parsed for parsed in said if parsed is not None]


@unfit_is_unknown
def _parse_exchange(record: dict[str, Any]) -> Parsed:
    exchange = _exchange(record)
    if exchange is None:
        raise Misfit
    request, answer = exchange
    asked = _request(request) if request else Parsed()
    turns, noise = _answer(answer)
    if _ends_in(asked.turns, turns):
        turns = []
    batch = record.get(_BATCH_KEY)
    return Parsed(
        (*asked.turns, *turns),
        decided=asked.decided,
        thread=batch if isinstance(batch, str) else None,
        noise=asked.noise + noise,
    )


def _observations(record: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The steps of a trace, of which some are exchanges with a model."""
    listed = record.get("observations")
    if not isinstance(listed, list) or not listed:
        return None
    steps = [step for step in listed if isinstance(step, dict)]
    is_trace = len(steps) == len(listed) and not _TRACE_KEYS.isdisjoint(steps[0])
    return steps if is_trace else None


def _ends_in(asked: tuple[Turn, ...], turns: list[Turn]) -> bool:
    """True if the conversation was logged with the answer in it already."""
    return bool(turns) and asked[-len(turns) :] == tuple(turns)


# --- where the two sides stand --------------------------------------------------------------------


def _exchange(record: dict[str, Any]) -> tuple[dict[str, Any], object] | None:
    """A record's request, {} if it has none, and its answer, None if it has none.

    None for a record that holds neither.
    """
    for key, answers in _SIDES.items():
        answer = next((record[name] for name in answers if name in record), None)
        if key not in record or (answer is None and not _may_lack_answer(record, key)):
            continue
        request = _request_body(record[key])
        if request is not None and _is_request(request):
            return (request, answer) if key != "input" or _fits(record, answer) else None
        if _is_http(record[key]) and isinstance(answer, dict):
            return {}, None
    answer = answer_beside(record)
    if message_list(record.get("messages")) is not None and answer is not None:
        return record, record if "choices" in record else answer
    kind = record.get("object")
    if isinstance(kind, str) and kind in _ANSWER_OBJECTS and _is_answer(record):
        return {}, record
    if _BATCH_KEY in record:
        answer = record.get("response", record.get("result"))
        return ({}, answer) if isinstance(answer, dict) else None
    return None


def _may_lack_answer(record: dict[str, Any], key: str) -> bool:
    return _BATCH_KEY in record or any(name in record for name in _SIDES[key])


def _is_http(value: object) -> bool:
    """True for any request by HTTP, to a model or not."""
    return isinstance(value, dict) and "method" in value and ("url" in value or "path" in value)


def _fits(record: dict[str, Any], answer: object) -> bool:
    """True if `input` and `output` are a trace's, and no pair of texts or table's columns."""
    return not _TRACE_KEYS.isdisjoint(record) or isinstance(answer, dict | list)


def _body(value: object) -> object:
    """What was sent: a value as it stands, or the body of an exchange by HTTP, decoded."""
    for _ in range(_MOST_WRAPPINGS):
        inner: object = None
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            inner = from_json(value)
        elif isinstance(value, dict) and not _HTTP_KEYS.isdisjoint(value) and not _is_answer(value):
            inner = next((value[key] for key in _BODY_KEYS if value.get(key)), None)
        if not isinstance(inner, str | dict | list):
            break
        value = inner
    return value


def _request_body(value: object) -> dict[str, Any] | None:
    body = _body(value)
    if isinstance(body, dict) and not _is_request(body):
        inner = _body(body.get("body"))
        return inner if isinstance(inner, dict) else body
    if isinstance(body, dict):
        return body
    if isinstance(body, list) and are_items(body) and not all("role" in item for item in body):
        return {"input": body}
    return {"messages": body} if message_list(body) is not None else None


def _is_request(body: dict[str, Any]) -> bool:
    if message_list(body.get("messages")) is not None:
        return True
    asked = body.get("input")
    if are_items(asked) or (isinstance(asked, str) and "model" in body):
        return True
    return isinstance(body.get("prompt"), str) and "model" in body


def _is_answer(body: dict[str, Any]) -> bool:
    choices = body.get("choices")
    if isinstance(choices, list) and choices:
        return isinstance(choices[0], dict)
    return are_items(body.get("output"))


# --- what they say --------------------------------------------------------------------------------


def _request(body: dict[str, Any]) -> Parsed:
    """The conversation so far. Raises Misfit."""
    messages = message_list(body.get("messages"))
    if messages is not None:
        chat = {"messages": messages, "system": body.get("system", body.get("instructions"))}
        known: Format = harness_session if harness_session.recognise(chat) else openai_chat
        parsed = known.parse(chat)
        if not isinstance(parsed, Parsed):
            raise Misfit
        return parsed
    instructions = text_of(body.get("instructions"))
    turns = [Turn("system", instructions)] if instructions else system_beside(body, [])
    asked = body.get("input")
    if isinstance(asked, list):
        turns += [turn for item in asked for turn in item_turns(item)]
        return Parsed(tuple(merge(turns)), noise=sum(map(item_noise, asked)))
    if isinstance(asked, str):
        return Parsed((*turns, *user_turns(asked)))
    return Parsed((*turns, *prompt_turns(body.get("prompt"))))


def _answer(value: object) -> tuple[list[Turn], int]:
    """What an answer says, and the bytes of it that are noise. Raises Misfit."""
    body = _body(value)
    if isinstance(body, str):
        events = events_in(body)
        if not events:
            return ([Turn("assistant", body)] if body.strip() else []), 0
        body = answer_of(events)
    elif isinstance(body, list) and are_events(body):
        body = answer_of(body)
    if isinstance(body, list) and body:
        if message_list(body) is not None:
            return chat_turns(body), sum(map(message_noise, members(body)))
        body = {"output": body} if are_items(body) else {"content": body}
    if not isinstance(body, dict):
        return [], 0
    return _answer_object(body)


def _answer_object(body: dict[str, Any]) -> tuple[list[Turn], int]:
    choices = body.get("choices")
    if isinstance(choices, list):
        first = choices[0] if choices else {}
        if not isinstance(first, dict):
            raise Misfit
        others = string_bytes(choices[1:])
        message = first.get("message")
        message = message if isinstance(message, dict) else {"content": first.get("text")}
        return message_turns(message, "assistant"), others + message_noise(message)
    items = body.get("output")
    if isinstance(items, list) and are_items(items):
        turns = [turn for item in items for turn in item_turns(item)]
        return merge(turns), sum(map(item_noise, items))
    message = body.get("message")
    if isinstance(message, dict):
        return message_turns(message, "assistant"), message_noise(message)
    if body.get("content") is not None or body.get("tool_calls"):
        return message_turns(body, "assistant"), message_noise(body)
    text = first_text(body, ("response", "completion", "output_text", "text"))
    return ([Turn("assistant", text)] if text else []), 0

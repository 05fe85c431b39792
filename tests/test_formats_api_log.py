"""Logs of requests to models' interfaces and of their answers."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyllm.documents import Turn
from tinyllm.formats import api_log, recognise
from tinyllm.formats.parsed import Parsed

U, A, S = Turn("user", "Which wind?"), Turn("assistant", "North-east."), Turn("system", "Be brief.")
ASKED = {"role": "user", "content": "Which wind?"}
SAID = {"role": "assistant", "content": "North-east."}
REQUEST = {"model": "m", "messages": [ASKED]}
COMPLETION = {"id": "c1", "object": "chat.completion", "choices": [{"index": 0, "message": SAID}]}
MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "North-east."}],
}


def parsed(record: dict[str, Any]) -> Parsed:
    assert recognise(record) is api_log
    result = api_log.parse(record)
    assert isinstance(result, Parsed)
    return result


@pytest.mark.parametrize(
    "record",
    [
        {"request": REQUEST, "response": COMPLETION},
        {"request": REQUEST, "response": MESSAGE},
        {"request": REQUEST, "response": "North-east."},
        {"request": {"messages": [ASKED]}, "response": {"message": SAID, "done": True}},
        {"request": json.dumps(REQUEST), "response": json.dumps(COMPLETION)},
        {"request_body": REQUEST, "response_body": COMPLETION},
        {"kwargs": REQUEST, "response_obj": COMPLETION},
        {"call_type": "completion", "messages": [ASKED], "response": COMPLETION},
        {"input": [ASKED], "output": SAID, "type": "GENERATION", "traceId": "t"},
        {"input": {"messages": [ASKED]}, "output": "North-east.", "traceId": "t"},
        {"messages": [ASKED], "choices": [{"message": SAID}]},
        {
            "request": {"model": "m", "prompt": "Which wind?"},
            "response": {"response": "North-east."},
        },
        {
            "request": {"model": "m", "prompt": "Which wind?"},
            "response": {"choices": [{"text": "North-east."}]},
        },
        {
            "request": {"method": "POST", "url": "/v1/messages", "headers": {}, "body": REQUEST},
            "response": {"status_code": 200, "headers": {}, "body": MESSAGE},
        },
        {
            "request": {"method": "POST", "url": "/", "body": json.dumps(REQUEST)},
            "response": {"status": 200, "body": json.dumps(COMPLETION)},
        },
    ],
)
def test_a_request_is_the_conversation_and_the_answer_its_last_turn(record: dict[str, Any]):
    assert parsed(record).turns == (U, A)


def test_a_system_prompt_of_a_request_comes_first():
    request = {**REQUEST, "system": [{"type": "text", "text": "Be brief."}]}
    assert parsed({"request": request, "response": MESSAGE}).turns == (S, U, A)


def test_an_answer_that_the_messages_hold_already_is_said_once():
    record = {"messages": [ASKED, SAID], "response": "North-east."}
    assert parsed(record).turns == (U, A)


def test_without_an_answer_the_request_is_said():
    for answer in (None, {"error": {"message": "overloaded"}}):
        assert parsed({"request": REQUEST, "response": answer}).turns == (U,)


def test_calls_thoughts_and_results_have_their_speakers():
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "NE"}
    request = {"messages": [ASKED, {"role": "user", "content": [result]}]}
    answer = {
        "content": [
            {"type": "thinking", "thinking": "flags", "signature": "c2ln"},
            {"type": "tool_use", "id": "t2", "name": "wind", "input": {}},
        ]
    }
    record = parsed({"request": request, "response": answer})
    call = '<tool_call>\n{"name": "wind", "arguments": {}}\n</tool_call>'
    assert record.turns == (
        U,
        Turn("env", "NE"),
        Turn("assistant", f"<think>flags</think>\n\n{call}"),
    )
    assert record.noise == 4


def test_other_choices_than_the_first_are_noise():
    choices = [{"message": SAID}, {"message": {"content": "No idea."}}]
    assert parsed({"request": REQUEST, "response": {"choices": choices}}).noise == 8


def test_items_of_the_responses_interface_have_their_speakers():
    request = {"model": "m", "instructions": "Be brief.", "input": "Which wind?"}
    part = {"type": "output_text", "text": "North-east."}
    output = [{"type": "message", "role": "assistant", "content": [part]}]
    record = {"request_body": request, "response_body": {"output": output, "status": "completed"}}
    assert parsed(record).turns == (S, U, A)
    listed = {**request, "input": [ASKED]}
    assert parsed({"request_body": listed, "response_body": {"output": output}}).turns == (S, U, A)


def test_items_may_follow_a_message_without_a_type_and_stand_in_the_record_itself():
    call = {"type": "function_call", "call_id": "c", "name": "wind", "arguments": "{}"}
    found = {"type": "function_call_output", "call_id": "c", "output": "NE"}
    output = [{"type": "message", "role": "assistant", "content": [{"text": "North-east."}]}]
    asked, called, result, said = parsed({"input": [ASKED, call, found], "output": output}).turns
    assert (asked, result, said) == (U, Turn("env", "NE"), A)
    assert called.role == "assistant"


# --- batches, traces, answers alone -------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "turns"),
    [
        ({"method": "POST", "url": "/v1/chat/completions", "body": REQUEST}, (U,)),
        ({"params": REQUEST}, (U,)),
        ({"response": {"status_code": 200, "body": COMPLETION}, "error": None}, (A,)),
        ({"result": {"type": "succeeded", "message": MESSAGE}}, (A,)),
        ({"result": {"type": "errored", "error": {}}}, ()),
        ({"params": REQUEST, "result": {"type": "succeeded", "message": MESSAGE}}, (U, A)),
    ],
)
def test_lines_of_a_batch_are_joined_by_their_id(record: dict[str, Any], turns: tuple[Turn, ...]):
    result = parsed({"custom_id": "wind-1", **record})
    assert result.turns == turns
    assert result.thread == "wind-1"


def test_the_exchanges_of_a_trace_are_conversations_of_their_own():
    step = {"traceId": "t", "type": "GENERATION", "input": [ASKED], "output": SAID}
    record = {"id": "t", "observations": [step, {"traceId": "t", "type": "SPAN"}, step]}
    assert recognise(record) is api_log
    result = api_log.parse(record)
    assert isinstance(result, list)
    assert [each.turns for each in result] == [(U, A), (U, A)]


def test_an_answer_alone_is_the_assistants():
    assert parsed(COMPLETION).turns == (A,)


def test_a_proxys_record_of_another_request_is_no_speech():
    request = {"method": "GET", "url": "/v1/models", "headers": {}}
    assert parsed({"request": request, "response": {"status": 200, "body": "{}"}}).turns == ()


# --- streams ------------------------------------------------------------------------------------


def sent(*events: dict[str, Any]) -> str:
    return "".join(f"event: e\ndata: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]"


def delta(**content: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": content}]}


def piece(index: int, **part: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": part}


CALL = '<tool_call>\n{"name": "wind", "arguments": {"port": "Brest"}}\n</tool_call>'
THOUGHT_AND_CALL = Turn("assistant", f"<think>flags</think>\n\nNorth-east.\n\n{CALL}")


def test_a_streamed_message_is_put_together():
    tool = {"type": "tool_use", "id": "t", "name": "wind", "input": {}}
    stream = sent(
        {"type": "message_start", "message": {"content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
        piece(0, type="thinking_delta", thinking="fla"),
        piece(0, type="thinking_delta", thinking="gs"),
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        piece(1, type="text_delta", text="North-"),
        piece(1, type="text_delta", text="east."),
        {"type": "content_block_start", "index": 2, "content_block": tool},
        piece(2, type="input_json_delta", partial_json='{"port": '),
        piece(2, type="input_json_delta", partial_json='"Brest"}'),
        {"type": "message_stop"},
    )
    request = {"method": "POST", "url": "/v1/messages", "body": REQUEST}
    record = {"request": request, "response": {"status_code": 200, "body_raw": stream}}
    assert parsed(record).turns == (U, THOUGHT_AND_CALL)


def test_a_streamed_completion_is_put_together():
    events = [
        delta(role="assistant", content=""),
        delta(reasoning_content="flags"),
        delta(content="North-"),
        delta(content="east."),
        delta(tool_calls=[{"index": 0, "function": {"name": "wind", "arguments": '{"port"'}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": ': "Brest"}'}}]),
        {"object": "chat.completion.chunk", "choices": []},
    ]
    for response in (sent(*events), events):
        record = parsed({"request": REQUEST, "response": response})
        assert record.turns == (U, THOUGHT_AND_CALL)


def test_a_stream_of_the_responses_interface_ends_in_the_whole_answer():
    part = {"type": "output_text", "text": "North-east."}
    output = [{"type": "message", "role": "assistant", "content": [part]}]
    stream = sent({"type": "response.completed", "response": {"output": output}})
    assert parsed({"request": REQUEST, "response": stream}).turns == (U, A)


# --- other records ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        {"request": None, "response": None},
        {"request": "restart", "response": "ok"},
        {"request": {"id": 1}, "response": {"ok": True}},
        {"input": {"city": "Brest"}, "output": {"wind": "NE"}, "traceId": "t"},
        {"custom_id": "a"},
        {"observations": [{"species": "gull"}]},
        {"choices": ["red", "blue"], "question": "Which?"},
    ],
)
def test_other_requests_and_answers_are_an_unknown_shape(record: dict[str, Any]):
    assert recognise(record) is None
    assert api_log.parse(record) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.just("data: {}"),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("role", "content", "messages", "choices", "message", "delta", "type"),
                    *("body", "status", "output", "index", "tool_calls", "input"),
                ]
            ),
            inner | st.sampled_from(["user", "content_block_delta", "message_start"]),
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(
    record=st.dictionaries(
        st.sampled_from(sorted({*api_log.KEYS, "traceId", "object"})), VALUES, max_size=4
    )
    | st.fixed_dictionaries({"request": st.just(REQUEST), "response": VALUES})
)
@settings(max_examples=400)
def test_any_values_are_parsed_or_unknown_but_never_an_error(record: dict[str, Any]):
    assert isinstance(api_log.recognise(record), bool)
    result = api_log.parse(record)
    for each in result if isinstance(result, list) else [result]:
        assert each is None or isinstance(each, Parsed)

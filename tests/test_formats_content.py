"""Content in parts, tool calls and reasoning, as several formats write them."""

from typing import Any

import pytest

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    noise_bytes,
    text_of,
    think,
    tool_call,
    turns_of,
    written_call,
)

CALL = '<tool_call>\n{"name": "tide", "arguments": {"port": "Skerry"}}\n</tool_call>'


@pytest.mark.parametrize(
    "content",
    [
        "Low water.",
        ["Low water."],
        [{"type": "text", "text": "Low water."}],
        [{"type": "text", "value": "Low water."}],
        [{"type": "input_text", "text": "Low water."}],
        [{"type": "text", "text": {"value": "Low water."}}],
        {"text": "Low water."},
    ],
)
def test_text_is_found_wherever_it_stands(content: object):
    assert turns_of(content, "user") == [Turn("user", "Low water.")]


@pytest.mark.parametrize("content", [None, "", " \n", [], [None], {}, [{"type": "text"}]])
def test_empty_content_is_no_turn(content: object):
    assert turns_of(content, "assistant") == []


def test_a_value_that_is_no_text_is_kept_as_json():
    assert turns_of({"ebb": [1.5, True]}, "env") == [Turn("env", '{"ebb": [1.5, true]}')]
    assert turns_of(7, "user") == [Turn("user", "7")]


@pytest.mark.parametrize("kind", ["reasoning", "thinking", "think"])
@pytest.mark.parametrize("key", ["thinking", "think", "text", "value"])
def test_reasoning_parts_are_marked(kind: str, key: str):
    assert turns_of([{"type": kind, key: " hm "}], "assistant") == [
        Turn("assistant", "<think>hm</think>")
    ]


def test_parts_of_one_speaker_are_one_turn_in_their_order():
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "t", "name": "tide", "input": {"port": "Skerry"}},
    ]
    assert turns_of(parts, "assistant") == [
        Turn("assistant", f"<think>hm</think>\n\nLet me see.\n\n{CALL}")
    ]


@pytest.mark.parametrize("text", ["\n\nLow water.", "\r\n\r\nLow water.", "Low water."])
def test_line_ends_before_an_agents_words_are_no_speech(text: str):
    thought = {"type": "thinking", "thinking": "tide"}
    assert turns_of(text, "assistant") == [Turn("assistant", "Low water.")]
    joined = turns_of([thought, {"type": "text", "text": text}], "assistant")
    assert joined == [Turn("assistant", "<think>tide</think>\n\nLow water.")]


@pytest.mark.parametrize("role", ["user", "env"])
def test_text_of_others_begins_as_it_was_logged(role: Role):
    assert turns_of("\n  1 low\n", role) == [Turn(role, "\n  1 low\n")]


def test_the_indent_of_an_agents_first_line_stays():
    assert turns_of("\n    tide()", "assistant") == [Turn("assistant", "    tide()")]


def test_a_tool_result_is_the_environments_beside_a_humans_text():
    parts = [
        {"type": "tool_result", "content": [{"type": "text", "text": "0.4 m"}]},
        {"type": "text", "text": "is that low?"},
    ]
    assert turns_of(parts, "user") == [Turn("env", "0.4 m"), Turn("user", "is that low?")]


def test_images_are_no_speech():
    parts = [
        {"type": "image_url", "image_url": {"url": "data:,x"}},
        {"type": "image", "value": "x"},
    ]
    assert turns_of(parts, "user") == []


@pytest.mark.parametrize(
    "call",
    [
        {"function": {"name": "tide", "arguments": '{"port": "Skerry"}'}},
        {"function": {"name": "tide", "arguments": {"port": "Skerry"}}},
        {"name": "tide", "input": {"port": "Skerry"}},
        {"name": "tide", "args": {"port": "Skerry"}},
        {"value": '{"name":"tide","arguments":"{\\"port\\":\\"Skerry\\"}"}'},
    ],
)
def test_a_call_reads_the_same_however_it_was_logged(call: dict[str, object]):
    assert tool_call(call) == CALL


def test_arguments_that_are_no_json_stay_as_they_are():
    assert '"arguments": "{port:"' in tool_call({"name": "tide", "arguments": "{port:"})


@pytest.mark.parametrize("arguments", [None, "", {}, "{}"])
def test_a_call_without_arguments_has_an_empty_object(arguments: object):
    assert '"arguments": {}' in tool_call({"name": "tide", "arguments": arguments})


def test_arguments_keep_the_order_and_the_letters_of_the_log():
    assert '{"z": "é", "a": 1}' in tool_call({"name": "f", "arguments": {"z": "é", "a": 1}})


def test_a_written_call_that_is_no_json_is_kept():
    assert written_call("tide(Skerry)") == "<tool_call>\ntide(Skerry)\n</tool_call>"


def test_blank_reasoning_leaves_no_empty_tags():
    assert think(" \n") == ""


def test_an_integer_too_long_to_print_does_not_fit():
    with pytest.raises(Misfit):
        text_of({"n": 10**5000})


def test_signatures_and_the_bytes_of_images_are_noise():
    parts = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "tool_result", "content": [{"type": "image", "source": {"data": "aW1n"}}]},
    ]
    assert noise_bytes(parts) == 8


def test_an_argument_named_like_noise_is_speech():
    assert noise_bytes([{"type": "tool_use", "name": "f", "input": {"data": "a,b"}}]) == 0


@pytest.mark.parametrize(
    "source",
    [
        {"type": "text", "media_type": "text/plain", "data": "high at six"},
        {"type": "content", "content": [{"type": "text", "text": "high at six"}]},
    ],
)
def test_a_document_that_comes_along_as_text_is_the_environments(source: dict[str, Any]):
    parts = [{"type": "text", "text": "when?"}, {"type": "document", "source": source}]
    assert turns_of(parts, "user") == [Turn("user", "when?"), Turn("env", "high at six")]
    assert noise_bytes(parts) == 0


def test_a_document_that_comes_along_as_bytes_says_nothing():
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    parts = [{"type": "document", "source": source}]
    assert turns_of(parts, "user") == []
    assert noise_bytes(parts) >= 8


def test_pages_that_a_search_found_are_the_environments():
    page = {"type": "web_search_result", "title": "Tides", "url": "https://tide.example"}
    found = {"type": "web_search_tool_result", "content": [page | {"encrypted_content": "x"}]}
    parts = [{"type": "text", "text": "I search."}, found, {"type": "text", "text": "Six."}]
    assert turns_of(parts, "assistant") == [
        Turn("assistant", "I search."),
        Turn("env", "Tides\nhttps://tide.example"),
        Turn("assistant", "Six."),
    ]

"""Plain text and finished documents."""

from typing import Any

import pytest

from tinyllm.documents import Turn
from tinyllm.formats import plain_text, preassembled, recognise


@pytest.mark.parametrize("key", ["text", "content"])
def test_a_string_without_a_speaker_is_a_plain_document(key: str):
    record = {"id": "1", "source": "web", "timestamp": "2025", key: "A tide table."}
    parsed = plain_text.parse(record)
    assert recognise(record) is plain_text
    assert parsed is not None
    assert parsed.turns == (Turn(None, "A tide table."),)
    assert parsed.decided == "no speaker"


@pytest.mark.parametrize(
    "record",
    [
        {"role": "narrator", "content": "n"},
        {"author": {"name": "a"}, "content": "a Discord message"},
        {"name": "a", "is_user": True, "mes": "m", "text": "t"},
        {"type": "user", "content": "a Gemini or Grok line"},
        {"type": "custom_message", "content": "injected", "parentId": "p"},
        {"type": "plugin.start", "content": None, "time": 1},
        {"observation": "run", "content": "an OpenHands observation"},
        {"instruction": "i", "output": None, "text": "both"},
        {"request": {}, "text": "t"},
        {"id": "1", "metadata": {}},
        {"message": "this"},
        {"conversation_id": "c", "rating": "thumbsUp", "content": "{}"},
    ],
)
def test_a_record_in_which_somebody_speaks_is_no_plain_text(record: dict[str, Any]):
    assert recognise(record) is not plain_text


@pytest.mark.parametrize("text", [None, 7, ["a", {"type": "link"}], {"a": "b"}])
def test_text_that_is_no_string_is_an_unknown_shape(text: object):
    assert plain_text.parse({"text": text}) is None


def test_an_empty_text_is_no_document():
    parsed = plain_text.parse({"text": " "})
    assert parsed is not None
    assert parsed.turns == ()


def test_a_finished_document_is_used_as_it_stands():
    record = {"doc": "<|user|>hi<|end|>\n"}
    parsed = preassembled.parse(record)
    assert recognise(record) is preassembled
    assert parsed is not None
    assert parsed.turns == (Turn(None, "<|user|>hi<|end|>\n"),)


def test_an_empty_finished_document_says_nothing():
    parsed = preassembled.parse({"doc": ""})
    assert parsed is not None
    assert parsed.turns == ()


@pytest.mark.parametrize("doc", [None, 7, ["a"], {"text": "a"}])
def test_a_finished_document_that_is_no_string_is_an_unknown_shape(doc: object):
    assert preassembled.parse({"doc": doc}) is None

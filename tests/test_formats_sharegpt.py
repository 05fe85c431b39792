"""ShareGPT conversations."""

from typing import Any

import pytest

from tinyllm.documents import Turn
from tinyllm.formats import recognise, sharegpt


def conversation(*said: tuple[str, Any]) -> dict[str, Any]:
    return {"id": "x", "conversations": [{"from": who, "value": text} for who, text in said]}


def turns(record: dict[str, Any]) -> tuple[Turn, ...]:
    assert recognise(record) is sharegpt
    parsed = sharegpt.parse(record)
    assert parsed is not None
    return parsed.turns


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("human", "user"),
        ("User", "user"),
        ("gpt", "assistant"),
        ("GPT", "assistant"),
        ("Assistant", "assistant"),
        ("model", "assistant"),
        ("chatgpt", "assistant"),
        ("bing", "assistant"),
        ("bard", "assistant"),
        ("System", "system"),
        ("observation", "env"),
        ("tool", "env"),
    ],
)
def test_speakers_are_known_in_any_letter_case(name: str, role: str):
    assert [turn.role for turn in turns(conversation((name, "x")))] == [role]


def test_a_conversation_may_start_with_the_model_and_repeat_a_speaker():
    said = turns(conversation(("gpt", "a\r\nb"), ("human", "c"), ("human", "d")))
    assert said == (Turn("assistant", "a\r\nb"), Turn("user", "c"), Turn("user", "d"))


def test_a_function_call_is_the_assistants_call():
    said = turns(conversation(("function_call", '{"name":"tide","arguments":{"port":1}}')))
    call = '<tool_call>\n{"name": "tide", "arguments": {"port": 1}}\n</tool_call>'
    assert said == (Turn("assistant", call),)


def test_role_and_content_may_stand_under_conversations():
    record = {
        "conversations": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]
    }
    assert turns(record) == (Turn("user", "u"), Turn("assistant", "a"))


def test_a_system_prompt_beside_the_conversation_comes_first():
    assert turns(conversation(("human", "u")) | {"system": "s"})[0] == Turn("system", "s")


def test_a_null_value_is_no_turn():
    assert turns(conversation(("human", None), ("gpt", "a"))) == (Turn("assistant", "a"),)


def test_an_unknown_speaker_makes_the_record_an_unknown_shape():
    assert sharegpt.parse(conversation(("human", "u"), ("chorus", "la"))) is None


@pytest.mark.parametrize(
    "record",
    [
        {"conversations": "text"},
        {"conversations": ["text"]},
        {"conversations": [{"human": "u", "assistant": "a"}]},
        {"conversations": [{"from": "human", "value": "u"}], "chosen": {}, "rejected": {}},
    ],
)
def test_other_records_with_conversations_are_not_taken_for_sharegpt(record: dict[str, Any]):
    assert recognise(record) is None

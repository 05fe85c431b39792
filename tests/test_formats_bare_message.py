"""Messages that are records of their own."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyllm.documents import Turn
from tinyllm.formats import bare_message, recognise
from tinyllm.formats.parsed import Parsed

TIME = "2025-04-05T09:00:01Z"


def parsed(**record: Any) -> Parsed:
    assert recognise(record) is bare_message
    result = bare_message.parse(record)
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("record", "turn"),
    [
        ({"role": "user", "content": "Wind?", "closed": None}, Turn("user", "Wind?")),
        ({"role": "assistant", "content": "NE"}, Turn("assistant", "NE")),
        ({"role": "System", "content": "Be dry."}, Turn("system", "Be dry.")),
        ({"role": "tool", "content": "NE 5", "tool_call_id": "c"}, Turn("env", "NE 5")),
        ({"sender": "human", "text": "Wind?"}, Turn("user", "Wind?")),
        ({"author": "bot", "message": "NE"}, Turn("assistant", "NE")),
        ({"from": "gpt", "value": "NE"}, Turn("assistant", "NE")),
        (
            {"role": "user", "content": [{"type": "text", "text": "Wind?"}, {"type": "image"}]},
            Turn("user", "Wind?"),
        ),
    ],
)
def test_a_record_may_be_a_message(record: dict[str, Any], turn: Turn):
    assert parsed(**record).turns == (turn,)


def test_calls_beside_no_content_are_the_assistants():
    call = {"function": {"name": "tide", "arguments": "{}"}}
    turns = parsed(role="assistant", content=None, tool_calls=[call]).turns
    assert [turn.role for turn in turns] == ["assistant"]
    assert "tide" in turns[0].text


def test_the_messages_of_a_file_are_one_conversation_unless_they_name_theirs():
    first, second = parsed(role="user", content="a"), parsed(role="assistant", content="b")
    assert first.thread == second.thread == ""
    named = [parsed(role="user", content="a", session_id=name) for name in ("s1", "s2", "s1")]
    assert named[0].thread == named[2].thread
    assert len({first.thread, *(message.thread for message in named)}) == 3


def test_a_time_cuts_a_humans_chat_but_not_an_agents_session():
    assert parsed(role="user", content="Wind?", timestamp=1741673681).time == 1741673681
    assert parsed(role="user", content="Wind?").time is None
    call = {"function": {"name": "tide", "arguments": "{}"}}
    assert parsed(role="assistant", content="", tool_calls=[call], timestamp=TIME).time is None
    assert parsed(role="tool", content="NE", timestamp=TIME).time is None


def test_a_message_with_its_own_time_is_known_by_it():
    message = {"role": "user", "content": "Wind?", "timestamp": TIME}
    assert parsed(**message).identity == parsed(**message, read=True, id="2").identity
    for change in ({"content": "Rain?"}, {"role": "assistant"}, {"timestamp": TIME[:-2] + "2Z"}):
        assert parsed(**message).identity != parsed(**message | change).identity


@pytest.mark.parametrize("when", [None, "2025-04-05", "2025-04-05 09:00", 7, True, [1]])
def test_what_other_messages_share_is_no_identity(when: object):
    assert parsed(role="user", content="ok", timestamp=when, id=1).identity is None


@pytest.mark.parametrize(
    "record",
    [
        {"role": "narrator", "content": "x"},
        {"role": None, "content": "x"},
        {"role": "user"},
        {"role": "user", "content": 7},
        {"sender": "human", "text": ["Wind?"]},
        {"author": {"name": "a"}, "content": "x"},
        {"from": "Bram", "value": "x"},
    ],
)
def test_other_records_are_not_taken_for_messages(record: dict[str, Any]):
    assert recognise(record) is None
    assert bare_message.parse(record) is None


@given(
    record=st.dictionaries(
        st.sampled_from(["role", "sender", "content", "text", "timestamp", "session_id", "name"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=3)
        | st.sampled_from(["user", "tool", TIME])
        | st.lists(st.none() | st.dictionaries(st.just("text"), st.text(max_size=2)), max_size=2),
        max_size=5,
    )
)
@settings(max_examples=200)
def test_any_values_are_parsed_or_unknown_but_never_an_error(record: dict[str, Any]):
    assert isinstance(bare_message.recognise(record), bool)
    result = bare_message.parse(record)
    assert result is None or isinstance(result, Parsed)

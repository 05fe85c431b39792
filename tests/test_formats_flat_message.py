"""Messengers' logs of one message a record."""

from typing import Any

import pytest

from tinyllm.documents import Turn
from tinyllm.formats import flat_message, recognise
from tinyllm.formats.flat_message import epoch_seconds
from tinyllm.formats.parsed import Parsed


def parsed(**record: Any) -> Parsed:
    assert recognise(record) is flat_message
    result = flat_message.parse(record)
    assert result is not None
    return result


@pytest.mark.parametrize(("direction", "role"), [("in", "user"), ("OUT", "assistant")])
def test_the_direction_tells_who_speaks(direction: str, role: str):
    message = parsed(direction=direction, text="Wind?", ts=1.0)
    assert [turn.role for turn in message.turns] == [role]


def test_without_a_direction_the_senders_name_tells_who_speaks():
    assert parsed(**{"from": "Bram"}, ts=1, text="Wind?").turns == (Turn("user", "Wind?", "Bram"),)
    assert parsed(**{"from": "Bot"}, ts=1, text="NE").turns == (Turn("assistant", "NE", "Bot"),)


def test_a_message_written_again_with_a_read_flag_is_the_same_message():
    message = {"direction": "in", "from": "Bram", "text": "Wind?", "ts": 1.0}
    assert parsed(**message).identity == parsed(**message, read=True).identity


@pytest.mark.parametrize("change", [{"text": "Rain?"}, {"ts": 2.0}, {"direction": "out"}])
def test_another_message_has_another_identity(change: dict[str, Any]):
    message = {"direction": "in", "from": "Bram", "text": "Wind?", "ts": 1.0}
    assert parsed(**message).identity != parsed(**message | change).identity


def test_the_senders_name_is_told_with_the_turn():
    message = parsed(direction="out", text="NE", ts=1, **{"from": "Odalys"})
    assert message.turns == (Turn("assistant", "NE", "Odalys"),)
    assert parsed(direction="out", text="NE", ts=1, **{"from": 7}).turns[0].speaker == ""


def test_a_number_names_a_message_within_its_chat_only():
    assert parsed(direction="in", text="Wind?", id=1).identity is None
    first = parsed(direction="in", text="Wind?", id=1, chat_id=7)
    assert first.identity == parsed(direction="in", text="Wind?", id=1, chat_id=7).identity
    assert first.identity != parsed(direction="in", text="Wind?", id=1, chat_id=8).identity


def test_equal_messages_without_a_time_are_not_taken_for_one():
    assert parsed(direction="in", text="Wind?").identity is None


def test_messages_of_a_file_are_one_thread_unless_they_name_their_chat():
    first = parsed(direction="in", text="a", **{"from": "Bram"})
    assert first.thread is not None
    assert first.thread == parsed(direction="in", text="b", **{"from": "Teo"}).thread
    assert first.thread != parsed(direction="in", text="b", chat_id=7).thread


@pytest.mark.parametrize(
    "value",
    [
        1741673681,
        1741673681000,
        "1741673681",
        "2025-03-11T06:14:41Z",
        "2025-03-11T06:14:41",
        "2025-03-11T08:14:41+02:00",
    ],
)
def test_times_are_read_as_seconds_milliseconds_or_iso_8601(value: object):
    assert epoch_seconds(value) == 1741673681


@pytest.mark.parametrize("value", [None, True, "soon", "nan", float("inf"), 10**400, [1]])
def test_what_is_no_time_is_none(value: object):
    assert epoch_seconds(value) is None


@pytest.mark.parametrize(
    "record",
    [
        {"direction": "in", "text": None},
        {"direction": "up", "text": "a"},
        {"direction": 1, "text": "a"},
    ],
)
def test_values_that_do_not_fit_make_an_unknown_shape(record: dict[str, Any]):
    assert flat_message.parse(record) is None

"""One JSON object too large to hold, read as many small ones."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyllm.reading import records as reading
from tinyllm.reading.inputs import find_files
from tinyllm.reading.long_objects import LongObject
from tinyllm.reading.records import Record, records


def split(raw: bytes, width: int = 7, limit: int = 1 << 20) -> tuple[list[Any], list[int]]:
    """The small objects of a long one that comes in chunks, and the bytes of each, rest last."""
    whole = LongObject(limit)
    found = [part for at in range(0, len(raw), width) for part in whole.feed(raw[at : at + width])]
    values = [None if value is None else json.loads(value) for value, _ in found]
    return values, [*(size for _, size in found), whole.rest]


def test_each_message_comes_with_what_stands_before_its_list():
    chat = {
        "name": "A",
        "id": 1,
        "messages": [{"text": "[1"}, {"text": ["x", {"b": '"}'}]}],
        "z": 2,
    }
    values, sizes = split(json.dumps(chat, indent=1).encode())
    assert values == [{"name": "A", "id": 1, "messages": [message]} for message in chat["messages"]]
    assert sum(sizes) == len(json.dumps(chat, indent=1))


def test_every_chat_of_an_export_keeps_its_own_fields():
    chats = [
        {"name": name, "messages": [{"id": n, "text": f"{name}{n}"} for n in range(count)]}
        for name, count in (("A", 2), ("B", 0), ("C", 1))
    ]
    export = {"about": "\\", "contacts": {"list": [{"phone": 1}]}, "chats": {"list": chats}}
    values, _ = split(json.dumps(export).encode())
    assert [value["chats"]["list"] for value in values] == [
        [{"name": name, "messages": [{"id": n, "text": f"{name}{n}"}]}]
        for name, n in (("A", 0), ("A", 1), ("C", 0))
    ]


def test_what_is_too_long_is_passed_over_and_the_rest_read():
    chat = {"messages": [{"text": "a"}, {"text": "x" * 500}, {"text": "b"}]}
    values, sizes = split(json.dumps(chat).encode(), limit=100)
    assert values == [{"messages": [{"text": "a"}]}, None, {"messages": [{"text": "b"}]}]
    assert sizes[1] > 500


def test_large_fields_before_a_list_are_not_repeated_with_each_message():
    chat = {"members": [{"n": n} for n in range(2000)], "messages": [{"text": "a"}]}
    assert split(json.dumps(chat).encode())[0] == [{"members": [], "messages": [{"text": "a"}]}]


json_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from("abc"), json_values),
    st.lists(st.dictionaries(st.text(max_size=3), json_values), max_size=4),
    st.integers(1, 40),
    st.sampled_from([None, 1]),
)
def test_any_object_gives_back_its_messages(fields, messages, width, indent):
    raw = json.dumps({**fields, "messages": messages}, indent=indent).encode()
    values, sizes = split(raw, width)
    assert values == [{**fields, "messages": [message]} for message in messages]
    assert sum(sizes) == len(raw)


@given(st.binary(max_size=60), st.integers(1, 9))
def test_no_bytes_are_an_error_or_lost(raw, width):
    whole = LongObject(30)
    sizes = [
        size for at in range(0, len(raw), width) for _, size in whole.feed(raw[at : at + width])
    ]
    assert sum(sizes) + whole.rest == len(raw)


def read(path, raw: bytes) -> list[Record]:
    path.write_bytes(raw)
    found = list(records(find_files([path])[0]))
    assert sum(record.size for record in found) == len(raw)
    return found


@pytest.mark.parametrize("indent", [None, 1])
def test_a_file_of_one_long_object_is_read_message_by_message(tmp_path, monkeypatch, indent):
    monkeypatch.setattr(reading, "RECORD_BYTES", 1 << 17)
    chat = {"name": "A", "messages": [{"id": n, "text": "word " * 9} for n in range(3000)]}
    found = read(tmp_path / "result.json", json.dumps(chat, indent=indent).encode())
    values = [record.value for record in found if not record.fate]
    assert [value["messages"][0]["id"] for value in values] == list(range(3000))
    assert [record.fate for record in found if record.fate] == ["markup"]


def test_a_long_object_that_is_cut_is_unreadable_from_there(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "RECORD_BYTES", 1 << 17)
    chat = json.dumps({"messages": [{"text": "word " * 9} for _ in range(3000)]}).encode()
    found = read(tmp_path / "result.json", chat[:-30])
    assert (found[-1].fate, found[-1].detail) == ("unreadable", "cut line")
    assert len(found) == 3000

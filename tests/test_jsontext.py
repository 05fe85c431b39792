"""Decoding of lines that real programs left behind, and bounds of values."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyllm.reading.jsontext import Boundaries, decode_line

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def values(line: bytes) -> list[object]:
    return [piece.value for piece in decode_line(line) if not piece.fault]


def faults(line: bytes) -> list[str]:
    return [piece.fault for piece in decode_line(line) if piece.fault]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"a": 1}\r', [{"a": 1}]),
        (b'\xef\xbb\xbf{"a": 1}', [{"a": 1}]),
        (b'{"a": 1}{"b": 2} {"c": 3}', [{"a": 1}, {"b": 2}, {"c": 3}]),
        (b'{"a": 1},', [{"a": 1}]),
        (b'{"a": "tab\tinside"}', [{"a": "tab\tinside"}]),
        (b'{"a": "\\ud800"}', [{"a": "\ud800"}]),
        (b'{"a": 1, "a": 2}', [{"a": 2}]),
        (b"42", [42]),
        (b'"doc"', ["doc"]),
        (b"[1]", [[1]]),
        (b"null", [None]),
        (b'\0\0{"a": 1}\0', [{"a": 1}]),
        (b'{"cut": "of\0\0{"b": 2}', [{"b": 2}]),
    ],
)
def test_values_are_found_in_odd_lines(line, expected):
    assert values(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"", ["blank"]),
        (b" \r", ["blank"]),
        (b"\0\0\0", ["NUL bytes"]),
        (b'{"messages": [{"role": "a', ["cut line"]),
        (b'{"a": ', ["cut line"]),
        (b"prose", ["not JSON"]),
        (b"42 monkeys", ["not JSON"]),
        (b'{"a": 1} and prose', ["not JSON"]),
        (b"[" * 100_000, ["nested too deeply"]),
    ],
)
def test_damage_has_a_name(line, expected):
    assert faults(line) == expected


def test_bytes_that_are_no_utf8_are_kept_for_cleaning():
    (piece,) = decode_line(b'{"text": "caf\xe9"}')
    assert piece.value == {"text": "caf\udce9"}


def test_an_integer_of_thousands_of_digits_does_not_stop_the_record():
    (value,) = values(b'{"text": "big", "id": ' + b"9" * 5000 + b"}")
    assert value["text"] == "big"


@given(st.binary(max_size=80))
def test_pieces_add_up_to_the_line_whatever_its_bytes(line):
    assert sum(piece.size for piece in decode_line(line)) == len(line)


@given(st.lists(json_values.filter(lambda v: isinstance(v, dict | list)), min_size=1, max_size=3))
def test_glued_values_come_apart_again(glued):
    line = "".join(json.dumps(value, ensure_ascii=False) for value in glued).encode(
        "utf-8", "surrogatepass"
    )
    pieces = decode_line(line)
    assert sum(piece.size for piece in pieces) == len(line)
    if len(glued) > 1:
        assert len(pieces) == len(glued)


@given(st.lists(json_values, max_size=5), st.integers(1, 7), st.sampled_from([None, 1]))
def test_the_end_of_every_array_member_is_found_in_chunks_of_any_size(members, step, indent):
    text = json.dumps(members, indent=indent).encode()
    bounds = Boundaries()
    ends = [
        at + end for at in range(0, len(text), step) for end in bounds.feed(text[at : at + step])
    ]
    spans = [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    found = [span.strip(b" \n").rstrip(b",").strip() for span in spans]
    assert b"".join(text[a:b] for a, b in zip([0, *ends], ends, strict=False)) == text
    containers = [json.loads(f) for f in found if f[:1] in (b"{", b"[") and f != b"["]
    assert containers == [member for member in members if isinstance(member, dict | list)]


def test_a_bracket_inside_a_string_is_text():
    text = b'{"a": "}\\"]"}{"b": 1}'
    assert list(Boundaries().feed(text)) == [13, len(text)]

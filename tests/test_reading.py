"""Files to records, byte for byte."""

import gzip
import json

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tinyllm.reading import records as reading
from tinyllm.reading.inputs import find_files
from tinyllm.reading.records import records, split_lines


def read(path, raw: bytes) -> list[reading.Record]:
    path.write_bytes(raw)
    return list(records(find_files([path])[0]))


def values(found: list[reading.Record]) -> list[object]:
    return [record.value for record in found if not record.fate]


A, B = {"text": "one"}, {"text": "two"}
LINES = b'{"text": "one"}\n{"text": "two"}\n'
ARRAY = b'[{"text": "one"}, {"text": "two"}]'


@pytest.mark.parametrize(
    "raw",
    [
        LINES,
        LINES.rstrip(),
        LINES.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + LINES,
        b"\n\n" + LINES,
        b'{"text": "one"}{"text": "two"}\n',
        ARRAY,
        ARRAY + b"\n",
        b'[{"text": "one"},\n{"text": "two"}\n]',
        b"\xef\xbb\xbf" + json.dumps([A, B], indent=2).encode(),
        json.dumps(A, indent=1).encode() + b"\n" + json.dumps(B, indent=1).encode(),
        gzip.compress(LINES),
        gzip.compress(ARRAY),
        zstandard.compress(LINES),
    ],
)
@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.txt", "x.log", "x", "x.jsonl.gz"])
def test_records_are_found_in_every_layout_under_any_name(tmp_path, name, raw):
    assert values(read(tmp_path / name, raw)) == [A, B]


def test_one_document_spread_over_lines_is_one_record(tmp_path):
    value = {"info": {"n": [1, 2]}, "messages": [{"role": "user", "content": "a\nb"}]}
    found = read(tmp_path / "x.json", json.dumps(value, indent=2).encode())
    assert values(found) == [value]


def test_a_line_that_is_a_list_is_one_record(tmp_path):
    assert values(read(tmp_path / "x.jsonl", b'[1]\n{"a": 2}\n')) == [[1], {"a": 2}]


def test_records_carry_the_line_they_begin_in(tmp_path):
    lines = read(tmp_path / "x.jsonl", b'{"a": 1}\n\n{"a": 2}{"a": 3}\n')
    assert [record.line for record in lines if not record.fate] == [1, 3, 3]
    pretty = read(tmp_path / "x.json", json.dumps([{"a": 1}, {"a": 2}], indent=1).encode())
    assert [record.line for record in pretty if not record.fate] == [2, 5]


@pytest.mark.parametrize("name", ["x.txt", "x.md"])
def test_a_text_file_is_one_plain_document(tmp_path, name):
    assert values(read(tmp_path / name, b"# Title\n\n{ prose }\n")) == [
        {"text": "# Title\n\n{ prose }\n"}
    ]


def test_a_page_about_json_is_prose(tmp_path):
    page = b'{"text": "one"}\nis a record.\n'
    assert values(read(tmp_path / "x.md", page)) == [{"text": page.decode()}]


@pytest.mark.parametrize(
    ("name", "raw"),
    [("x.png", b"\x89PNG\r\n"), ("x.py", b"import json\n"), ("x.txt", b"\0\1\2")],
)
def test_files_of_other_kinds_are_no_logs(tmp_path, name, raw):
    (record,) = read(tmp_path / name, raw)
    assert (record.fate, record.size, record.detail) == ("not a log", len(raw), f".{name[2:]}")


def test_prose_in_a_jsonl_file_is_damage(tmp_path):
    (record,) = read(tmp_path / "x.jsonl", b"once upon a time\n")
    assert (record.fate, record.detail) == ("unreadable", "not JSON")


def test_line_separators_of_unicode_are_text(tmp_path):
    text = "page one\u2028page two\u2029end\x85tail\x0c"
    raw = json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"
    assert values(read(tmp_path / "x.jsonl", raw * 2)) == [{"text": text}] * 2


def test_a_cut_last_line_is_counted_not_fatal(tmp_path):
    found = read(tmp_path / "x.jsonl", LINES + b'{"text": "thr')
    assert values(found) == [A, B]
    assert (found[-1].fate, found[-1].size, found[-1].line) == ("unreadable", 13, 3)


def test_a_cut_first_line_does_not_swallow_the_rest(tmp_path):
    found = read(tmp_path / "x.jsonl", b'{"messages": [\n' + LINES)
    assert values(found) == [A, B]


def test_a_cut_array_gives_its_whole_members(tmp_path):
    found = read(tmp_path / "x.json", b'[{"text": "one"}, {"text": "two"}, {"te')
    assert values(found) == [A, B]
    assert found[-1].detail == "cut line"


def test_a_broken_member_of_an_array_costs_only_itself(tmp_path):
    found = read(tmp_path / "x.json", b'[{"text": "one"}, {"text": nope}, {"text": "two"}]')
    assert values(found) == [A, B]


def test_a_record_above_the_limit_is_counted_and_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "RECORD_BYTES", 1000)
    long = json.dumps({"text": "x" * 5000}).encode()
    for raw in (LINES + long + b"\n" + LINES, b"[" + b",\n".join([ARRAY[1:16], long]) + b"]"):
        found = read(tmp_path / "x.json", raw)
        assert A in values(found)
        assert [record.fate for record in found].count("unreadable") == 1
        assert sum(record.size for record in found) == len(raw)


def test_a_long_text_file_is_cut_at_the_end_of_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "RECORD_BYTES", 1000)
    raw = b"a line of text\n" * 100
    found = read(tmp_path / "x.txt", raw)
    assert len(found) == 2
    assert "".join(record.value["text"] for record in found).encode() == raw
    assert found[0].value["text"].endswith("\n")


def test_a_growing_text_file_ends_at_its_last_whole_line(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"whole\nhal")
    (file,) = find_files([path])
    path.write_bytes(b"whole\nhalf a line\n")
    found = list(records(file))
    assert values(found) == [{"text": "whole\n"}]
    assert (found[-1].fate, found[-1].size) == ("unreadable", 3)


def test_parquet_rows_are_records(tmp_path):
    rows = [{"text": f"row {n}", "n": n, "messages": [{"role": "user"}]} for n in range(200)]
    path = tmp_path / "misnamed.txt"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=50)
    found = list(records(find_files([path])[0]))
    assert values(found) == rows
    assert [record.line for record in found] == list(range(1, 201))


@pytest.mark.parametrize("keep", [4, 300, -20])
def test_a_damaged_parquet_file_is_lost_not_fatal(tmp_path, keep):
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a" * 100] * 50}), path)
    (*_, last) = read(path, path.read_bytes()[:keep])
    assert last.lost
    assert last.detail.startswith("damaged parquet")


def test_a_file_that_can_not_be_read_is_lost_with_its_size(tmp_path):
    file = reading.InputFile(str(tmp_path / "x"), 7, 0, fault="permission denied")
    (record,) = records(file)
    assert (record.fate, record.size, record.detail, record.lost) == (
        "unreadable",
        7,
        "permission denied",
        True,
    )


@given(st.lists(st.binary(max_size=12), max_size=8), st.integers(1, 10))
def test_lines_are_split_alike_in_chunks_of_any_size(parts, step):
    raw = b"\n".join(parts)
    chunks = (raw[at : at + step] for at in range(0, len(raw), step))
    found = list(split_lines(chunks, 10**6))
    assert sum(size for _, size in found) == len(raw)
    whole = raw.split(b"\n")
    assert [line for line, _ in found] == (whole if whole[-1] else whole[:-1])


pieces = st.sampled_from(
    [
        b'{"text": "one"}',
        b'{"messages": [{"role": "user", "content": "hi"}]}',
        b'{\n "a": [1,\n 2]\n}',
        b"[", b"]", b",", b"{", b"}", b'"', b"\\", b"\n", b"\r\n", b"\0\0", b"\xff",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf", b"\xff\xfe", b"null", b"42", b"\xe2\x80\xa8", b"\x1f\x8b", b"PAR1",
        b"\x28\xb5\x2f\xfd", gzip.compress(LINES), zstandard.compress(LINES),
    ]
)  # fmt: skip


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    raw=st.lists(pieces | st.binary(max_size=6), max_size=12).map(b"".join),
    name=st.sampled_from(["x.jsonl", "x.json", "x.txt", "x.bin", "x.gz"]),
)
def test_no_bytes_crash_the_reader_and_none_go_missing(tmp_path, raw, name):
    found = read(tmp_path / name, raw)
    packed = raw.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"\xff\xfe"))
    if not packed:
        assert sum(record.size for record in found) == len(raw)
    assert sum(record.size for record in found if record.lost) <= len(raw)

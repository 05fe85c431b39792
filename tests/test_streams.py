"""Content of compressed, re-encoded and damaged files."""

import gzip

import pytest
import zstandard

from tinyllm.reading import streams
from tinyllm.reading.inputs import find_files
from tinyllm.reading.streams import Content

TEXT = b'{"text": "one"}\n{"text": "two"}\n'


def read(path, raw: bytes) -> tuple[bytes, Content]:
    path.write_bytes(raw)
    content = Content(find_files([path])[0])
    return b"".join(content), content


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


SKIPPABLE_FRAME = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"


@pytest.mark.parametrize(
    "raw",
    [
        TEXT,
        gzip.compress(TEXT),
        gzip.compress(TEXT[:10]) + gzip.compress(TEXT[10:]),
        gzip.compress(TEXT) + bytes(512),
        zstd(TEXT),
        zstd(TEXT[:10]) + zstd(TEXT[10:]),
        SKIPPABLE_FRAME + zstd(TEXT),
        b"\xff\xfe" + TEXT.decode().encode("utf-16-le"),
        b"\xfe\xff" + TEXT.decode().encode("utf-16-be"),
    ],
    ids=[
        "plain",
        "gzip",
        "gzip of two members",
        "gzip padded with zeros",
        "zstd",
        "zstd of two frames",
        "zstd behind a skippable frame",
        "utf-16 little-endian",
        "utf-16 big-endian",
    ],
)
def test_content_is_unpacked_whatever_the_name(tmp_path, raw):
    data, content = read(tmp_path / "x.jsonl", raw)
    assert data.removeprefix(b"\xef\xbb\xbf") == TEXT
    assert (content.fault, content.lost) == ("", 0)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_compressed_data_that_ends_early_is_a_fault(tmp_path, pack):
    data, content = read(tmp_path / "x", pack(TEXT)[:-3])
    assert content.fault == "compressed data ends early"
    assert TEXT.startswith(data)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_bytes_behind_compressed_data_are_lost_and_said(tmp_path, pack):
    data, content = read(tmp_path / "x", pack(TEXT) + b"garbage")
    assert data == TEXT
    assert (content.fault, content.lost) == ("damaged compressed data", 7)


def test_reading_stops_at_the_size_that_was_listed(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(TEXT)
    (file,) = find_files([path])
    path.write_bytes(TEXT + b"more")
    content = Content(file)
    assert b"".join(content) == TEXT
    assert content.grew


def test_a_file_that_shrank_or_went_has_lost_bytes(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(TEXT)
    (file,) = find_files([path])
    path.write_bytes(TEXT[:5])
    shrunk = Content(file)
    assert b"".join(shrunk) == TEXT[:5]
    assert shrunk.lost == len(TEXT) - 5
    path.unlink()
    gone = Content(file)
    assert b"".join(gone) == b""
    assert (gone.lost, gone.fault) == (len(TEXT), "no such file or directory")


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_bomb_comes_out_in_small_pieces(tmp_path, pack):
    path = tmp_path / "x"
    path.write_bytes(pack(bytes(200_000_000)))
    sizes = [len(chunk) for chunk in Content(find_files([path])[0])]
    assert sum(sizes) == 200_000_000
    assert max(sizes) <= streams.CHUNK_BYTES


def test_each_read_is_reported(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(3_000_000))
    told: list[int] = []
    list(Content(find_files([path])[0], told.append))
    assert sum(told) == 3_000_000
    assert len(told) == 3


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_progress_is_told_while_a_bomb_lasts(tmp_path, pack):
    path = tmp_path / "x"
    path.write_bytes(pack(bytes(200_000_000)))
    told: list[int] = []
    list(Content(find_files([path])[0], told.append))
    assert sum(told) == path.stat().st_size
    assert told.count(0) >= 190


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_what_unpacks_without_end_is_left_at_its_limit(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(streams, "_BOMB_BYTES", 1 << 16)
    monkeypatch.setattr(streams, "_BOMB_RATIO", 20)
    monkeypatch.setattr(streams, "_PIECE_BYTES", 64)
    data, content = read(tmp_path / "x.gz", pack(TEXT) + pack(b"\n" * (64 << 20)) + pack(TEXT))
    assert data.startswith(TEXT)
    assert "times its size" in content.fault
    assert 0 < content.lost < (tmp_path / "x.gz").stat().st_size


def test_a_log_that_packs_well_is_no_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_BOMB_BYTES", 1 << 30)
    data, content = read(tmp_path / "x.zst", zstd(TEXT * 100_000))
    assert (len(data), content.fault) == (len(TEXT) * 100_000, "")

"""A corpus as a whole: files to documents, strictness, progress, memory."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tinyllm.corpus import Corpus, NothingKept
from tinyllm.errors import UserError
from tinyllm.ledger_page import page
from tinyllm.scopes import SCOPES


def chat(*texts: str) -> bytes:
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return json.dumps({"messages": messages}).encode() + b"\n"


def write(path: Path, raw: bytes) -> Path:
    path.write_bytes(raw)
    return path


def read(corpus: Corpus) -> list[str]:
    """Every document as text, once the ledger is known to sum to the files."""
    documents = [document.render() for document in corpus]
    check_sum(corpus)
    return documents


def check_sum(corpus: Corpus) -> None:
    size = sum(file.size for file in corpus.files)
    assert sum(tally.bytes for tally in corpus.ledger.fates.values()) == size
    assert corpus.ledger.bytes == size


def test_documents_come_in_the_order_of_files_and_lines(tmp_path):
    write(tmp_path / "b.jsonl", chat("3", "c") + chat("4", "d"))
    write(tmp_path / "a.jsonl", chat("1", "a") + chat("2", "b"))
    documents = read(Corpus([tmp_path / "b.jsonl", tmp_path], "assistant"))
    assert documents == [f"<|assistant|>{letter}<|end|>" for letter in "abcd"]


def test_every_readable_row_of_a_broken_folder_is_used(tmp_path):
    write(tmp_path / "bom.jsonl", b"\xef\xbb\xbf" + chat("bom", "1").replace(b"\n", b"\r\n"))
    write(tmp_path / "cut.jsonl", chat("cut", "2") + chat("gone", "x")[:20])
    write(tmp_path / "nul.jsonl", bytes(64) + b"\n" + chat("nul", "3"))
    write(tmp_path / "surrogate.jsonl", chat("s", "4").replace(b'"s"', b'"\\ud800"'))
    write(tmp_path / "list.jsonl", b"[1]\n42\n" + chat("list", "5"))
    write(tmp_path / "packed.jsonl.gz", gzip.compress(chat("gz", "6")))
    write(tmp_path / "empty.jsonl", b"")
    write(tmp_path / "photo.png", b"\x89PNG\r\n\x1a\n")
    corpus = Corpus([tmp_path], "assistant")
    assert len(read(corpus)) == 6
    fates = corpus.ledger.fates
    assert (fates["unreadable"].records, fates["unknown shape"].records) == (2, 2)
    assert fates["unreadable"].details["cut line"].first == f"{tmp_path}/cut.jsonl:2"
    assert fates["not a log"].details[".png"].bytes == 8


def test_a_file_being_appended_to_ends_at_its_last_whole_line(tmp_path):
    path = write(tmp_path / "a.jsonl", chat("1", "a") + chat("2", "b")[:10])
    corpus = Corpus([path], "full")
    with path.open("ab") as stream:
        stream.write(chat("2", "b")[10:] + chat("3", "c"))
    assert len(read(corpus)) == 1
    assert corpus.ledger.fates["unreadable"].bytes == 10


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"messages": [{"ro', "a.jsonl:2 is unreadable: cut line"),
        (b'{"odd": 1}\n', "a.jsonl:2 is of unknown shape: {odd}"),
    ],
)
def test_strict_refuses_the_first_loss_at_once(tmp_path, line, words):
    write(tmp_path / "a.jsonl", chat("1", "a") + line)
    write(tmp_path / "b.jsonl", chat("2", "b"))
    corpus = Corpus([tmp_path], "full", strict=True)
    seen = []
    with pytest.raises(UserError, match=words):
        seen += [document.source for document in corpus]
    assert not [source for source in seen if "b.jsonl" in source]


def test_strict_lets_images_and_blank_lines_be(tmp_path):
    write(tmp_path / "a.jsonl", b"\n" + chat("1", "a"))
    write(tmp_path / "b.png", b"\x89PNG\r\n")
    assert len(read(Corpus([tmp_path], "full", strict=True))) == 1


def test_a_scope_that_keeps_nothing_says_what_was_seen_and_what_would_keep_some(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"text": "prose"}\n{"text": "more"}\n{"odd": 1}\n')
    corpus = Corpus([path], "assistant")
    with pytest.raises(NothingKept) as caught:
        list(corpus)
    message = str(caught.value)
    for words in (str(path), "1 file", "3 records", "0 documents", "2 out of scope"):
        assert words in message
    assert "voice (2 documents), --scope full (2 documents)" in message
    check_sum(corpus)


def test_files_without_any_speech_say_that_no_scope_helps(tmp_path):
    write(tmp_path / "a.png", b"\x89PNG\r\n")
    with pytest.raises(NothingKept, match="no scope would keep any"):
        list(Corpus([tmp_path], "voice"))


@pytest.mark.parametrize(
    ("scope", "relabel"), [("vioce", ()), ("voice", ("x.user=env",)), ("voice", ("*.bot=env",))]
)
def test_a_wrong_scope_or_rule_is_refused_before_reading(tmp_path, scope, relabel):
    write(tmp_path / "a.jsonl", chat("1", "a"))
    with pytest.raises(UserError):
        Corpus([tmp_path], scope, relabel=relabel)


def test_progress_passes_what_damage_leaves_unread(tmp_path):
    write(tmp_path / "a.jsonl.gz", gzip.compress(chat("q", "a")) + b"garbage" * 10_000)
    told: list[int] = []
    list(Corpus([tmp_path], "full", progress=lambda done, _: told.append(done)))
    assert told[-1] == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_progress_ends_at_the_size_of_all_files(tmp_path):
    write(tmp_path / "a.jsonl", chat("1", "a") * 20_000)
    write(tmp_path / "b.jsonl.gz", gzip.compress(chat("2", "b")))
    write(tmp_path / ".hidden", b"123")
    told: list[tuple[int, int]] = []
    corpus = Corpus([tmp_path], "full", progress=lambda done, total: told.append((done, total)))
    read(corpus)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {total for _, total in told} == {told[-1][0]} == {corpus.ledger.bytes}


records = st.sampled_from(
    [
        chat("hi", "hello"),
        chat("é" * 9, "\u2028"),
        b'{"text": "prose"}\n',
        b'{"odd": [1, {"b": null}]}\n',
        b'{"messages": null}\n',
        b'{"messages": [{"role": 5, "content": {"a": []}}]}\n',
        b'{"conversations": [{"from": null, "value": 3}]}\n',
        b'{"turns": [{"output": 4}], "scratchpad": []}\n',
        b'{"type": "user", "uuid": 3, "sessionId": null, "message": {"content": [[]]}}\n',
        b'{"text": "caf\xe9", "direction": "in", "ts": "x"}\n',
        b'{"doc": ""}\n',
        b'{"text": {"a": "\\ud800"}}\n',
        b"{" * 300 + b"\n",
        b'{"messages": [{"role": "user", "content": ' + b"[" * 900 + b"]" * 900 + b"}]}\n",
        b'{"doc": ' + b'{"a":' * 990 + b"1" + b"}" * 991 + b"\n",
        b"[" * 100_000,
        b"\0\0\0",
        b"\n",
    ]
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(records | st.binary(max_size=5), max_size=8),
    pack=st.sampled_from([bytes, gzip.compress, lambda raw: gzip.compress(raw)[:-9]]),
    scope=st.sampled_from(SCOPES),
)
def test_no_file_crashes_the_corpus_and_the_ledger_sums_to_its_size(tmp_path, parts, pack, scope):
    path = write(tmp_path / "a.jsonl", pack(b"".join(parts)))
    corpus = Corpus([path], scope)
    try:
        list(corpus)
    except NothingKept:
        assert not corpus.ledger.documents
    check_sum(corpus)
    page(corpus.ledger, "voice").encode()


# Not `ru_maxrss`: Linux hands the peak of the process that forks on to its child.
PROCESS_STATUS = Path("/proc/self/status")
MEMORY_PROGRAM = f"""
import sys
from tinyllm.corpus import Corpus
count = sum(1 for _ in Corpus(sys.argv[1:], "voice"))
peak = next(line for line in open("{PROCESS_STATUS}") if line.startswith("VmHWM:"))
print(count, int(peak.split()[1]) // 1024)
"""
needs_status = pytest.mark.skipif(
    not PROCESS_STATUS.exists(), reason=f"reads a process's own peak from {PROCESS_STATUS}"
)


def documents_and_peak(path: Path) -> tuple[int, int]:
    """Documents kept, and peak memory in MiB, of a process that reads one file."""
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", MEMORY_PROGRAM, str(path)]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    documents, peak = map(int, ran.stdout.split())
    return documents, peak


@needs_status
@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(tmp_path):
    def lines(count: int) -> bytes:
        return b"".join(chat(f"question {n}", f"answer {n} " * 200) for n in range(count))

    small = documents_and_peak(write(tmp_path / "small.jsonl", lines(1_000)))
    large = documents_and_peak(write(tmp_path / "large.jsonl", lines(30_000)))
    assert large[0] == 30_000
    assert large[1] < small[1] + 30


@needs_status
@pytest.mark.slow
def test_a_line_of_25_mb_and_a_run_of_8_mb_fit_into_a_few_hundred(tmp_path):
    run = "0123456789abcdefABCDEF+/" * 350_000
    raw = chat("long", "word " * 5_000_000) + chat("run", run) + chat("run", "x" * 8_000_000)
    documents, peak = documents_and_peak(write(tmp_path / "a.jsonl", raw))
    assert documents == 3
    assert peak < 600

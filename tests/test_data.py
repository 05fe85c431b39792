"""The command `python data.py` and the names other programs import."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import data
from data import SCOPES, Sample, iter_documents, main
from tinyllm.corpus import NothingKept
from tinyllm.documents import Document, Turn

ROOT = Path(__file__).parent.parent


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Five short chats, a page of prose and one record that nobody knows."""
    folder = tmp_path / "logs"
    folder.mkdir()
    chats = [
        {"messages": [{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": "a"}]}
        for n in range(5)
    ]
    (folder / "chats.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    (folder / "page.md").write_text("# Notes\n\nA café, a ☃.\n")
    (folder / "odd.json").write_text('{"odd": 1}')
    return folder


def test_documents_are_strings_with_role_tokens(logs):
    documents = list(iter_documents([logs], "voice"))
    assert documents[0] == "<|user|>q0<|end|><|assistant|>a<|end|>"
    assert documents[-1] == "# Notes\n\nA café, a ☃.\n"
    assert all(isinstance(document, str) for document in documents)


def test_the_scopes_are_the_designs():
    assert tuple(SCOPES) == ("voice", "full", "assistant")


def test_json_is_all_there_is_on_stdout_and_sums_to_the_bytes(logs, capsys):
    assert main([str(logs), "--json", "--scope", "full"]) == 0
    ledger = json.loads(capsys.readouterr().out)
    size = sum(path.stat().st_size for path in logs.iterdir())
    assert ledger["bytes"] == sum(fate["bytes"] for fate in ledger["fates"].values()) == size
    assert ledger["documents"] == 6
    assert ledger["fates"]["unknown shape"]["first"] == f"{logs}/odd.json:1"
    assert ledger["unknown_shapes"][0]["keys"] == "{odd}"
    chats = ledger["formats"]["openai_chat"]
    assert (chats["records"], chats["documents"]) == (5, 5)
    assert chats["turns"] == {"assistant": 5, "user": 5}
    assert chats["chars"] == {"assistant": 5, "user": 10}


def test_the_table_is_for_people(logs, capsys):
    assert main([str(logs)]) == 0
    out = capsys.readouterr().out
    for words in ("scope voice", "3 files", "kept", "unknown shape", "{odd}", "openai_chat"):
        assert words in out


def test_show_prints_that_many_documents_and_the_same_ones_again(logs, capsys):
    assert main([str(logs), "--show", "2"]) == 0
    first = capsys.readouterr().out
    assert first.count("\n--- ") + first.startswith("--- ") == 2
    assert main([str(logs), "--show", "2"]) == 0
    assert capsys.readouterr().out == first


def test_a_sample_is_spread_over_the_whole_and_in_order():
    documents = [Document((Turn(None, str(n)),), f"f:{n}") for n in range(1000)]
    sample = Sample(20)
    for document in documents:
        sample.add(document)
    numbers = [int(document.turns[0].text) for document in sample.documents]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 20
    assert numbers[-1] > 500


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["no/such/folder"], "no such file or folder: 'no/such/folder'"),
        (["--scope", "none", "."], "invalid choice: 'none'"),
        ([], "required: PATH"),
        ([".", "--relabel", "x"], "is not FORMAT.ROLE=ROLE"),
        ([".", "--show", "-1"], "--show is -1"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(argv, words, capsys):
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert captured.err.count("\n") == 1


def test_a_scope_without_documents_still_shows_the_ledger(tmp_path, capsys):
    (tmp_path / "a.md").write_text("prose")
    assert main([str(tmp_path), "--scope", "assistant", "--json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["documents"] == 0
    assert "--scope voice (1 document)" in captured.err


def test_strict_is_exit_code_2_with_file_and_line(logs, capsys):
    assert main([str(logs), "--strict"]) == 2
    assert f"{logs}/odd.json:1 is of unknown shape: {{odd}}" in capsys.readouterr().err


def test_relabelling_moves_turns_out_of_the_voice(logs, capsys):
    assert main([str(logs), "--json", "--relabel", "openai chat.user=env"]) == 0
    chats = json.loads(capsys.readouterr().out)["formats"]["openai_chat"]
    assert chats["left_out"]["out of scope"]["env"] == 5


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("tinyllm ")


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error(logs):
    command = f"{sys.executable} {data.__file__} {logs} --show 6 | head -c 1"
    ran = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, check=True)
    assert ran.stderr == b""


@pytest.mark.slow
def test_all_real_logs_are_booked_to_the_last_byte(shared_logs):
    files = [path for path in shared_logs.rglob("*") if path.is_file()]
    for scope in SCOPES:
        for path in files:
            corpus = data.read_corpus([path], scope)
            try:
                list(corpus)
            except NothingKept:
                assert corpus.ledger.documents == 0
            booked = sum(tally.bytes for tally in corpus.ledger.fates.values())
            assert booked == path.stat().st_size, path


def test_iterating_over_what_no_scope_keeps_yields_nothing(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"other": 1}\n')
    assert list(data.iter_documents([tmp_path], "voice")) == []

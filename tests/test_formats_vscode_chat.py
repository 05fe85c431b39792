"""VS Code's chat sessions as it keeps them now: a snapshot, and the changes since."""

import json
from pathlib import Path
from typing import Any

import pytest

import data
from tinyllm import assembly
from tinyllm.errors import UserError
from tinyllm.formats import copilot
from tinyllm.formats.vscode_chat import answer_turns

QUESTION = "which files?"
CALL = '<tool_call>\n{"name": "ls", "arguments": {"path": "."}}\n</tool_call>'


def request(text: str, *response: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"requestId": "r", "message": {"text": text}, "response": [*response]} | more


def snapshot(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"kind": 0, "v": {"version": 3, "sessionId": "s", "requests": [*requests]}}


def put(value: Any, *path: str | int) -> dict[str, Any]:
    return {"kind": 1, "k": [*path], "v": value}


def push(members: list[Any] | None, *path: str | int, i: int | None = None) -> dict[str, Any]:
    change = {"kind": 2, "k": [*path], "v": members, "i": i}
    return {key: value for key, value in change.items() if value is not None}


def read(folder: Path, *records: dict[str, Any]) -> tuple[list[str], dict[str, int]]:
    """The documents of a file, and the bytes by fate, which add up to the file."""
    log = folder / "chat.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    corpus = data.read_corpus([log], "full")
    documents = [document.render() for document in corpus]
    fates = {fate: tally.bytes for fate, tally in corpus.ledger.fates.items() if tally.bytes}
    assert sum(fates.values()) == log.stat().st_size
    return documents, fates


def chat(*answer: str) -> list[str]:
    return [f"<|user|>{QUESTION}<|end|>" + "".join(answer)]


def test_a_part_that_is_written_again_while_it_grows_is_said_once(tmp_path: Path):
    documents, fates = read(
        tmp_path,
        snapshot(),
        push([request(QUESTION)], "requests"),
        push([{"value": "There are"}], "requests", 0, "response"),
        push([{"value": "There are two of them."}], "requests", 0, "response", i=0),
        push([{"value": " Both are old."}], "requests", 0, "response"),
    )
    assert documents == chat("<|assistant|>There are two of them. Both are old.<|end|>")
    assert fates["duplicate"] == len("There are")


def test_an_answer_that_is_set_anew_replaces_what_was_there(tmp_path: Path):
    documents, _ = read(
        tmp_path,
        snapshot(request(QUESTION, {"value": "One."})),
        put([{"value": "Two."}], "requests", 0, "response"),
    )
    assert documents == chat("<|assistant|>Two.<|end|>")


def test_calls_get_the_arguments_and_results_that_a_later_change_brings(tmp_path: Path):
    rounds = [
        {"response": "", "toolCalls": [{"id": "c", "name": "ls", "arguments": '{"path": "."}'}]}
    ]
    results = {"c": {"content": [{"value": "a.txt"}]}}
    result = {"metadata": {"toolCallRounds": rounds, "toolCallResults": results}}
    shown = {"kind": "toolInvocationSerialized", "toolId": "copilot_ls"}
    documents, _ = read(
        tmp_path,
        snapshot(),
        push([request(QUESTION)], "requests"),
        push([shown, {"value": "One."}], "requests", 0, "response"),
        put(result, "requests", 0, "result"),
    )
    assert documents == chat(
        f"<|assistant|>{CALL}<|end|><|env|>a.txt<|end|><|assistant|>One.<|end|>"
    )


def test_a_request_that_was_taken_back_is_not_said(tmp_path: Path):
    documents, _ = read(
        tmp_path,
        snapshot(request(QUESTION, {"value": "One."}), request("never mind")),
        push(None, "requests", i=1),
    )
    assert documents == chat("<|assistant|>One.<|end|>")


def test_changes_without_a_snapshot_say_what_they_add(tmp_path: Path):
    documents, _ = read(
        tmp_path,
        push([request(QUESTION)], "requests"),
        push([{"value": "One."}], "requests", 4, "response"),
    )
    assert documents == chat("<|assistant|>One.<|end|>")


def test_a_change_that_leads_nowhere_is_read_by_itself(tmp_path: Path):
    documents, _ = read(
        tmp_path,
        snapshot(request(QUESTION)),
        push([{"value": "One."}], "requests", 7, "response"),
    )
    assert documents == [*chat(), "<|assistant|>One.<|end|>"]


def test_a_session_that_became_too_large_takes_no_more_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(assembly, "MAX_OPEN_BYTES", 10)
    documents, _ = read(
        tmp_path,
        snapshot(request(QUESTION)),
        push([{"value": "One."}], "requests", 0, "response"),
    )
    assert sorted(documents) == ["<|assistant|>One.<|end|>", *chat()]


def test_changes_that_leave_no_session_are_an_unknown_shape(tmp_path: Path):
    log = tmp_path / "chat.jsonl"
    lines = (snapshot(request(QUESTION)), put(3, "requests"))
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    corpus = data.read_corpus([log], "full")
    with pytest.raises(UserError, match="unknown shape"):
        list(corpus)
    assert corpus.ledger.fates["unknown shape"].bytes > 0


def test_a_second_snapshot_takes_the_place_of_the_first(tmp_path: Path):
    documents, _ = read(tmp_path, snapshot(request("one?")), snapshot(request("two?")))
    assert documents == ["<|user|>two?<|end|>"]


def test_a_snapshot_of_another_session_ends_the_one_before_it(tmp_path: Path):
    other = snapshot(request("two?"))
    other["v"]["sessionId"] = "t"
    documents, _ = read(tmp_path, snapshot(request("one?")), other)
    assert documents == ["<|user|>one?<|end|>", "<|user|>two?<|end|>"]


def test_a_snapshot_of_no_session_is_an_unknown_shape():
    assert copilot.parse({"kind": 0, "v": {"requests": 3}}) is None


def test_the_fence_of_an_edit_that_is_not_shown_goes():
    uri = {"path": "/w/tides.py"}
    parts = [
        {"value": "I change it:\n"},
        {"value": "\n```\n"},
        {"kind": "codeblockUri", "uri": uri, "isEdit": True},
        {"kind": "textEditGroup", "uri": uri, "edits": []},
        {"value": "\n```\n"},
        {"value": "Done. So it reads now:\n\n```py\nx = 1\n```\n"},
    ]
    (turn,) = answer_turns(parts)
    assert turn.text == "I change it:\n\nDone. So it reads now:\n\n```py\nx = 1\n```\n"

"""What files repeat of each other, over whole corpora: copies, forks, snapshots, prompts."""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tinyllm.corpus import Corpus, NothingKept
from tinyllm.ledger import Ledger

ROLES = ("user", "assistant")


def chat(*texts: str, system: str = "") -> dict[str, Any]:
    messages = [{"role": ROLES[n % 2], "content": text} for n, text in enumerate(texts)]
    return {"messages": [*([{"role": "system", "content": system}] if system else []), *messages]}


def session(name: str, *texts: str) -> list[dict[str, Any]]:
    """Claude Code lines: a message's id and time stay in a fork, its uuid and session don't."""
    lines = []
    for n, text in enumerate(texts):
        role = ROLES[n % 2]
        message: dict[str, Any] = {"role": role, "content": text}
        if role == "assistant":
            message["id"] = f"msg_{n}"
        lines.append(
            {
                "type": role,
                "uuid": f"{name}-{n}",
                "sessionId": name,
                "timestamp": f"2025-01-01T00:00:{n:02}Z",
                "message": message,
            }
        )
    return lines


@dataclass
class Result:
    """The texts of each document, records by kind of duplicate, and the ledger."""

    texts: list[list[str]]
    kinds: dict[str, int]
    ledger: Ledger


def read(folder: Path, files: dict[str, list[Any]], **settings: Any) -> Result:
    """Read files to their end in the scope `full`; the ledger is known to sum."""
    for name, records in files.items():
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    corpus = Corpus([folder], "full", **settings)
    texts: list[list[str]] = []
    with suppress(NothingKept):
        for document in corpus:
            texts.append([turn.text for turn in document.turns])
    fates = corpus.ledger.fates
    assert sum(tally.bytes for tally in fates.values()) == sum(file.size for file in corpus.files)
    details = fates["duplicate"].details if "duplicate" in fates else {}
    kinds = {kind: tally.records for kind, tally in details.items()}
    return Result(texts, kinds, corpus.ledger)


def test_a_resumed_session_under_new_uuids_is_said_once(tmp_path):
    first = session("a", "one", "1", "two", "2")
    resumed = session("b", "one", "1", "two", "2", "three", "3")
    result = read(tmp_path, {"a.jsonl": first, "b.jsonl": resumed})
    assert result.texts == [["one", "1", "two", "2", "three", "3"]]
    assert result.kinds == {"earlier state": 4}


def test_a_fork_keeps_its_own_end_and_the_longer_branch_stays_whole(tmp_path):
    longer = session("a", "one", "1", "two", "2", "three", "3")
    fork = session("b", "one", "1", "other", "o")
    for names in (("a", "b"), ("b", "a")):
        result = read(tmp_path, {f"{names[0]}.jsonl": longer, f"{names[1]}.jsonl": fork})
        assert sorted(result.texts, key=len) == [
            ["other", "o"],
            ["one", "1", "two", "2", "three", "3"],
        ]
        assert result.kinds == {"message": 2}
        example = result.ledger.fates["duplicate"].details["message"].examples[0]
        assert " repeats " in example


def test_growing_snapshots_leave_the_longest_and_are_counted(tmp_path):
    turns = [f"turn {n}" for n in range(6)]
    result = read(tmp_path, {"a.jsonl": [chat(*turns[:count]) for count in (2, 4, 6)]})
    assert result.texts == [turns]
    assert result.kinds == {"earlier state": 2}


def test_snapshots_that_shrink_or_lie_in_other_files_are_found_too(tmp_path):
    turns = [f"turn {n}" for n in range(6)]
    files = {f"{n}.jsonl": [chat(*turns[:count])] for n, count in enumerate((6, 2, 4, 6))}
    result = read(tmp_path, files)
    assert result.texts == [turns]
    assert result.kinds == {"earlier state": 2, "whole document": 1}


def test_the_same_question_with_another_answer_is_no_duplicate(tmp_path):
    result = read(tmp_path, {"a.jsonl": [chat("hi", "one"), chat("hi", "two"), chat("hi")]})
    assert result.texts == [["hi", "one"], ["hi", "two"], ["hi"]]


def test_a_repeated_system_prompt_is_kept_once_and_its_chats_all(tmp_path):
    chats = [chat("q", str(n), system="Be Wren.") for n in range(5)]
    result = read(tmp_path, {"a.jsonl": chats})
    assert result.texts[0] == ["Be Wren.", "q", "0"]
    assert [texts[0] for texts in result.texts[1:]] == ["q"] * 4
    assert result.kinds == {"system prompt": 4}


def test_near_duplicates_go_only_where_they_are_asked_for(tmp_path):
    words = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(200))
    files = {"a.jsonl": [chat("q", words), chat("q", words + " indeed")]}
    assert len(read(tmp_path, files).texts) == 2
    result = read(tmp_path, files, near_dedup=0.8)
    assert result.texts == [["q", words + " indeed"]]
    assert result.kinds == {"near duplicate": 1}


texts = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5)
values = st.one_of(
    texts.map(lambda said: [chat(*said)]),
    texts.map(lambda said: [chat(*said, system="You are Wren.")]),
    st.builds(lambda name, said: session(name, *said), st.sampled_from("xyz"), texts),
    st.just([{"text": "prose"}]),
)


@settings(max_examples=60)
@given(st.lists(values, min_size=1, max_size=6), st.permutations(range(6)))
def test_the_order_of_files_does_not_change_what_is_kept(files, order):
    def kept(names: list[str]) -> Counter[str]:
        with TemporaryDirectory() as folder:
            result = read(Path(folder), dict(zip(names, files, strict=True)))
        return Counter(text for said in result.texts for text in said)

    straight = [f"{n}.jsonl" for n in range(len(files))]
    assert kept(straight) == kept([f"{order[n]}.jsonl" for n in range(len(files))])

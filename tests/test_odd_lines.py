"""One fault a file, as real programs leave them: what is read, and what the ledger calls it."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tinyllm.corpus import Corpus, NothingKept

Turns = list[tuple[str | None, str]]


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def chat(*texts: str, **fields: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return {"messages": messages, **fields}


def claude(kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **fields.pop("message", {})}
    return {"type": kind, "sessionId": "s", "message": message, **fields}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": kind, "payload": payload}


def said(role: str, text: str) -> dict[str, Any]:
    part = "output_text" if role == "assistant" else "input_text"
    content = [{"type": part, "text": text}]
    return item("response_item", type="message", role=role, content=content)


CALL = '<tool_call>\n{"name": "look", "arguments": {"at": "sea"}}\n</tool_call>'
GOOD = lines(chat("q", "good"))
KEPT: Turns = [("user", "q"), ("assistant", "good")]

# name: the file, the documents, and how many records each fate but `kept` and `markup` has
CASES: dict[str, tuple[bytes, list[Turns], dict[str, int]]] = {
    "lists that begin with null": (lines({"b": [None, ["x"]]}), [], {"unknown shape": 1}),
    "messages of their own, a field of changing type": (
        lines(
            {"role": "user", "content": "hi", "closed": None},
            {"role": "assistant", "content": "yo", "closed": "2026-07-01"},
        ),
        [[("user", "hi"), ("assistant", "yo")]],
        {},
    ),
    "content as a string, parts and null": (
        lines(
            chat("plain"),
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "parts"}]}]},
            {
                "messages": [
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [{"function": {"name": "look", "arguments": {"at": "sea"}}}],
                    },
                    {"role": "tool", "content": "grey"},
                ]
            },
        ),
        [[("user", "plain")], [("user", "parts")], [("assistant", CALL), ("env", "grey")]],
        {},
    ),
    "speakers by other names": (
        lines(
            {
                "conversations": [
                    {"from": "user", "value": "who?"},
                    {"from": "Assistant", "value": "I"},
                    {"from": "bing", "value": "and me"},
                ]
            }
        ),
        [[("user", "who?"), ("assistant", "I"), ("assistant", "and me")]],
        {},
    ),
    "a message in several lines": (
        lines(
            claude("assistant", [{"type": "thinking", "thinking": "hm"}], message={"id": "m"}),
            claude("assistant", [{"type": "text", "text": "Looking."}], message={"id": "m"}),
            claude(
                "assistant",
                [{"type": "tool_use", "id": "t", "name": "look", "input": {"at": "sea"}}],
                message={"id": "m"},
            ),
            claude("user", [{"type": "tool_result", "tool_use_id": "t", "content": "grey"}]),
        ),
        [[("assistant", f"<think>hm</think>\n\nLooking.\n\n{CALL}"), ("env", "grey")]],
        {},
    ),
    "what stands under user and no human wrote": (
        lines(
            claude("user", "Caveat: not typed", isMeta=True),
            claude("user", "Summary so far", isCompactSummary=True),
            claude("user", "<command-name>/clear</command-name>"),
            claude("assistant", "No response.", message={"model": "<synthetic>"}),
            claude("user", "a real question"),
        ),
        [
            [
                ("env", "Caveat: not typed"),
                ("env", "Summary so far"),
                ("env", "<command-name>/clear</command-name>"),
                ("env", "No response."),
                ("user", "a real question"),
            ]
        ],
        {},
    ),
    "events that mirror items, before and after them": (
        lines(
            said("user", "<environment_context><cwd>/w</cwd></environment_context>"),
            said("user", "how much?"),
            item("event_msg", type="user_message", message="how much?"),
            item("event_msg", type="agent_message", message="4"),
            said("assistant", "4"),
            item("event_msg", type="user_message", message="only here"),
        ),
        [
            [
                ("env", "<environment_context><cwd>/w</cwd></environment_context>"),
                ("user", "how much?"),
                ("assistant", "4"),
                ("user", "only here"),
            ]
        ],
        {"duplicate": 2},
    ),
    "line ends that are text": (
        '{"text": "one\u2028two\u2029three\x85four"}\n{"text": "next"}\n'.encode(),
        [[(None, "one\u2028two\u2029three\x85four")], [(None, "next")]],
        {},
    ),
    "NUL bytes, glued records and a cut last line": (
        GOOD + b"\0" * 300 + b"\n" + GOOD[:-1] + lines(chat("r")) + b"\n" + GOOD[:20],
        [KEPT, [("user", "r")]],
        {"duplicate": 1, "unreadable": 2, "blank": 1},
    ),
    "a byte order mark and Windows line ends": (
        b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n") + b"\r\n" + lines(chat("r")),
        [KEPT, [("user", "r")]],
        {"blank": 1},
    ),
    "growing snapshots": (
        lines(chat("1", "2"), chat("1", "2", "3", "4"), chat("1", "2", "3", "4", "5")),
        [
            [
                ("user", "1"),
                ("assistant", "2"),
                ("user", "3"),
                ("assistant", "4"),
                ("user", "5"),
            ]
        ],
        {"duplicate": 2},
    ),
    "lines that are no records": (
        b'42\n"doc"\n[1]\nnull\n{"messages":null}\n' + GOOD,
        [KEPT],
        {"unknown shape": 5},
    ),
    "rows that are lists of messages": (
        lines(chat("q", "good")["messages"], chat("r")["messages"]),
        [KEPT, [("user", "r")]],
        {},
    ),
    "messages as JSON text": (
        lines({"messages": json.dumps(chat("q", "good")["messages"])}),
        [KEPT],
        {},
    ),
    "an integer of thousands of digits": (
        b'{"text": "big", "id": ' + b"9" * 5000 + b"}\n",
        [[(None, "big")]],
        {},
    ),
    "duplicate keys, of which the last counts": (
        b'{"text": "a", "text": "b"}\n',
        [[(None, "b")]],
        {},
    ),
    "bytes that are no UTF-8": (b'{"text": "caf\xe9"}\n', [[(None, "caf\ufffd")]], {}),
    "a lone surrogate": (b'{"text": "a\\ud800b"}\n', [[(None, "a\ufffdb")]], {}),
    "a message rewritten when it was read": (
        lines(
            {"direction": "in", "from": "op", "text": "hello", "ts": 1.0},
            {"direction": "in", "from": "op", "text": "hello", "ts": 1.0, "read": True},
            {"direction": "out", "from": "Pip", "text": "hi", "ts": 2.0},
        ),
        [[("user", "hello"), ("assistant", "hi")]],
        {"duplicate": 1},
    ),
    "a step that says its reasoning and call twice": (
        lines(
            {
                "scratchpad": "- note",
                "turns": [
                    {
                        "reasoning": "I look.",
                        "command": "look",
                        "output": f"I look.\n\n{CALL}",
                        "tool_result": "grey",
                    }
                ],
            }
        ),
        [[("system", "- note"), ("assistant", f"I look.\n\n{CALL}"), ("env", "grey")]],
        {"noise removed": 1},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_file_with_one_fault_is_read_as_far_as_it_can_be(tmp_path: Path, name: str):
    raw, expected, fates = CASES[name]
    (tmp_path / "log.jsonl").write_bytes(raw)
    corpus = Corpus([tmp_path], "full")
    found: list[Turns] = []
    with suppress(NothingKept):
        found = [[(turn.role, turn.text) for turn in document.turns] for document in corpus]
    assert found == expected
    booked = corpus.ledger.fates
    assert sum(tally.bytes for tally in booked.values()) == len(raw)
    assert {
        fate: tally.records for fate, tally in booked.items() if fate not in ("kept", "markup")
    } == fates


def test_every_case_that_was_handed_over_is_read_without_an_error(shared_cases: Path):
    for path in sorted(shared_cases.iterdir()):
        corpus = Corpus([path], "full")
        with suppress(NothingKept):
            assert all(document.turns for document in corpus)
        booked = sum(tally.bytes for tally in corpus.ledger.fates.values())
        assert booked == path.stat().st_size, path.name
        unknown = corpus.ledger.fates.get("unknown shape")
        assert bool(unknown) == (path.name[:2] in ("01", "18")), path.name

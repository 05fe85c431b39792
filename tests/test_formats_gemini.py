"""Gemini CLI and Qwen Code sessions, and contents of the Gemini interface."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import data
from tinyllm.documents import Turn
from tinyllm.formats import gemini_cli, qwen_code, recognise
from tinyllm.formats.parsed import Parsed

CALL = '<tool_call>\n{"name": "ls", "arguments": {"path": "."}}\n</tool_call>'


def pieces(record: dict[str, Any], known: ModuleType = gemini_cli) -> list[Parsed]:
    assert recognise(record) is known
    result = known.parse(record)
    assert result is not None
    return [result] if isinstance(result, Parsed) else list(result)


def turns(record: dict[str, Any], known: ModuleType = gemini_cli) -> list[Turn]:
    return [turn for piece in pieces(record, known) for turn in piece.turns]


def line(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "m1",
        "timestamp": "2026-01-01T10:00:00Z",
        "type": kind,
        "content": content,
    } | more


def tool_call(result: Any = None) -> dict[str, Any]:
    return {"id": "c1", "name": "ls", "args": {"path": "."}, "result": result}


def answered(text: str) -> list[dict[str, Any]]:
    return [{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": text}}}]


def documents(folder: Path, records: list[dict[str, Any]], name: str = "log.jsonl") -> list[str]:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return list(data.iter_documents([str(path)], "full"))


# --- sessions of one object -----------------------------------------------------------------------


def session(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"sessionId": "s", "projectHash": "h", "startTime": "t", "messages": list(messages)}


def test_a_message_is_thoughts_words_and_calls_and_then_the_results():
    message = line(
        "gemini",
        "I look.",
        thoughts=[{"subject": "Files", "description": "list them"}, {"description": "then count"}],
        toolCalls=[tool_call(answered("a.txt")) | {"resultDisplay": "a.txt!"}],
    )
    [piece] = pieces(session(line("user", "which files?"), message))
    assert piece.turns == (
        Turn("user", "which files?"),
        Turn("assistant", f"<think>**Files** list them\n\nthen count</think>\n\nI look.\n\n{CALL}"),
        Turn("env", "a.txt"),
    )
    assert piece.noise == len("a.txt!")
    assert piece.thread is None


@pytest.mark.parametrize("kind", ["info", "error", "warning", "a kind of later versions"])
def test_what_the_program_says_is_neither_a_humans_nor_the_agents(kind: str):
    record = session(line("user", "hi"), line(kind, "Request cancelled."))
    assert turns(record)[1] == Turn("env", "Request cancelled.")


def test_words_may_stand_in_parts_and_under_model():
    record = session(
        line("user", [{"text": "hi"}, "there"]),
        {"id": "m2", "type": "model", "parts": [{"text": "Hello."}]},
    )
    assert turns(record) == [Turn("user", "hi\n\nthere"), Turn("assistant", "Hello.")]


def test_a_failed_calls_error_is_the_environments():
    result = [{"functionResponse": {"name": "ls", "response": {"error": "no such folder"}}}]
    record = session(line("user", "hi"), line("gemini", "", toolCalls=[tool_call(result)]))
    assert turns(record)[-1] == Turn("env", "no such folder")


def test_why_a_call_never_ran_is_the_environments():
    call = tool_call() | {"status": "error", "error": "no such tool"}
    assert turns(session(line("gemini", "", toolCalls=[call])))[-1] == Turn("env", "no such tool")


@pytest.mark.parametrize(
    ("name", "output", "turn"),
    [
        ("ask_user", '{"answers": {"0": "the grey ones"}}', Turn("user", "the grey ones")),
        (
            "ask_user_question",
            "User has provided the following answers:\n\n**Gulls**: the grey ones",
            Turn("user", "the grey ones"),
        ),
        ("ask_user", "User dismissed the dialog.", Turn("env", "User dismissed the dialog.")),
        ("cat", '{"answers": {"0": "b"}}', Turn("env", '{"answers": {"0": "b"}}')),
    ],
)
def test_a_humans_answer_is_theirs_only_where_the_agent_asked(name: str, output: str, turn: Turn):
    result = [{"functionResponse": {"name": name, "response": {"output": output}}}]
    record = session(line("gemini", "", toolCalls=[tool_call(result)]))
    assert turns(record)[-1] == turn


# --- sessions of lines ----------------------------------------------------------------------------


def test_a_session_of_lines_is_one_document(tmp_path: Path):
    lines = [
        {"sessionId": "s", "projectHash": "h", "startTime": "t", "kind": "main"},
        line("user", [{"text": "which files?"}], id="u1"),
        {"$set": {"lastUpdated": "t"}},
        line("gemini", "I look.", toolCalls=[tool_call(answered("a.txt"))], id="g1"),
        {"$rewindTo": "u1"},
        line("gemini", "One.", thoughts=[], id="g2"),
    ]
    assert documents(tmp_path, lines) == [
        f"<|user|>which files?<|end|><|assistant|>I look.\n\n{CALL}<|end|>"
        "<|env|>a.txt<|end|><|assistant|>One.<|end|>"
    ]


def test_a_message_written_again_with_more_says_only_what_is_new(tmp_path: Path):
    thoughts = [{"subject": "", "description": "list them"}]
    lines = [
        line("user", "which files?", id="u1"),
        line("user", "which files?", id="u1"),
        line("gemini", "I look.", id="g1", thoughts=thoughts),
        line("gemini", "I look.", id="g1", thoughts=thoughts, toolCalls=[tool_call()]),
        line(
            "gemini",
            "I look.",
            id="g1",
            thoughts=thoughts,
            toolCalls=[tool_call(answered("a.txt"))],
            tokens={"total": 9},
        ),
    ]
    assert documents(tmp_path, lines) == [
        "<|user|>which files?<|end|>"
        f"<|assistant|><think>list them</think>\n\nI look.\n\n{CALL}<|end|>"
        "<|env|>a.txt<|end|>"
    ]


def test_the_same_words_in_another_message_are_said_twice(tmp_path: Path):
    lines = [line("user", "go on", id="u1"), line("user", "go on", id="u2")]
    assert documents(tmp_path, lines)[0].count("go on") == 2


def test_a_patch_says_only_what_no_line_said(tmp_path: Path):
    known, lost = line("user", "one", id="u1"), line("user", "two", id="u2")
    [document] = documents(tmp_path, [known, {"$set": {"messages": [known, lost]}}])
    assert document == "<|user|>one<|end|><|user|>two<|end|>"


@pytest.mark.parametrize(
    "record",
    [
        {"type": "user", "content": "x", "id": "1", "timestamp": "t", "uuid": "u"},
        {"type": "user", "content": "x"},
        {"type": "message", "content": "x", "id": "1", "timestamp": "t"},
        {"type": "info", "id": "1", "timestamp": "t", "data": {}},
        {"messages": [{"type": "message", "text": "a messenger's"}]},
        {"$set": {"a": 1}, "id": 1},
        {"contents": ["x"]},
        {"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]},
        {"role": "user", "parts": [{"type": "text", "text": "another interface's"}]},
        {"role": "user", "parts": "x"},
        {"sessionId": "s", "startTime": "t"},
    ],
    ids=str,
)
def test_other_logs_records_are_not_claimed(record: dict[str, Any]):
    assert recognise(record) is not gemini_cli


# --- contents -------------------------------------------------------------------------------------

CONTENTS: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "<session_context>\nmacOS\n</session_context>"}]},
    {"role": "model", "parts": [{"text": "Got it. Thanks for the context!"}]},
    {"role": "user", "parts": [{"text": "which files?"}]},
    {
        "role": "model",
        "parts": [
            {"text": "list them", "thought": True},
            {"functionCall": {"name": "ls", "args": {"path": "."}}, "thoughtSignature": "c2ln"},
        ],
    },
    {"role": "user", "parts": answered("a.txt")},
    {"role": "model", "parts": [{"text": "One."}]},
]
SAID = (
    "<|env|><session_context>\nmacOS\n</session_context><|end|>"
    "<|env|>Got it. Thanks for the context!<|end|>"
    "<|user|>which files?<|end|>"
    f"<|assistant|><think>list them</think>\n\n{CALL}<|end|>"
    "<|env|>a.txt<|end|><|assistant|>One.<|end|>"
)


def test_bare_contents_of_a_file_are_one_conversation(tmp_path: Path):
    assert documents(tmp_path, CONTENTS) == [SAID]
    path = tmp_path / "array.json"
    path.write_text(json.dumps(CONTENTS), encoding="utf-8")
    assert list(data.iter_documents([str(path)], "full")) == [SAID]


@pytest.mark.parametrize("key", ["contents", "history"])
def test_contents_under_a_key_are_a_document(key: str, tmp_path: Path):
    other = {"role": "user", "parts": [{"text": "and hidden ones?"}]}
    found = documents(tmp_path, [{key: CONTENTS}, {key: [other]}])
    assert len(found) == 2
    assert found[1] == "<|user|>and hidden ones?<|end|>"
    assert found[0].endswith("<|assistant|>One.<|end|>")


def test_a_system_instruction_is_the_system_and_a_files_bytes_are_noise():
    picture = {"role": "user", "parts": [{"inlineData": {"data": "aGVs"}}, {"text": "what?"}]}
    record = {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [picture]}
    assert turns(record) == [Turn("system", "Be brief."), Turn("user", "what?")]
    assert pieces(record)[0].noise == 4


def test_code_that_the_model_runs_is_a_call_and_what_came_of_it_a_result():
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n"}},
    ]
    first, second = turns({"role": "model", "parts": parts})
    assert '"code": "1 + 1"' in first.text
    assert second == Turn("env", "2\n")


@pytest.mark.parametrize(
    "injected",
    [
        "<session_context>\nmacOS\n</session_context>",
        "<state_snapshot>\n<overall_goal>x</overall_goal>\n</state_snapshot>",
        "<system-reminder>\nBe brief.\n</system-reminder>",
    ],
)
def test_what_the_program_puts_before_a_humans_words_is_split_off(injected: str):
    content = {"role": "user", "parts": [{"text": f"{injected}\n\nwhich tide?"}]}
    assert turns(content) == [Turn("env", injected), Turn("user", "which tide?")]


def test_the_editors_context_is_no_humans():
    text = "Here is the user's editor context as a JSON object. This is for you.\n{}"
    assert turns({"role": "user", "parts": [{"text": text}]}) == [Turn("env", text)]


@pytest.mark.parametrize("apart", [True, False])
def test_files_that_a_human_refers_to_are_the_environments(apart: bool):
    texts = [
        "read @a.txt",
        "\n--- Content from referenced files ---",
        "\nContent from @a.txt:\n",
        "gulls",
        "\n--- End of content ---",
        "and count",
    ]
    content = [{"text": text} for text in texts] if apart else "\n".join(texts)
    said = turns(session(line("user", content)))
    assert [turn.text for turn in said if turn.role == "user"] == ["read @a.txt", "and count"]
    assert "gulls" in "".join(turn.text for turn in said if turn.role == "env")


# --- Qwen Code ------------------------------------------------------------------------------------


def qwen(kind: str, parts: Any, **more: Any) -> dict[str, Any]:
    role = "model" if kind == "assistant" else "user"
    return {
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": "s",
        "timestamp": "t",
        "type": kind,
        "message": {"role": role, "parts": parts},
    } | more


def test_a_session_of_qwen_code_is_one_document(tmp_path: Path):
    lines = [
        qwen("user", [{"text": "which files?"}], uuid="1"),
        qwen("assistant", [{"text": "list", "thought": True}, {"text": "I look."}], uuid="2"),
        qwen("assistant", [{"functionCall": {"name": "ls", "args": {"path": "."}}}], uuid="3"),
        qwen("tool_result", answered("a.txt"), uuid="4", toolCallResult={"resultDisplay": "a"}),
        {"uuid": "5", "sessionId": "s", "type": "system", "subtype": "x", "systemPayload": {}},
        qwen("assistant", [{"text": "One."}], uuid="6"),
    ]
    assert documents(tmp_path, lines) == [
        f"<|user|>which files?<|end|><|assistant|><think>list</think>\n\nI look.\n\n{CALL}<|end|>"
        "<|env|>a.txt<|end|><|assistant|>One.<|end|>"
    ]


@pytest.mark.parametrize(
    "flags",
    [
        {"subtype": "cron"},
        {"subtype": "notification"},
        {"provenance": "goal_runtime"},
        {"isSidechain": True},
        {"agentId": "explore-1"},
    ],
    ids=str,
)
def test_what_a_program_writes_under_user_is_no_humans(flags: dict[str, Any]):
    assert turns(qwen("user", [{"text": "go on"}], **flags), qwen_code)[0].role == "env"


def test_what_a_human_writes_while_the_agent_works_is_theirs():
    record = qwen("user", [{"text": "stop"}], subtype="mid_turn_user_message")
    assert turns(record, qwen_code) == [Turn("user", "stop")]


def test_a_command_to_the_program_and_its_answer_are_the_environments():
    asked = {"phase": "invocation", "rawCommand": "/about"}
    shown = {"phase": "result", "outputHistoryItems": [{"type": "about", "text": "version 1"}]}
    for payload, text in ((asked, "/about"), (shown, "version 1")):
        record = {"uuid": "u", "sessionId": "s", "type": "system", "subtype": "slash_command"}
        assert turns(record | {"systemPayload": payload}, qwen_code) == [Turn("env", text)]


def test_a_branch_repeats_a_line_with_its_name_and_sub_agents_have_threads_of_their_own():
    first, branched = qwen("user", [{"text": "hi"}]), qwen("user", [{"text": "hi"}], sessionId="b")
    assert pieces(first, qwen_code)[0].identity == pieces(branched, qwen_code)[0].identity
    threads = [pieces(first | {"agentId": name}, qwen_code)[0].thread for name in ("a", "b")]
    assert len({pieces(first, qwen_code)[0].thread, *threads}) == 3


# --- real logs ------------------------------------------------------------------------------------


def test_real_sessions_are_one_document_each_with_their_humans_words(shared_logs: Path):
    folder = shared_logs / "gemini_cli"
    found = {
        path.name: list(data.iter_documents([str(path)], "full"))
        for path in sorted(folder.iterdir())
    }
    assert {name: len(docs) for name, docs in found.items()} == dict.fromkeys(found, 1)
    humans = {name: docs[0].count("<|user|>") for name, docs in found.items()}
    assert humans == {
        "ah_tool_error.jsonl": 4,
        "as_jsonl_v040.jsonl": 1,
        "as_large.json": 2,
        "trajectory_contents.json": 6,
    }

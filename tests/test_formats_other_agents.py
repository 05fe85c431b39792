"""GitHub Copilot, Kimi and Grok sessions."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import data
from tinyllm.documents import Turn
from tinyllm.formats import codex, copilot, grok, kimi, recognise
from tinyllm.formats.parsed import Parsed

CALL = '<tool_call>\n{"name": "ls", "arguments": {"path": "."}}\n</tool_call>'


def parsed(record: dict[str, Any], known: ModuleType) -> Parsed:
    assert recognise(record) is known
    result = known.parse(record)
    assert isinstance(result, Parsed)
    return result


def documents(folder: Path, records: list[dict[str, Any]]) -> list[str]:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return list(data.iter_documents([str(path)], "full"))


# --- Copilot's command line -----------------------------------------------------------------------

_COUNT = iter(range(10**6))


def event(kind: str, **values: Any) -> dict[str, Any]:
    return {"type": kind, "data": values, "id": f"e{next(_COUNT)}", "timestamp": "t"} | {
        "parentId": None
    }


def test_copilots_events_make_one_document(tmp_path: Path):
    asked = {"type": "function", "toolCallId": "c", "name": "ls", "arguments": '{"path": "."}'}
    session = [
        event("session.start", sessionId="s", version=1),
        event("system.message", content="You are it.", role="system"),
        event("user.message", content="which files?", transformedContent="<now/>which files?"),
        event("assistant.turn_start", turnId="1"),
        event("assistant.reasoning", content="list them"),
        event(
            "assistant.message", content="I look.", reasoningText="list them", toolRequests=[asked]
        ),
        event("tool.execution_start", toolCallId="c", toolName="ls", arguments={"path": "."}),
        event("tool.execution_complete", toolCallId="c", result={"content": "a.txt"}),
        event("assistant.message", content="One.", toolRequests=[]),
        event("session.shutdown", shutdownType="routine"),
    ]
    assert documents(tmp_path, session) == [
        "<|system|>You are it.<|end|><|user|>which files?<|end|>"
        f"<|assistant|><think>list them</think>\n\nI look.\n\n{CALL}<|end|>"
        "<|env|>a.txt<|end|><|assistant|>One.<|end|>"
    ]


def test_reasoning_that_no_message_repeats_is_kept(tmp_path: Path):
    session = [event("user.message", content="hi"), event("assistant.reasoning", content="greet")]
    assert documents(tmp_path, session) == [
        "<|user|>hi<|end|><|assistant|><think>greet</think><|end|>"
    ]


def test_what_an_event_holds_twice_or_sealed_is_noise():
    said = event("assistant.message", content="a", encryptedContent="1234", reasoningOpaque="56")
    assert parsed(said, copilot).noise == 6
    result = event("tool.execution_complete", result={"content": "a", "detailedContent": "a+"})
    assert parsed(result, copilot).noise == 2


@pytest.mark.parametrize(
    "record",
    [
        event("system.notification", content="a task ended"),
        event("session.error", message="a task ended"),
        event("skill.invoked", name="tides", content="a task ended"),
        event("user.message", content="a task ended", parentAgentTaskId="t1"),
        event("tool.execution_complete", success=False, error={"message": "a task ended"}),
    ],
    ids=lambda record: record["type"],
)
def test_what_programs_and_other_agents_tell_copilot_is_the_environments(record: dict[str, Any]):
    assert parsed(record, copilot).turns == (Turn("env", "a task ended"),)


def test_a_sub_agents_events_are_a_document_of_their_own(tmp_path: Path):
    session = [
        event("user.message", content="hi"),
        event("assistant.message", content="inside", parentToolCallId="c1"),
        event("assistant.message", content="outside"),
    ]
    assert sorted(documents(tmp_path, session)) == [
        "<|assistant|>inside<|end|>",
        "<|user|>hi<|end|><|assistant|>outside<|end|>",
    ]


# --- VS Code's chats ------------------------------------------------------------------------------


def request(text: str, *response: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "requestId": "r",
        "message": {"text": text, "parts": []},
        "response": [*response],
    } | more


def chat(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"version": 3, "sessionId": "s", "responderUsername": "x", "requests": [*requests]}


def test_an_answer_shown_in_pieces_is_one_text():
    record = chat(
        request(
            "where?",
            {"kind": "mcpServersStarting"},
            {"value": "See "},
            {"kind": "inlineReference", "inlineReference": {"path": "/w/tides.py"}},
            {"value": ",\n", "supportThemeIcons": False},
            {"kind": "undoStop", "id": "u"},
            {"value": "line 3."},
        )
    )
    assert parsed(record, copilot).turns == (
        Turn("user", "where?"),
        Turn("assistant", "See `tides.py`,\nline 3."),
    )


def test_thoughts_and_calls_of_an_answer_stand_where_they_were():
    shown = {
        "kind": "toolInvocationSerialized",
        "toolId": "ls",
        "pastTenseMessage": {"value": "Listed"},
        "resultDetails": {"input": '{"path": "."}', "output": [{"value": "a.txt"}]},
    }
    answer = [{"kind": "thinking", "value": "list"}, {"value": "I look."}, shown, {"value": "One."}]
    assert parsed(chat(request("which files?", *answer)), copilot).turns == (
        Turn("user", "which files?"),
        Turn("assistant", f"<think>list</think>\n\nI look.\n\n{CALL}"),
        Turn("env", "a.txt"),
        Turn("assistant", "One."),
    )


def test_a_command_in_the_terminal_is_what_was_asked_for():
    data_ = {"kind": "terminal", "commandLine": {"original": "ls -a"}}
    call = {"kind": "toolInvocationSerialized", "toolId": "run", "toolSpecificData": data_}
    said = parsed(chat(request("go", call)), copilot).turns
    assert '"arguments": {"command": "ls -a"}' in said[1].text


def test_rounds_tell_arguments_and_results_and_nothing_shown_after_them_is_lost():
    rounds = [
        {
            "response": "I look.",
            "thinking": {"text": "list"},
            "toolCalls": [{"id": "c", "name": "ls", "arguments": '{"path": "."}'}],
        }
    ]
    results = {"c": {"content": [{"value": "a.txt"}]}}
    metadata = {"toolCallRounds": rounds, "toolCallResults": results}
    shown = {"kind": "toolInvocationSerialized", "toolId": "copilot_ls"}
    record = request(
        "which files?",
        {"value": "I look."},
        shown,
        {"value": "One."},
        result={"metadata": metadata | {"renderedUserMessage": [{"text": "1234"}]}},
    )
    found = parsed(chat(record), copilot)
    assert found.turns == (
        Turn("user", "which files?"),
        Turn("assistant", f"<think>list</think>\n\nI look.\n\n{CALL}"),
        Turn("env", "a.txt"),
        Turn("assistant", "One."),
    )
    assert found.noise == 4


def test_a_chat_kept_as_changes_is_one_document(tmp_path: Path):
    log = [
        {"kind": 0, "v": chat(request("hi", {"value": "Hello."}))},
        {"kind": 1, "k": ["customTitle"], "v": "Greeting"},
        {"kind": 2, "k": ["requests"], "v": [request("which tide?")]},
        {"kind": 2, "k": ["requests", 1, "response"], "v": [{"value": "Ebb."}]},
        {"kind": 3, "k": ["inputState"]},
    ]
    assert documents(tmp_path, log) == [
        "<|user|>hi<|end|><|assistant|>Hello.<|end|>"
        "<|user|>which tide?<|end|><|assistant|>Ebb.<|end|>"
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"requests": 3},
        {"requests": [{"url": "/"}], "sessionId": "s"},
        {"kind": True, "v": {"requests": []}},
        {"kind": 2, "k": ["a"], "v": [], "name": "x"},
        {"type": "progress", "data": {}, "uuid": "u", "timestamp": "t"},
        {"type": "a.b", "data": [], "id": 1, "timestamp": "t"},
    ],
    ids=str,
)
def test_other_logs_records_are_not_copilots(record: dict[str, Any]):
    assert recognise(record) is not copilot


# --- Kimi -----------------------------------------------------------------------------------------


def wire(kind: str, **values: Any) -> dict[str, Any]:
    return {"type": kind, "time": 1767261600000} | values


def entering(role: str, text: str, **message: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return wire("context.append_message", message={"role": role, "content": content} | message)


def looping(kind: str, **values: Any) -> dict[str, Any]:
    return wire("context.append_loop_event", event={"type": kind} | values)


def test_kimis_wire_is_one_document(tmp_path: Path):
    human = {"kind": "user"}
    session = [
        {"type": "metadata", "protocol_version": "1.4", "created_at": 1},
        wire("config.update", systemPrompt="You are it."),
        wire("profile.bind", systemPrompt="You are it."),
        wire("turn.prompt", input=[{"type": "text", "text": "which files?"}], origin=human),
        entering("user", "which files?", origin=human, toolCalls=[]),
        looping("step.begin", step=1),
        looping("content.part", part={"type": "think", "think": "list"}),
        looping("content.part", part={"type": "text", "text": "I look."}),
        looping("tool.call", name="ls", args={"path": "."}, description="Listing"),
        looping("tool.result", toolCallId="c", result={"output": "a.txt"}),
        wire("usage.record", usage={"output": 3}),
        looping("content.part", part={"type": "text", "text": "One."}),
    ]
    assert documents(tmp_path, session) == [
        "<|system|>You are it.<|end|><|user|>which files?<|end|>"
        f"<|assistant|><think>list</think>\n\nI look.\n\n{CALL}<|end|>"
        "<|env|>a.txt<|end|><|assistant|>One.<|end|>"
    ]


def test_a_prompt_that_never_entered_the_context_is_kept(tmp_path: Path):
    session = [wire("turn.steer", input=[{"type": "text", "text": "stop"}])]
    assert documents(tmp_path, session) == ["<|user|>stop<|end|>"]


@pytest.mark.parametrize("kind", ["system_trigger", "injection", "cron_job", "hook_result"])
def test_what_another_than_a_human_prompts_is_the_environments(kind: str):
    for record in (
        entering("user", "count them", origin={"kind": kind}),
        wire("turn.prompt", input="count them", origin={"kind": kind}),
    ):
        assert parsed(record, kimi).turns == (Turn("env", "count them"),)


def test_a_reminder_in_a_humans_message_is_split_off():
    text = "<system-reminder>\nBe brief.\n</system-reminder>\nwhich tide?"
    said = parsed(entering("user", text), kimi).turns
    assert [turn.role for turn in said] == ["env", "user"]
    assert said[1].text == "which tide?"


def test_a_shell_command_that_the_human_typed_is_theirs():
    typed = entering("user", "<bash-input>ls</bash-input>", origin={"kind": "shell_command"})
    assert Turn("user", "ls") in parsed(typed, kimi).turns


def test_messages_of_the_command_line_before_it_are_read(tmp_path: Path):
    lines = [
        ("TurnBegin", {"user_input": "which files?"}),
        ("StepBegin", {"n": 1}),
        ("ContentPart", {"type": "think", "think": "list"}),
        ("ToolCall", {"id": "c", "function": {"name": "ls", "arguments": '{"path": "."}'}}),
        ("ToolResult", {"tool_call_id": "c", "return_value": {"output": "a.txt"}}),
        ("ContentPart", {"type": "text", "text": "One."}),
        ("StatusUpdate", {"context_usage": 0.1}),
    ]
    records = [
        {"timestamp": 1.5, "message": {"type": kind, "payload": payload}} for kind, payload in lines
    ]
    assert documents(tmp_path, records) == [
        f"<|user|>which files?<|end|><|assistant|><think>list</think>\n\n{CALL}<|end|>"
        "<|env|>a.txt<|end|><|assistant|>One.<|end|>"
    ]


def test_the_command_lines_context_is_one_document_with_its_system_prompt(tmp_path: Path):
    records = [
        {"role": "_system_prompt", "content": "You are it."},
        {"role": "_checkpoint", "id": 0},
        {"role": "user", "content": [{"type": "text", "text": "<system>CHECKPOINT 0</system>"}]},
        {"role": "user", "content": "which files?"},
        {"role": "assistant", "content": [{"type": "think", "think": "list"}], "tool_calls": [
            {"id": "c", "function": {"name": "ls", "arguments": '{"path": "."}'}},
        ]},
        {"role": "tool", "content": "a.txt", "tool_call_id": "c"},
        {"role": "_usage", "token_count": 9},
        {"role": "assistant", "content": "One."},
    ]  # fmt: skip
    assert documents(tmp_path, records) == [
        "<|system|>You are it.<|end|><|env|><system>CHECKPOINT 0</system><|end|>"
        f"<|user|>which files?<|end|><|assistant|><think>list</think>\n\n{CALL}<|end|>"
        "<|env|>a.txt<|end|><|assistant|>One.<|end|>"
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"type": "metadata", "text": "another's"},
        {"type": "turn.prompt", "time": 1, "data": {}},
        {"type": "turn", "time": 1},
        {"type": "weather.report", "time": 1},
        {"timestamp": 1, "message": {"type": "x", "payload": {}}, "uuid": "u"},
    ],
    ids=str,
)
def test_other_logs_records_are_not_kimis(record: dict[str, Any]):
    assert recognise(record) is not kimi


# --- Grok -----------------------------------------------------------------------------------------


def test_groks_history_is_one_document(tmp_path: Path):
    thought = {"type": "reasoning", "id": "rs", "summary": [{"text": "list"}]}
    call = {"id": "c", "name": "ls", "arguments": '{"path": "."}'}
    searched = {"tool_type": "web_search", "action": {"query": "tides"}}
    history = [
        {"type": "system", "content": "You are it."},
        {"type": "user", "content": [{"type": "text", "text": "macOS"}], "synthetic_reason": "env"},
        {"type": "user", "content": [{"type": "text", "text": "which files?"}], "prompt_index": 0},
        thought | {"encrypted_content": "Z0FB", "status": "completed"},
        {"type": "assistant", "content": "I look.", "tool_calls": [call], "model_id": "x"},
        {"type": "tool_result", "tool_call_id": "c", "content": "a.txt"},
        {"type": "backend_tool_call", "kind": searched},
        {"type": "assistant", "content": "One.", "model_id": "x"},
    ]
    searching = '<tool_call>\n{"name": "web_search", "arguments": {"query": "tides"}}\n</tool_call>'
    assert documents(tmp_path, history) == [
        "<|system|>You are it.<|end|><|env|>macOS<|end|><|user|>which files?<|end|>"
        f"<|assistant|><think>list</think>\n\nI look.\n\n{CALL}<|end|>"
        f"<|env|>a.txt<|end|><|assistant|>{searching}\n\nOne.<|end|>"
    ]


def test_only_the_query_of_a_message_is_the_humans_where_it_is_marked():
    text = "<user_info>\nmacOS\n</user_info>\n<user_query>\nwhich tide?\n</user_query>"
    said = parsed({"type": "user", "content": text}, grok).turns
    assert said == (Turn("env", "<user_info>\nmacOS\n</user_info>"), Turn("user", "which tide?"))


def test_a_marked_context_without_a_query_is_split_off():
    text = "<user_info>\nmacOS\n</user_info>\nwhich tide?"
    said = parsed({"type": "user", "content": text}, grok).turns
    assert said == (Turn("env", "<user_info>\nmacOS\n</user_info>"), Turn("user", "which tide?"))


def test_reasoning_without_a_status_is_the_responses_interfaces():
    record = {"type": "reasoning", "id": "rs", "summary": [{"text": "list"}]}
    assert recognise(record) is codex


@pytest.mark.parametrize(
    "record",
    [
        {"type": "user", "content": "x", "id": "1"},
        {"type": "user", "content": "x", "role": "user"},
        {"type": "user", "text": "x"},
        {"type": "tool_result", "content": "x"},
        {"type": "article", "content": "x"},
    ],
    ids=str,
)
def test_other_logs_records_are_not_groks(record: dict[str, Any]):
    assert recognise(record) is not grok


# --- real logs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "known", "humans"),
    [("copilot_small", copilot, 2), ("grok_chat_history", grok, 2), ("kimi_small", kimi, 6)],
)
def test_real_sessions_are_read_to_the_last_line(
    shared_logs: Path, name: str, known: ModuleType, humans: int
):
    path = shared_logs / "other_agents" / f"{name}.jsonl"
    said = [parsed(json.loads(line), known) for line in path.read_text("utf-8").splitlines()]
    assert sum(turn.role == "user" for piece in said for turn in piece.turns) == humans

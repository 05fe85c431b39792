"""Codex rollouts, and the items of the Responses interface."""

import json
from pathlib import Path
from typing import Any

import pytest

import data
from tinyllm.documents import Turn
from tinyllm.formats import codex, recognise, responses
from tinyllm.formats.parsed import Parsed

CALL = '<tool_call>\n{"name": "shell", "arguments": {"command": "ls"}}\n</tool_call>'


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2025-11-02T10:00:00Z", "type": "response_item", "payload": payload}


def event(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2025-11-02T10:00:00Z", "type": "event_msg", "payload": payload}


def said_by(role: str, *texts: str, **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    return {"type": "message", "role": role, "content": content, **more}


def parsed(record: dict[str, Any]) -> Parsed:
    assert recognise(record) is codex
    result = codex.parse(record)
    assert result is not None
    return result


def turns(record: dict[str, Any]) -> list[tuple[str | None, str]]:
    return [(turn.role, turn.text) for turn in parsed(record).turns]


def documents(folder: Path, records: list[dict[str, Any]], scope: str = "full") -> list[str]:
    path = folder / "rollout.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return list(data.iter_documents([str(path)], scope))


# --- a session ------------------------------------------------------------------------------------


def test_an_agents_thoughts_words_and_calls_are_one_turn_until_a_result_comes(tmp_path: Path):
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "look first"}]}
    call = {"type": "function_call", "name": "shell", "arguments": '{"command": "ls"}'}
    session = [
        item(**said_by("user", "which files?")),
        item(**thought),
        item(**said_by("assistant", "I look.")),
        item(**call, call_id="c1"),
        item(type="function_call_output", call_id="c1", output="a.txt"),
        item(**said_by("assistant", "One: a.txt.")),
    ]
    assert documents(tmp_path, session) == [
        "<|user|>which files?<|end|>"
        f"<|assistant|><think>look first</think>\n\nI look.\n\n{CALL}<|end|>"
        "<|env|>a.txt<|end|>"
        "<|assistant|>One: a.txt.<|end|>"
    ]


def test_what_an_event_mirrors_is_said_once_wherever_it_stands(tmp_path: Path):
    session = [
        event(type="user_message", message="any gulls?"),
        item(**said_by("user", "any gulls?")),
        event(type="agent_reasoning", text="count"),
        item(type="reasoning", summary=[{"type": "summary_text", "text": "count"}]),
        event(type="agent_message", message="Eight."),
        item(**said_by("assistant", "Eight.")),
        event(
            type="item_completed", item={"type": "AgentMessage", "content": [{"text": "Eight."}]}
        ),
    ]
    assert documents(tmp_path, session) == [
        "<|user|>any gulls?<|end|><|assistant|><think>count</think>\n\nEight.<|end|>"
    ]


def test_what_only_an_event_says_is_kept(tmp_path: Path):
    session = [
        event(type="user_message", message="any gulls?"),
        event(type="agent_message", message="Eight."),
    ]
    assert documents(tmp_path, session) == ["<|user|>any gulls?<|end|><|assistant|>Eight.<|end|>"]


def test_a_mirrored_message_is_split_as_the_message_itself(tmp_path: Path):
    text = (
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nrun it"
    )
    session = [event(type="user_message", message=text), item(**said_by("user", text))]
    [document] = documents(tmp_path, session)
    assert document.count("run it") == document.count("Open tabs") == 1
    assert document.endswith("<|user|>run it<|end|>")


def test_an_old_rollout_is_a_header_and_bare_items(tmp_path: Path):
    session = [
        {"id": "s", "timestamp": "2025-07-01T10:00:00Z", "instructions": "Be brief.", "git": None},
        {"record_type": "state"},
        said_by("user", "hello"),
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z0FBQUE="},
        said_by("assistant", "Hi."),
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "c", "output": "a.txt"},
    ]
    assert documents(tmp_path, session) == [
        "<|system|>Be brief.<|end|><|user|>hello<|end|><|assistant|>Hi.\n\n<tool_call>\n"
        '{"name": "local_shell", "arguments": {"type": "exec", "command": ["ls"]}}\n'
        "</tool_call><|end|><|env|>a.txt<|end|>"
    ]


def test_a_copy_of_an_item_has_the_same_identity_and_another_item_has_not():
    first = parsed(item(**said_by("assistant", "Hi.", id="msg_1")))
    copied = {**item(**said_by("assistant", "Hi.", id="msg_1")), "timestamp": "later"}
    other = parsed(item(**said_by("assistant", "Hi.", id="msg_2")))
    assert first.identity == parsed(copied).identity != other.identity


# --- who speaks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "injected",
    [
        "<environment_context>\n<cwd>/w</cwd>\n</environment_context>",
        "<user_instructions>\nBe brief.\n</user_instructions>",
        "<permissions instructions>\nNo network.\n</permissions instructions>",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
        "<turn_aborted>\nThe user stopped the turn.\n</turn_aborted>",
        '<skill name="tides">\nHow to read them.\n</skill>',
    ],
)
def test_what_the_program_puts_under_user_is_no_humans(injected: str):
    assert turns(item(**said_by("user", injected))) == [("env", injected)]
    both = turns(item(**said_by("user", f"{injected}\n\nwhich tide?")))
    assert both == [("env", injected), ("user", "which tide?")]
    assert turns(item(**said_by("user", injected, "which tide?"))) == both


def test_agents_texts_and_context_in_one_text_leave_the_humans_words():
    text = (
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>\n\n"
        "<environment_context>\n<cwd>/w</cwd>\n</environment_context>\nfix it"
    )
    found = turns(item(**said_by("user", text)))
    assert [role for role, _ in found] == ["env", "env", "user"]
    assert found[-1] == ("user", "fix it")


@pytest.mark.parametrize(
    "heading",
    ["# Context from my IDE setup:", "# Files mentioned by the user:", "# Selected text:"],
)
def test_an_editors_context_is_split_from_the_request(heading: str):
    text = f"\n{heading}\n\n## a.py: /w/a.py\n\n## My request for Codex:\nrename f\n"
    found = turns(item(**said_by("user", text)))
    assert [role for role, _ in found] == ["env", "user"]
    assert found[1] == ("user", "rename f")


def test_a_shell_command_that_the_human_typed_is_the_humans():
    text = (
        "<user_shell_command>\n<command>\ngit status\n</command>\n"
        "<result>\nclean\n</result>\n</user_shell_command>"
    )
    found = turns(item(**said_by("user", text)))
    assert [turn for turn in found if turn[0] == "user"] == [("user", "git status")]
    assert "clean" in found[2][1]


@pytest.mark.parametrize(
    "text",
    ["what does <environment_context> mean?", "# a heading\n\nand text", "<div>\nhtml\n</div>"],
)
def test_a_humans_own_markup_stays_theirs(text: str):
    assert turns(item(**said_by("user", text))) == [("user", text)]


def test_marks_of_images_are_not_speech():
    content = ["<image name=[Image #1]>", "</image>", "what is this?"]
    assert turns(item(**said_by("user", *content))) == [("user", "what is this?")]


def test_developers_and_the_sessions_instructions_are_the_system():
    assert turns(item(**said_by("developer", "Be safe."))) == [("system", "Be safe.")]
    meta = {"id": "s", "base_instructions": {"text": "You are it."}, "instructions": "Use tabs."}
    record = {"timestamp": "t", "type": "session_meta", "payload": meta}
    assert turns(record) == [("system", "You are it."), ("system", "Use tabs.")]


def test_another_agents_message_and_a_programs_error_are_no_humans():
    message = item(type="agent_message", author="/root/a", content=[{"text": "done"}])
    assert turns(message) == [("env", "done")]
    assert turns(event(type="error", message="no credit")) == [("env", "no credit")]


# --- items ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ({"type": "function_call", "name": "f", "arguments": '{"a": 1}'}, {"a": 1}),
        ({"type": "custom_tool_call", "name": "f", "input": "*** Begin"}, "*** Begin"),
        ({"type": "tool_search_call", "name": "f", "arguments": {"query": "q"}}, {"query": "q"}),
        (
            {"type": "web_search_call", "name": "f", "action": {"query": "q", "url": None}},
            {"query": "q"},
        ),
        ({"type": "code_interpreter_call", "name": "f", "code": "1", "id": "x"}, {"code": "1"}),
        ({"type": "tool_call", "function": {"name": "f"}, "arguments": {"a": 1}}, {"a": 1}),
    ],
)
def test_calls_of_every_kind_say_what_they_ask_for(call: dict[str, Any], arguments: Any):
    [(role, text)] = turns(item(**call))
    body = text.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>")
    assert role == "assistant"
    assert json.loads(body) == {"name": "f", "arguments": arguments}


@pytest.mark.parametrize(
    "output",
    [
        "a.txt",
        [{"type": "input_text", "text": "a.txt"}, {"type": "input_image", "image_url": "x"}],
        {"type": "input_text", "text": "a.txt", "image_url": None},
        {"content": "a.txt", "success": False},
        '{"output": "a.txt", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}',
    ],
)
def test_results_are_the_environments_in_every_shape(output: Any):
    record = item(type="function_call_output", call_id="c", output=output)
    assert turns(record) == [("env", "a.txt")]


@pytest.mark.parametrize(
    "output",
    ['{"output": "a.txt", "size": 3}', '{"output": 3}', '{"output": "a', '{"answers": {"q": "a"}}'],
)
def test_json_that_a_command_printed_stays_as_it_is(output: str):
    record = item(type="function_call_output", call_id="c", output=output)
    assert turns(record) == [("env", output)]


def test_what_a_human_answers_to_the_agents_questions_is_theirs():
    answers = {"which": {"answers": ["the grey ones"]}, "more": {"answers": ["user_note: hurry"]}}
    output = json.dumps({"answers": answers})
    record = item(type="function_call_output", call_id="c", output=output)
    assert turns(record) == [("user", "the grey ones\nhurry")]


def test_a_call_that_holds_its_result_is_two_turns():
    record = item(type="mcp_call", name="f", arguments="{}", output="found")
    assert [role for role, _ in turns(record)] == ["assistant", "env"]


def test_encrypted_reasoning_and_images_are_noise():
    sealed = item(type="reasoning", summary=[], encrypted_content="Z0FBQUE=")
    assert parsed(sealed).turns == ()
    assert parsed(sealed).noise == 8
    image = item(type="image_generation_call", revised_prompt="a gull", result="aGVsbG8=")
    assert parsed(image).noise == 8
    assert "aGVsbG8=" not in parsed(image).turns[0].text


@pytest.mark.parametrize(
    "record",
    [
        {"type": "turn_context", "payload": {"cwd": "/w", "user_instructions": "x"}},
        {"type": "compacted", "payload": {"message": "so far: …", "replacement_history": []}},
        {"type": "world_state", "payload": {"full": True, "state": {}}},
        event(type="token_count", info=None),
        event(type="exec_command_end", stdout="a.txt", aggregated_output="a.txt"),
        event(type="task_complete", last_agent_message="Done."),
        event(type="something_new", count=3),
        item(type="ghost_snapshot", ghost_commit={"id": "c"}),
    ],
    ids=lambda record: str(record["payload"].get("type", record["type"])),
)
def test_records_about_the_session_are_no_speech(record: dict[str, Any]):
    assert parsed(record).turns == ()


def test_a_new_kind_of_event_that_says_something_is_an_unknown_shape():
    assert codex.parse(event(type="something_new", message="who says this?")) is None
    assert codex.parse(item(type="something_new", text="or this?")) is None


@pytest.mark.parametrize(
    "record",
    [
        {"type": "message", "message": {"role": "user", "content": "another agent's"}},
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Claude's"}]},
        {"type": "weather_call", "text": "no call of a tool"},
        {"type": "user", "payload": {"text": "another log's"}},
        {"id": "1", "timestamp": "t", "instructions": "i", "output": "a task's"},
    ],
    ids=str,
)
def test_other_logs_records_are_not_claimed(record: dict[str, Any]):
    assert recognise(record) is not codex


def test_a_long_run_of_openings_takes_no_longer_for_being_long():
    text = "<environment_context>\n" * 50_000
    assert turns(item(**said_by("user", text)))[0][0] == "env"


# --- the Responses interface ----------------------------------------------------------------------


def answer(record: dict[str, Any]) -> list[Turn]:
    assert recognise(record) is responses
    result = responses.parse(record)
    assert result is not None
    return list(result.turns)


def test_what_was_asked_and_the_answer_are_one_document():
    record = {
        "responses_create_params": {
            "instructions": "Be brief.",
            "input": [{"role": "user", "content": "which files?"}],
        },
        "response": {
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "look"}]},
                {"type": "function_call", "name": "shell", "arguments": '{"command": "ls"}'},
                {"type": "function_call_output", "output": "a.txt"},
                said_by("assistant", "One."),
            ]
        },
    }
    assert answer(record) == [
        Turn("system", "Be brief."),
        Turn("user", "which files?"),
        Turn("assistant", f"<think>look</think>\n\n{CALL}"),
        Turn("env", "a.txt"),
        Turn("assistant", "One."),
    ]


def test_an_input_may_be_a_text_and_the_answer_may_stand_alone():
    said = said_by("assistant", "Eight.")
    both = {"input": "gulls?", "output": [said]}
    assert answer(both) == [Turn("user", "gulls?"), Turn("assistant", "Eight.")]
    assert answer({"output": [said]}) == [Turn("assistant", "Eight.")]


@pytest.mark.parametrize("output", ["text", [], ["text"], [{"text": "x"}], {"type": "message"}])
def test_another_output_is_no_list_of_items(output: Any):
    assert not responses.recognise({"output": output})


def test_items_that_are_no_objects_are_an_unknown_shape():
    assert responses.parse({"responses_create_params": {"input": ["x"]}}) is None


# --- real logs ------------------------------------------------------------------------------------


def test_real_rollouts_are_read_to_the_last_line(shared_logs: Path):
    for path in sorted((shared_logs / "codex").iterdir()):
        for line in path.read_text(encoding="utf-8").splitlines():
            parsed(json.loads(line))


def test_the_case_of_mirrored_messages_is_said_once(shared_logs: Path):
    case = shared_logs.parent / "cases" / "logs" / "10_codex_mirrored.jsonl"
    assert list(data.iter_documents([str(case)], "voice")) == [
        "<|user|>what is 2+2<|end|><|assistant|>4<|end|>"
    ]

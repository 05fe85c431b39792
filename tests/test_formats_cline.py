"""Tasks of Cline and its descendants."""

import json
from typing import Any

import pytest

from tinyllm.formats import cline, recognise
from tinyllm.formats.parsed import Parsed


def parsed(record: dict[str, Any]) -> Parsed:
    assert recognise(record) is cline
    result = cline.parse(record)
    assert isinstance(result, Parsed)
    return result


def said(record: dict[str, Any]) -> list[tuple[str | None, str]]:
    return [(turn.role, turn.text) for turn in parsed(record).turns]


# --- Cline: what the model was given --------------------------------------------------------------

DETAILS = "<environment_details>\n# Open Tabs\npier.py\n</environment_details>"


def given(*texts: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


def test_the_task_is_a_humans_and_what_the_program_adds_is_not():
    assert said(given("<task>\nCount the gulls.\n</task>", DETAILS)) == [
        ("user", "Count the gulls."),
        ("env", DETAILS),
    ]


def test_a_file_that_the_program_put_into_a_task_is_not_the_humans():
    file = '<file_content path="pier.py">\nx = 1\n</file_content>'
    text = f"<task>\nWhat does 'pier.py' do?\n\n{file}\n</task>"
    assert said(given(text, DETAILS))[:2] == [
        ("user", "What does 'pier.py' do?"),
        ("env", f"{file}\n\n{DETAILS}"),
    ]


def test_a_result_is_the_environments_even_if_a_file_holds_such_tags():
    record = given("[read_file for 'p.md'] Result:", "<task>\nnobody said this\n</task>", DETAILS)
    assert {role for role, _ in said(record)} == {"env"}
    record = given(f"[read_file for 'p.md'] Result:\na\n<feedback>\nno\n</feedback>\n{DETAILS}")
    assert {role for role, _ in said(record)} == {"env"}


@pytest.mark.parametrize(
    "texts",
    [
        ["[ask_followup_question for 'Which?'] Result:", "<answer>\nthe grey ones\n</answer>"],
        ["[ask_followup_question for 'Which?'] Result:\n<answer>\nthe grey ones\n</answer>"],
        [
            "[attempt_completion] Result:",
            "The user has provided feedback on the results. Consider their input to continue the "
            "task, and then attempt completion again.\n<feedback>\nthe grey ones\n</feedback>",
        ],
        [
            "[execute_command for 'ls'] Result:",
            "The user denied this operation and provided the following feedback:\n"
            "<feedback>\nthe grey ones\n</feedback>",
        ],
        [
            "[TASK RESUMPTION] This task was interrupted 2 hours ago.",
            "New instructions for task continuation:\n<user_message>\nthe grey ones\n"
            "</user_message>",
        ],
        ["[plan_mode_respond] Result:", "<user_message>\nthe grey ones\n</user_message>"],
    ],
)
def test_what_a_human_answers_is_theirs_and_the_program_around_it_is_not(texts: list[str]):
    turns = said(given(*texts, DETAILS))
    assert [text for role, text in turns if role == "user"] == ["the grey ones"]
    assert turns[-1] == ("env", DETAILS)


def test_an_answer_to_a_refused_call_may_come_as_json():
    verdict = json.dumps({"status": "denied", "feedback": "the grey ones"}, separators=(",", ":"))
    record = given(DETAILS)
    record["content"].insert(0, {"type": "tool_result", "content": verdict})
    assert said(record) == [("user", "the grey ones"), ("env", DETAILS)]


def test_a_native_result_beside_the_details_is_the_environments():
    record = given(DETAILS)
    record["content"].insert(0, {"type": "tool_result", "content": "pier.txt"})
    assert said(record) == [("env", f"pier.txt\n\n{DETAILS}")]


def test_an_agents_text_with_a_call_is_its_own_and_reasoning_opens_it():
    text = (
        "<thinking>Where?</thinking>\n\nLooking.\n\n<read_file>\n<path>pier.py</path>\n</read_file>"
    )
    assert said(given(text, role="assistant")) == [
        (
            "assistant",
            "<think>Where?</think>\n\nLooking.\n\n<read_file>\n<path>pier.py</path>\n</read_file>",
        )
    ]


def test_a_native_call_of_clines_own_tools_shows_the_program():
    record = {
        "role": "assistant",
        "content": [{"type": "tool_use", "name": "attempt_completion", "input": {"result": "8"}}],
    }
    assert said(record)[0][0] == "assistant"


def test_messages_of_a_task_are_one_conversation_however_they_come():
    task, answer = given("<task>\nCount.\n</task>", DETAILS), given("Eight.", role="assistant")
    assert parsed(task).thread == ""
    record = {"messages": [given("You are Cline.", role="system"), task, answer]}
    assert said(record) == [
        ("system", "You are Cline."),
        ("user", "Count."),
        ("env", DETAILS),
        ("assistant", "Eight."),
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": "<task>Count.</task>\n<context>The pier.</context>"},
        {"role": "assistant", "content": "I can use read_file."},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "name": "read_file", "input": {}}],
        },
        {"messages": [{"role": "user", "content": "what is a <task> tag?"}]},
        {"type": "say", "say": "text", "text": "no time"},
        {"type": "say", "ask": "text", "ts": 1},
        {"type": "say", "say": ["text"], "ts": 1},
    ],
)
def test_other_messages_are_not_claimed_as_clines(record: dict[str, Any]):
    assert not cline.recognise(record)


# --- Cline: what the human was shown --------------------------------------------------------------


def shown(kind: str, text: str = "", type: str = "say", **more: Any) -> dict[str, Any]:
    return {"ts": 1743843600000, "type": type, type: kind, "text": text, **more}


@pytest.mark.parametrize(
    ("record", "role"),
    [
        (shown("task", "Count."), "user"),
        (shown("text", "Count.", images=[]), "user"),
        (shown("text", "Count.", conversationHistoryIndex=-1), "user"),
        (shown("user_feedback", "Count."), "user"),
        (shown("text", "Count.", partial=False), "assistant"),
        (shown("text", "Count.", conversationHistoryIndex=3), "assistant"),
        (shown("completion_result", "Count."), "assistant"),
        (shown("followup", "Count.", "ask"), "assistant"),
        (shown("followup", '{"question": "Count.", "suggest": []}', "ask"), "assistant"),
        (shown("plan_mode_respond", '{"response": "Count.", "options": []}', "ask"), "assistant"),
        (shown("command_output", "Count."), "env"),
        (shown("error", "Count."), "env"),
        (shown("browser_action_result", '{"logs": "Count.", "screenshot": "x"}'), "env"),
    ],
)
def test_a_shown_message_is_by_its_kind(record: dict[str, Any], role: str):
    assert said(record) == [(role, "Count.")]


@pytest.mark.parametrize(
    "record",
    [
        shown("api_req_started", '{"request": "Count.", "tokensIn": 3}'),
        shown("api_req_finished"),
        shown("checkpoint_created"),
        shown("command_output", "", "ask"),
        shown("resume_task", "", "ask"),
        shown("tool", '{"tool": "readFile", "path": "p"}', "ask", partial=True),
    ],
)
def test_counters_and_unfinished_calls_are_no_speech(record: dict[str, Any]):
    only = parsed(record)
    assert only.turns == ()
    assert only.noise == len(record["text"])


def test_shown_reasoning_and_calls_are_the_agents_and_join_its_text():
    assert said(shown("reasoning", "Where?")) == [("assistant", "<think>Where?</think>")]
    ((role, text),) = said(shown("command", "ls", "ask"))
    assert role == "assistant"
    assert '{"name": "execute_command", "arguments": {"command": "ls"}}' in text
    assert parsed(shown("text", "Looking.")).joins


@pytest.mark.parametrize("kind", ["text", "reasoning"])
def test_text_that_was_never_marked_as_finished_is_kept(kind: str):
    ((role, text),) = said(shown(kind, "Looking.", partial=True, conversationHistoryIndex=0))
    assert role == "assistant"
    assert "Looking." in text


def test_a_call_shows_neither_the_screens_facts_nor_its_path_twice():
    facts = {"path": "src/pier.py", "operationIsLocatedInWorkspace": True}
    read = {"tool": "readFile", "content": "C:\\work\\src\\pier.py"} | facts
    assert said(shown("tool", json.dumps(read))) == [
        (
            "assistant",
            '<tool_call>\n{"name": "readFile", "arguments": {"path": "src/pier.py"}}\n</tool_call>',
        )
    ]


def test_what_a_tool_found_is_the_environments_and_what_it_wrote_is_the_agents():
    found = shown("tool", '{"tool": "readFile", "path": "p", "content": "x = 1"}')
    assert said(found)[1:] == [("env", "x = 1")]
    wrote = shown("tool", '{"tool": "newFileCreated", "path": "p", "content": "x = 1"}', "ask")
    ((role, text),) = said(wrote)
    assert role == "assistant"
    assert "x = 1" in text


def test_a_result_shown_again_to_be_accepted_mirrors_the_first():
    assert parsed(shown("completion_result", "Eight.", "ask")).mirrors
    assert not parsed(shown("completion_result", "Eight.")).mirrors

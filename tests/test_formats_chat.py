"""OpenAI and Anthropic chats, and harness sessions of the same shape."""

import json
from typing import Any

import pytest

from tinyllm.documents import Turn
from tinyllm.formats import harness_session, openai_chat, recognise

PERSON = "[odalys @ Harbor]: Is it late?"
COMMAND = '<tool_call>\n{"name": "run_command", "arguments": {"command": "date"}}\n</tool_call>'


def chat(*messages: tuple[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in messages]}


def roles(record: dict[str, Any]) -> list[str | None]:
    """The roles in the turns that the right format finds in a record."""
    known = recognise(record)
    assert known is not None
    parsed = known.parse(record)
    assert parsed is not None
    return [turn.role for turn in parsed.turns]


# --- chats ------------------------------------------------------------------------------------


def test_each_role_of_a_chat_has_its_speaker():
    record = chat(
        ("system", "s"), ("developer", "d"), ("user", "u"), ("assistant", "a"), ("tool", "t")
    )
    assert roles(record) == ["system", "system", "user", "assistant", "env"]
    assert recognise(record) is openai_chat


def test_a_function_message_is_the_environments():
    assert roles(chat(("assistant", "a"), ("function", "f"))) == ["assistant", "env"]


def test_later_system_turns_of_a_plain_chat_stay_system():
    assert roles(chat(("system", "s"), ("user", "u"), ("system", "t"))) == [
        "system",
        "user",
        "system",
    ]


def test_null_content_with_calls_is_a_turn_of_calls():
    record = {
        "messages": [
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "which day?",
                "tool_calls": [
                    {"type": "function", "function": {"name": "date", "arguments": "{}"}}
                ],
            }
        ]
    }
    parsed = openai_chat.parse(record)
    assert parsed is not None
    call = '<tool_call>\n{"name": "date", "arguments": {}}\n</tool_call>'
    assert parsed.turns == (Turn("assistant", f"<think>which day?</think>\n\n{call}"),)


def test_two_equal_calls_are_two_calls():
    call = {"function": {"name": "knock", "arguments": {}}}
    parsed = openai_chat.parse({"messages": [{"role": "assistant", "tool_calls": [call, call]}]})
    assert parsed is not None
    assert parsed.turns[0].text.count("knock") == 2


def test_a_call_in_the_parts_and_beside_them_is_said_once():
    part = {"type": "tool_use", "name": "knock", "input": {}}
    call = {"function": {"name": "knock", "arguments": "{}"}}
    message = {"role": "assistant", "content": [part], "tool_calls": [call]}
    parsed = openai_chat.parse({"messages": [message]})
    assert parsed is not None
    assert parsed.turns[0].text.count("knock") == 1


def test_reasoning_that_the_content_holds_is_said_once():
    message = {"role": "assistant", "content": "<think>hm</think>\nYes.", "reasoning": "hm"}
    parsed = openai_chat.parse({"messages": [message]})
    assert parsed is not None
    assert parsed.turns == (Turn("assistant", "<think>hm</think>\nYes."),)


def test_messages_may_be_json_text():
    record = {"messages": json.dumps([{"role": "user", "content": "nested"}])}
    parsed = openai_chat.parse(record)
    assert openai_chat.recognise(record)
    assert parsed is not None
    assert parsed.turns == (Turn("user", "nested"),)


def test_a_system_prompt_beside_the_messages_comes_first():
    record = chat(("user", "u")) | {"system": [{"type": "text", "text": "Be dry."}]}
    parsed = openai_chat.parse(record)
    assert parsed is not None
    assert parsed.turns == (Turn("system", "Be dry."), Turn("user", "u"))


def test_a_system_prompt_that_the_messages_repeat_is_said_once():
    assert roles(chat(("system", "s"), ("user", "u")) | {"system": "s"}) == ["system", "user"]


def test_messages_under_traj_are_a_chat():
    assert roles({"traj": [{"role": "user", "content": "u"}], "reward": 1.0}) == ["user"]


def test_a_null_message_is_skipped():
    assert roles({"messages": [None, {"role": "user", "content": "u"}]}) == ["user"]


@pytest.mark.parametrize("odd", [7, "u", ["u"], {"content": "u"}, {"role": "narrator"}])
def test_a_message_that_nobody_known_says_makes_the_record_an_unknown_shape(odd: object):
    assert openai_chat.parse({"messages": [{"role": "user", "content": "u"}, odd]}) is None


@pytest.mark.parametrize(
    "record",
    [
        {"messages": None},
        {"messages": "hello"},
        {"messages": [{"type": "user", "content": "a Gemini session"}]},
        {"messages": [{"from_id": "user1", "text": "a Telegram export"}]},
        {"messages": [{"author": {"name": "a"}, "content": "a Discord export"}]},
        {"chosen": [], "rejected": [], "messages": [{"role": "user", "content": "u"}]},
        {"history": [{"role": "user", "content": "u"}], "trajectory": []},
    ],
)
def test_other_families_are_not_taken_for_chats(record: dict[str, Any]):
    assert recognise(record) not in (openai_chat, harness_session)


@pytest.mark.parametrize(
    "beside",
    [
        {"label": False},
        {"chosen": {"role": "assistant", "content": "a"}, "rejected": None},
        {"response": "a"},
        {"choices": [{"message": {"content": "a"}}]},
        {"completion": "a"},
    ],
)
def test_a_chat_whose_answer_stands_beside_it_is_another_familys(beside: dict[str, Any]):
    record = chat(("user", "u")) | beside
    assert recognise(record) not in (None, openai_chat, harness_session)
    assert openai_chat.parse(record) is None


def test_no_answer_beside_a_chat_is_none():
    assert recognise(chat(("user", "u")) | {"response": None}) is openai_chat


def test_a_call_under_a_role_of_its_own_is_the_assistants_and_its_result_the_environments():
    record = chat(
        ("user", "u"), ("function_call", '{"name": "tide", "arguments": {}}'), ("observation", "r")
    )
    parsed = openai_chat.parse(record)
    assert parsed is not None
    call = '<tool_call>\n{"name": "tide", "arguments": {}}\n</tool_call>'
    assert parsed.turns == (Turn("user", "u"), Turn("assistant", call), Turn("env", "r"))


def test_what_an_agents_front_end_puts_into_a_humans_message_is_the_environments():
    reminder = "<system-reminder>Be brief.</system-reminder>"
    parts = [{"type": "text", "text": text} for text in (reminder, "count the gulls")]
    parsed = openai_chat.parse(chat(("user", parts)))
    assert parsed is not None
    assert parsed.turns == (Turn("env", reminder), Turn("user", "count the gulls"))


def test_a_conversation_printed_for_people_has_its_speakers_back():
    shown = (
        "user: When is high tide?\nIn Brest.\n"
        'assistant: None\ntool: {"time": "04:31"}\nassistant: At 04:31.'
    )
    record = {"messages_display": shown}
    parsed = openai_chat.parse(record)
    assert recognise(record) is openai_chat
    assert parsed is not None
    assert parsed.turns == (
        Turn("user", "When is high tide?\nIn Brest."),
        Turn("env", '{"time": "04:31"}'),
        Turn("assistant", "At 04:31."),
    )


@pytest.mark.parametrize("shown", ["", "When?", "narrator: u\nuser: v"])
def test_another_text_under_that_key_is_an_unknown_shape(shown: str):
    assert openai_chat.parse({"messages_display": shown}) is None


# --- harness sessions -------------------------------------------------------------------------


def test_a_turn_that_opens_with_name_and_channel_is_a_human_and_the_others_are_not():
    record = chat(("system", "s"), ("user", PERSON), ("assistant", "a"), ("user", "04:31"))
    assert recognise(record) is harness_session
    assert roles(record) == ["system", "user", "assistant", "env"]


def test_nudges_under_system_are_the_environments():
    record = chat(
        ("system", "s"), ("system", "Task: look."), ("tool", "t"), ("system", "Continue your task.")
    )
    assert recognise(record) is harness_session
    assert roles(record) == ["system", "env", "env", "env"]


def test_a_command_in_the_text_that_a_user_turn_answers_shows_a_harness():
    record = chat(("user", "boot"), ("assistant", f"Hm.\n\n{COMMAND}"), ("user", "04:31"))
    assert recognise(record) is harness_session
    assert roles(record) == ["env", "assistant", "env"]


def test_a_command_that_a_tool_turn_answers_shows_no_harness():
    record = chat(("assistant", COMMAND), ("tool", "04:31"), ("user", "thanks"))
    assert recognise(record) is openai_chat
    assert roles(record) == ["assistant", "env", "user"]


def test_the_way_a_session_was_decided_is_told():
    parsed = harness_session.parse(chat(("user", PERSON)))
    assert parsed is not None
    assert parsed.decided == "harness markers"


def test_markers_are_found_in_parts_and_in_json_text():
    parts = [{"type": "text", "text": PERSON}]
    messages = [{"role": "user", "content": parts}, {"role": "user", "content": "04:31"}]
    for value in (messages, json.dumps(messages)):
        assert recognise({"messages": value}) is harness_session
        assert roles({"messages": value}) == ["user", "env"]


@pytest.mark.parametrize(
    "text",
    ["mail me [a@b.example]: now", "see PERSON [odalys @ Harbor]: hi", "[odalys @\nHarbor]: hi"],
)
def test_a_text_that_only_resembles_the_opening_shows_no_harness(text: str):
    assert recognise(chat(("user", text))) is openai_chat


def test_a_system_prompt_that_sounds_like_a_nudge_shows_no_harness():
    assert recognise(chat(("system", "Continue your task."), ("user", "u"))) is openai_chat


def test_with_a_system_prompt_beside_them_all_system_turns_of_a_session_are_nudges():
    record = chat(("user", PERSON), ("system", "Continue your task.")) | {"system": "s"}
    assert roles(record) == ["system", "user", "env"]

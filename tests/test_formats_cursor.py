"""Chats of Cursor, and Markdown that SpecStory writes."""

from typing import Any

import pytest

from tinyllm.formats import cursor, recognise
from tinyllm.formats.parsed import Parsed

LS = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'


def parsed(record: dict[str, Any]) -> Parsed:
    assert recognise(record) is cursor
    result = cursor.parse(record)
    assert isinstance(result, Parsed)
    return result


def said(record: dict[str, Any]) -> list[tuple[str | None, str]]:
    return [(turn.role, turn.text) for turn in parsed(record).turns]


STAMP = "<timestamp>Saturday, Apr 5, 2025, 9:00 AM (UTC+2)</timestamp>"


def entry(role: str, *parts: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"role": role, "message": {"content": content}}


def test_a_query_is_the_humans_and_what_stands_around_it_is_not():
    assert said(entry("user", f"{STAMP}\n<user_query>\ngulls?\n</user_query>")) == [
        ("env", STAMP),
        ("user", "gulls?"),
    ]


def test_a_query_goes_to_its_last_closing_tag():
    query = "what is </user_query>, and <module>?"
    record = entry("user", f"<user_query>\n{query}\n</user_query>")
    assert said(record) == [("user", query)]


@pytest.mark.parametrize(
    "query",
    [
        "The above subagent result is already visible to the user. End your turn.",
        "Briefly inform the user about the task result.",
    ],
)
def test_a_query_that_the_program_writes_is_the_environments(query: str):
    assert said(entry("user", f"<user_query>{query}</user_query>")) == [("env", query)]


def test_a_line_without_a_query_is_the_humans_but_for_what_was_put_in():
    assert said(entry("user", "gulls?")) == [("user", "gulls?")]
    assert said(entry("user", f"{STAMP}gulls?")) == [("env", STAMP), ("user", "gulls?")]


def test_an_agents_calls_follow_its_text_and_may_hold_a_string():
    call = {"type": "tool_use", "name": "ApplyPatch", "input": "*** Begin Patch"}
    assert said(entry("assistant", "Fixing.\n\n[REDACTED]", call)) == [
        (
            "assistant",
            "Fixing.\n\n<tool_call>\n"
            '{"name": "ApplyPatch", "arguments": "*** Begin Patch"}\n</tool_call>',
        )
    ]


def test_the_end_of_a_turn_is_no_speech():
    assert parsed({"type": "turn_ended", "status": "success"}) == Parsed()


def bubble(kind: int | str, text: str = "", **more: Any) -> dict[str, Any]:
    return {"bubbleId": "b", "type": kind, "text": text, **more}


def test_a_bubble_is_a_humans_or_the_agents():
    assert said(bubble(1, "gulls?", richText="{...}")) == [("user", "gulls?")]
    assert parsed(bubble(1, "gulls?", richText="{...}")).noise == 5
    record = bubble(
        2,
        "Looking.",
        thinking={"text": "Where?"},
        toolFormerData={"name": "bash", "rawArgs": '{"command": "ls"}', "result": "pier"},
    )
    assert said(record) == [
        ("assistant", f"<think>Where?</think>\n\nLooking.\n\n{LS}"),
        ("env", "pier"),
    ]


def test_a_conversation_holds_its_bubbles_or_only_their_ids():
    record = {"composerId": "c", "conversation": [bubble(1, "gulls?"), bubble(2, "Eight.")]}
    assert said(record) == [("user", "gulls?"), ("assistant", "Eight.")]
    headers = {"composerId": "c", "fullConversationHeadersOnly": [{"bubbleId": "b", "type": 1}]}
    assert parsed(headers).turns == ()


def test_the_agents_bubbles_that_follow_each_other_are_one_turn():
    thought, words = bubble(2, thinking={"text": "Where?"}), bubble(2, "Eight.")
    record = {"composerId": "c", "conversation": [bubble(1, "gulls?"), thought, words]}
    assert said(record)[1:] == [("assistant", "<think>Where?</think>\n\nEight.")]
    assert [parsed(one).joins for one in (bubble(1, "gulls?"), thought, words)] == [0, 1, 1]


def test_each_tab_is_a_conversation():
    tabs = [{"bubbles": [{"type": "user", "text": "a"}, {"type": "ai", "rawText": "b"}]}] * 2
    both = cursor.parse({"tabs": tabs})
    assert isinstance(both, list)
    assert [[turn.role for turn in one.turns] for one in both] == [["user", "assistant"]] * 2


EXPORT = (
    "# Gulls\n_Exported on 5/4/2025 at 09:00:00 GMT+2 from Cursor (1.2.1)_\n\n---\n\n"
    "**User**\n\ngulls?\n\n---\n\n**Cursor**\n\nEight.\n\n---\n\nAll grey.\n\n**User** asked.\n\n"
    "---\n\n**User**\n\nthanks\n"
)


@pytest.mark.parametrize("text", [EXPORT, EXPORT.replace("\n", "\r\n")], ids=["lf", "crlf"])
def test_an_export_is_parted_by_rules_and_names(text: str):
    turns = said({"text": text})
    assert [role for role, _ in turns] == ["user", "assistant", "user"]
    assert turns[0] == ("user", "gulls?")
    assert turns[1][1].endswith("**User** asked.")
    assert turns[2] == ("user", "thanks")


def test_a_chat_whose_head_was_cut_off_is_known_by_its_first_heading():
    text = "_**User (2025-04-05 09:00Z)**_\n\ngulls?\n\n---\n\n_**Agent**_\n\n---\n\nEight.\n"
    assert said({"text": text}) == [("user", "gulls?"), ("assistant", "Eight.")]


def test_a_transcript_as_text_is_parted_by_its_marks():
    text = (
        "user:\n<user_query>\ngulls?\nassistant:\nis a mark\n</user_query>\n\n"
        "assistant:\n[Thinking] **Looking**\n\nThe pier, then.\n"
        "[Tool call] Shell\n  command: ls\n  text: two\n\nlines\n\n[Tool result] Shell\n\n"
        "assistant:\n[Tool result] Shell\npier.txt\n\n"
        "assistant:\n[Thinking] **Answering**\n\nEight of them.\nThere are eight.\n\nAll grey.\n"
        f"\nuser:\n{STAMP}\n<user_query>\nthanks\n</user_query>\n"
    )
    call = '{"name": "Shell", "arguments": {"command": "ls", "text": "two\\n\\nlines"}}'
    assert said({"text": text}) == [
        ("user", "gulls?\nassistant:\nis a mark"),
        (
            "assistant",
            f"<think>**Looking**\n\nThe pier, then.</think>\n\n<tool_call>\n{call}\n</tool_call>",
        ),
        ("env", "pier.txt"),
        (
            "assistant",
            "<think>**Answering**\n\nEight of them.</think>\n\nThere are eight.\n\nAll grey.",
        ),
        ("env", STAMP),
        ("user", "thanks"),
    ]


def test_reasoning_without_titles_goes_to_the_next_mark():
    text = "user:\n<user_query>\ngulls?\n</user_query>\n\nassistant:\n[Thinking] One\ntwo\n"
    assert said({"text": text})[1:] == [("assistant", "<think>One\ntwo</think>")]


def test_what_was_asked_of_a_sub_agent_is_not_a_humans():
    text = "_**User (sidechain)**_\n\ncount\n\n---\n\n_**Agent - sidechain (m)**_\n\nEight.\n"
    assert said({"text": text}) == [("env", "count"), ("assistant", "Eight.")]


def test_a_chat_that_specstory_wrote_down_is_parted_by_its_headings():
    tool = '<tool-use data-tool-type="shell">\n<details>\npier\n</details>\n</tool-use>'
    text = (
        "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n# Gulls\n\n"
        "_**User (2025-04-05 09:00Z)**_\n\ngulls?\n\n---\n\n"
        "_**Agent (model m 2025-04-05 09:01Z)**_\n\n"
        "<think><details><summary>Thought Process</summary>\nWhere?</details></think>\n\n---\n\n"
        f"Looking.\n\n---\n\n{tool}\n\n"
        "---\n\n_****_\n\nEight.\n\n---\n\n_**User (2025-04-05 09:02Z)**_\n\n"
        "<command-name>/clear</command-name>\n"
    )
    assert said({"text": text}) == [
        ("user", "gulls?"),
        ("assistant", "<think>Where?</think>\n\nLooking."),
        ("env", tool),
        ("assistant", "Eight."),
        ("env", "<command-name>/clear</command-name>"),
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"text": "# Notes\n\n_**User**_ is a heading of SpecStory."},
        {"text": "gulls " * 2000 + "_**User**_"},
        {"text": {"a": 1}},
        {"text": "user:\nname: <user_query>"},
        {"text": "The user:\n<user_query>\ngulls?\n</user_query>"},
        {"role": "user", "message": "x"},
        {"role": "bird", "message": {"content": []}},
        {"type": "user", "role": "user", "message": {"content": []}},
        {"bubbleId": "b", "type": 3},
        {"composerId": 1, "conversation": []},
        {"tabs": ["a"]},
    ],
)
def test_other_records_are_not_claimed_as_cursors(record: dict[str, Any]):
    assert not cursor.recognise(record)

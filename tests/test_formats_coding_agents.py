"""Logs of SWE-agent and of aider."""

from typing import Any

import pytest

from tinyllm.formats import aider, recognise, swe_agent
from tinyllm.formats.parsed import Parsed

Said = list[tuple[str | None, str]]
LS = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'


def parsed(record: dict[str, Any]) -> Parsed:
    assert recognise(record) is swe_agent
    result = swe_agent.parse(record)
    assert isinstance(result, Parsed)
    return result


def said(record: dict[str, Any]) -> Said:
    return [(turn.role, turn.text) for turn in parsed(record).turns]


# --- SWE-agent ------------------------------------------------------------------------------------

HISTORY = [
    {"role": "system", "content": "You use a shell.", "agent": "main"},
    {"role": "user", "content": "DEMONSTRATION", "agent": "main", "is_demo": True},
    {"role": "user", "content": "Count the gulls.", "agent": "main"},
    {"role": "assistant", "content": "Looking.\n```\nls\n```", "thought": "Looking.\n"},
    {"role": "user", "content": "pier.txt", "agent": "main"},
    {
        "role": "assistant",
        "content": "Done.",
        "thought": "Enough.",
        "tool_calls": [{"function": {"name": "bash", "arguments": '{"command": "ls"}'}}],
    },
    {"role": "tool", "content": "8", "agent": "main"},
]
STEPS = [
    {
        "action": "ls",
        "observation": "pier.txt",
        "response": "Looking.\n```\nls\n```",
        "thought": "Looking.\n",
        "state": "{}",
    },
    {"action": "submit\n", "observation": "", "response": "Done.", "thought": "Done."},
]


def test_the_first_user_turn_is_the_task_and_later_ones_are_what_was_printed():
    assert said({"history": HISTORY}) == [
        ("system", "You use a shell."),
        ("env", "DEMONSTRATION"),
        ("user", "Count the gulls."),
        ("assistant", "Looking.\n```\nls\n```"),
        ("env", "pier.txt"),
        ("assistant", f"<think>Enough.</think>\n\nDone.\n\n{LS}"),
        ("env", "8"),
    ]


def test_a_trajectory_beside_the_history_is_noise():
    alone = parsed({"history": HISTORY})
    both = parsed({"history": HISTORY, "trajectory": STEPS})
    assert both.turns == alone.turns
    assert both.noise > alone.noise


def test_a_trajectory_alone_is_read_by_its_steps():
    assert said({"trajectory": STEPS}) == [
        ("assistant", "Looking.\n```\nls\n```"),
        ("env", "pier.txt"),
        ("assistant", "Done.\n\n" + LS.replace("ls", "submit")),
    ]


def test_a_trajectory_that_keeps_its_queries_opens_with_the_first():
    asked = [{"role": "system", "content": "S"}, {"role": "user", "content": "Count."}]
    steps = [{**STEPS[0], "query": asked}, {**STEPS[1], "query": [*asked, *asked]}]
    record = parsed({"trajectory": steps})
    assert [turn.role for turn in record.turns][:3] == ["system", "user", "assistant"]
    assert sum(turn.text == "Count." for turn in record.turns) == 1
    assert record.noise >= 2 * len("SCount.")


def test_a_plain_history_is_taken_where_a_trajectory_lies_beside_it():
    plain = [{"role": "user", "content": "Count."}, {"role": "user", "content": "8"}]
    assert not swe_agent.recognise({"history": plain})
    record = {"history": plain, "trajectory": STEPS}
    assert said(record) == [("user", "Count."), ("env", "8")]


def test_a_run_of_mini_swe_agent_is_no_plain_chat():
    messages = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Count."},
        {"role": "assistant", "content": "```bash\nls\n```"},
        {"role": "user", "content": "<returncode>0</returncode>"},
        {"role": "exit", "content": "Submitted"},
    ]
    record = {"messages": messages, "trajectory_format": "mini-swe-agent-1.1", "info": {}}
    assert [role for role, _ in said(record)] == [
        "system", "user", "assistant", "env", "env",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "record",
    [
        {"history": ["a"]},
        {"history": [{"role": "user", "content": "x"}]},
        {"history": [{"source": "user", "action": "message", "args": {}}]},
        {"trajectory": [{"role": "user", "content": "x"}]},
        {"trajectory": []},
        {"trajectory_format": 1, "messages": []},
    ],
)
def test_other_histories_are_not_claimed_as_swe_agents(record: dict[str, Any]):
    assert not swe_agent.recognise(record)


# --- aider ----------------------------------------------------------------------------------------

AIDER = (
    "\n# aider chat started at 2025-04-05 09:00:00\n\n"
    "> Model: m with diff edit format  \n> Git repo: .git  \n\n"
    "#### count the gulls  \n#### on the pier  \n\n"
    "#### How I count\n\nOne by one.\n\n> a quoted line\n\nEight.\n\n"
    "> Tokens: 2k sent  \n\n"
    "# aider chat started at 2025-04-06 09:00:00\n\n#### and today?  \n\nNine.\n\n"
    "# aider chat started at 2025-04-07 09:00:00\n\n"
)


def history(text: str) -> list[Said]:
    assert recognise({"text": text}) is aider
    sessions = aider.parse({"text": text})
    assert sessions is not None
    return [[(turn.role, turn.text) for turn in session.turns] for session in sessions]


def test_each_session_of_aider_is_a_conversation_and_an_empty_one_is_none():
    first, second = history(AIDER)
    assert first == [
        ("env", "Model: m with diff edit format\nGit repo: .git"),
        ("user", "count the gulls\non the pier"),
        ("assistant", "#### How I count\n\nOne by one.\n\n> a quoted line\n\nEight."),
        ("env", "Tokens: 2k sent"),
    ]
    assert second == [("user", "and today?"), ("assistant", "Nine.")]


def test_a_history_whose_line_ends_were_trimmed_goes_by_the_marks_alone():
    trimmed = "\n".join(line.rstrip() for line in AIDER.split("\n"))
    first, second = history(trimmed)
    assert first[1] == ("user", "count the gulls\non the pier\n\nHow I count")
    assert second == [("user", "and today?"), ("assistant", "Nine.")]


def test_a_history_with_crlf_is_read_alike():
    assert history(AIDER.replace("\n", "\r\n")) == history(AIDER)


def test_an_empty_line_of_a_human_says_nothing():
    text = "# aider chat started at 2025-04-05\n\n#### <blank>  \n\n> Bye  \n"
    assert history(text) == [[("env", "Bye")]]


def test_what_stands_before_a_human_spoke_is_the_programs():
    text = (
        "# aider chat started at 2025-04-05\n\n> aider --message # Count\n\nthe gulls  \n"
        "> Git repo: .git  \n\n#### # Count  \n####   \n#### the gulls  \n\nEight.\n"
    )
    assert history(text) == [
        [
            ("env", "aider --message # Count\n\nthe gulls\nGit repo: .git"),
            ("user", "# Count\n\nthe gulls"),
            ("assistant", "Eight."),
        ]
    ]


def test_a_question_that_is_logged_after_its_command_again_is_said_once():
    text = (
        "# aider chat started at 2025-04-05\n\n#### /ask how many  \n#### gulls?  \n\n"
        "#### how many  \n#### gulls?  \n> Scanning.  \n\nEight.\n\n"
        "#### go on  \n\n#### go on  \n"
    )
    assert history(text) == [
        [
            ("user", "/ask how many\ngulls?"),
            ("env", "Scanning."),
            ("assistant", "Eight."),
            ("user", "go on\n\ngo on"),
        ]
    ]


def test_reasoning_that_aider_shows_is_reasoning():
    text = (
        "# aider chat started at 2025-04-05\n\n#### gulls?  \n\n"
        "--------------\n► **THINKING**\n\nCount them.\n\n------------\n► **ANSWER**\n\nEight.\n"
    )
    assert history(text)[0][1] == ("assistant", "<think>Count them.</think>\n\nEight.")


@pytest.mark.parametrize(
    "text",
    ["# aider\n", "see # aider chat started at 2025", "", "x" * 300 + "# aider chat started at "],
)
def test_other_texts_are_not_claimed_as_aiders(text: str):
    assert not aider.recognise({"text": text})
    assert aider.parse({"text": text}) is None

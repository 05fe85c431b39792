"""Harness episodes and steps."""

from typing import Any

import pytest

from tinyllm.documents import Turn
from tinyllm.formats import harness_episode, harness_step, recognise

OUTPUT = (
    'I look.\n\n<tool_call>\n{"name": "run_command", "arguments": {"command": "wx"}}\n</tool_call>'
)
STEP = {"reasoning": "I look.", "command": "wx", "output": OUTPUT, "tool_result": "NE 15"}


def episode(*steps: Any, scratchpad: Any = "- storm") -> dict[str, Any]:
    return {"episode": "e", "scratchpad": scratchpad, "turns": list(steps), "temp": 0.7}


def turns(record: dict[str, Any]) -> tuple[Turn, ...]:
    known = recognise(record)
    assert known is not None
    parsed = known.parse(record)
    assert parsed is not None
    return parsed.turns


def test_an_episode_is_the_scratchpad_then_output_and_result_of_each_turn():
    assert turns(episode(STEP, STEP)) == (
        Turn("system", "- storm"),
        Turn("assistant", OUTPUT),
        Turn("env", "NE 15"),
        Turn("assistant", OUTPUT),
        Turn("env", "NE 15"),
    )


def test_what_output_already_says_is_booked_as_noise():
    parsed = harness_episode.parse(episode(STEP))
    assert parsed is not None
    assert parsed.noise == len("I look.") + len("wx")


def test_a_body_that_the_call_holds_with_escapes_is_noise():
    body = 'one\n"two"'
    output = '{"body": "one\\n\\"two\\""}'
    parsed = harness_step.parse({"scratchpad": "", "output": output, "body": body})
    assert parsed is not None
    assert parsed.noise == len(body)


def test_reasoning_that_output_does_not_hold_was_hidden():
    assert turns(episode({"reasoning": "hm", "output": "Aye."}, scratchpad=None)) == (
        Turn("assistant", "<think>hm</think>\n\nAye."),
    )


def test_a_step_without_output_is_its_reasoning_and_call():
    step = {"reasoning": "hm", "command": "wx", "body": None, "output": None}
    call = '<tool_call>\n{"name": "run_command", "arguments": {"command": "wx"}}\n</tool_call>'
    assert turns(episode(step, scratchpad=None)) == (
        Turn("assistant", f"<think>hm</think>\n\n{call}"),
    )


def test_a_missing_result_is_no_turn():
    step = STEP | {"tool_result": None}
    assert [turn.role for turn in turns(episode(step))] == ["system", "assistant"]


def test_a_result_that_is_an_object_is_kept_as_json():
    step = {"output": "a", "tool_result": {"rc": 0}}
    assert turns(episode(step))[-1] == Turn("env", '{"rc": 0}')


def test_a_flat_step_reads_like_an_episode_of_one_turn():
    step = {"scratchpad": "- storm", "notes": ["folded"], **STEP}
    assert recognise(step) is harness_step
    assert turns(step) == turns(episode(STEP))


def test_an_episode_that_never_began_has_its_scratchpad_alone():
    assert turns(episode()) == (Turn("system", "- storm"),)


@pytest.mark.parametrize("odd", [7, "text", {"output": 7}, {"output": "a", "reasoning": ["hm"]}])
def test_an_episode_with_an_odd_turn_is_an_unknown_shape(odd: object):
    assert harness_episode.parse(episode(STEP, odd)) is None


@pytest.mark.parametrize(
    "record",
    [
        {"question_id": 81, "turns": ["First question", "Second question"]},
        {"turns": [{"role": "user", "content": "u"}]},
        {"turns": None, "scratchpad": "s", "output": "o"},
        {"instruction": "i", "input": "", "output": "o"},
    ],
)
def test_other_records_with_turns_or_output_are_not_taken_for_a_harness(record: dict[str, Any]):
    assert recognise(record) not in (harness_episode, harness_step)

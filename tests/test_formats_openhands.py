"""Events of OpenHands, of both generations."""

from typing import Any

import pytest

from tinyllm.formats import openhands, recognise
from tinyllm.formats.parsed import Parsed

CALL = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'


def action(name: str, source: str = "agent", /, **args: Any) -> dict[str, Any]:
    return {
        "id": 3,
        "timestamp": "2025-04-05T09:00:00",
        "source": source,
        "message": "shown",
        "action": name,
        "args": args,
    }


def observation(name: str, content: str) -> dict[str, Any]:
    return {
        "id": 4,
        "timestamp": "2025-04-05T09:00:01",
        "source": "agent",
        "message": "shown",
        "observation": name,
        "content": content,
        "extras": {"command": "ls"},
    }


def answered(**message: Any) -> dict[str, Any]:
    calls = [
        {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
        {"id": "c2", "function": {"name": "bash", "arguments": '{"command": "pwd"}'}},
    ]
    return {
        "tool_call_id": "c1",
        "model_response": {"choices": [{"message": {"tool_calls": calls, **message}}]},
    }


def event(kind: str, source: str = "agent", /, **more: Any) -> dict[str, Any]:
    return {"id": "e", "timestamp": "2025-04-05T09:00:00", "source": source, "kind": kind, **more}


def parsed(record: dict[str, Any]) -> Parsed:
    assert recognise(record) is openhands
    result = openhands.parse(record)
    assert result is not None
    return result


def said(record: dict[str, Any]) -> list[tuple[str | None, str]]:
    return [(turn.role, turn.text) for turn in parsed(record).turns]


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def test_messages_are_the_humans_and_the_agents():
    assert said(action("message", "user", content="gulls?")) == [("user", "gulls?")]
    assert said(action("message", "agent", content="Eight.")) == [("assistant", "Eight.")]
    assert said(action("message", "environment", content="Timed out.")) == [("env", "Timed out.")]


def test_what_an_unattended_run_answers_is_not_a_humans():
    fake = (
        "Please continue working on the task on whatever approach you think is suitable.\n"
        "IMPORTANT: YOU SHOULD NEVER ASK FOR HUMAN HELP."
    )
    assert said(action("message", "user", content=fake)) == [("env", fake)]


def test_a_thought_is_reasoning_and_an_action_is_a_call():
    record = action("run", command="ls", thought="Look first.", is_static=False)
    assert said(record) == [
        (
            "assistant",
            "<think>Look first.</think>\n\n"
            '<tool_call>\n{"name": "run", "arguments": {"command": "ls"}}\n</tool_call>',
        )
    ]


def test_a_call_that_the_model_wrote_is_taken_as_it_wrote_it():
    record = action("run", command="ls", thought="") | {"tool_call_metadata": answered()}
    assert said(record) == [("assistant", CALL)]


def test_reasoning_of_an_answer_with_two_calls_is_said_once():
    first = action("run", command="ls") | {
        "tool_call_metadata": answered(reasoning_content="Both.")
    }
    second = action("run", command="pwd") | {
        "tool_call_metadata": answered(reasoning_content="Both.") | {"tool_call_id": "c2"}
    }
    assert said(first)[0][1].startswith("<think>Both.</think>")
    assert "Both." not in said(second)[0][1]


def test_an_observation_is_the_environments_whatever_its_source():
    assert said(observation("run", "pier.txt")) == [("env", "pier.txt")]


def test_copies_of_a_call_beside_its_observation_are_noise():
    record = observation("run", "pier.txt")
    with_copy = record | {"tool_call_metadata": answered()}
    assert parsed(with_copy).noise > parsed(record).noise
    assert parsed(record).noise == len("shown") + len("ls")


def test_the_last_words_of_a_run_are_plain_text():
    record = action("finish", outputs={}, thought="All eight are counted.")
    assert said(record) == [("assistant", "All eight are counted.")]
    record = action("finish", final_thought="Counted.", thought="Enough.")
    assert said(record) == [("assistant", "<think>Enough.</think>\n\nCounted.")]


def test_the_programs_own_words_at_the_end_are_not_the_agents():
    turns = said(action("finish", outputs={}, thought=""))
    assert "shown" not in turns[0][1]
    assert turns[0][0] == "assistant"


def test_a_thought_alone_is_reasoning():
    assert said(action("think", thought="Hm.")) == [("assistant", "<think>Hm.</think>")]


def test_a_system_message_is_the_identity_and_said_once():
    record = action("system", "agent", content="You count gulls.", tools=[])
    assert said(record) == [("system", "You count gulls.")]
    assert said({"history": [record, record, action("message", "user", content="go")]}) == [
        ("system", "You count gulls."),
        ("user", "go"),
    ]


@pytest.mark.parametrize(
    "record",
    [
        action("change_agent_state", "environment", agent_state="running"),
        action("recall", "user", query="gulls"),
        action("condensation"),
        observation("agent_state_changed", "running"),
        observation("null", "nothing"),
        event("ConversationStateUpdateEvent", "environment", key="k", value=1),
        event("PauseEvent", "user"),
        event("Condensation"),
    ],
)
def test_the_programs_state_is_no_speech(record: dict[str, Any]):
    assert parsed(record).turns == ()


def test_a_command_that_the_human_typed_in_the_terminal_is_theirs():
    assert said(action("run", "user", command="make")) == [("user", "make")]


@pytest.mark.parametrize("as_pairs", [False, True])
def test_a_runs_record_holds_its_events_one_by_one_or_in_pairs(as_pairs: bool):
    events: list[Any] = [action("run", command="ls", thought=""), observation("run", "pier.txt")]
    record = {"instance_id": "i", "history": [events] if as_pairs else events}
    assert [role for role, _ in said(record)] == ["assistant", "env"]
    assert parsed(record).thread is None


def test_events_of_a_file_are_one_conversation():
    assert parsed(action("message", "user", content="a")).thread == ""


def test_an_event_read_twice_has_the_same_identity():
    record = action("message", "user", content="a")
    assert parsed(record).identity == parsed(record | {"id": 9}).identity is not None
    later = record | {"timestamp": "2025-04-05T09:00:05"}
    assert parsed(later).identity != parsed(record).identity


# --- the agent SDK --------------------------------------------------------------------------------


def test_sdk_messages_are_by_source_and_injected_context_is_the_environments():
    message = {"role": "user", "content": text("gulls?")}
    record = event("MessageEvent", "user", llm_message=message, extended_content=text("<skill/>"))
    assert said(record) == [("user", "gulls?"), ("env", "<skill/>")]
    hook = event("MessageEvent", "environment", llm_message=message)
    assert said(hook) == [("env", "gulls?")]


def test_an_sdk_message_of_the_agent_opens_with_its_reasoning():
    message = {"role": "assistant", "content": text("Eight."), "reasoning_content": "Count."}
    assert said(event("MessageEvent", llm_message=message)) == [
        ("assistant", "<think>Count.</think>\n\nEight.")
    ]


def test_an_sdk_action_is_reasoning_words_and_a_call():
    record = event(
        "ActionEvent",
        thought=text("Looking."),
        thinking_blocks=[{"type": "thinking", "thinking": "Where?", "signature": "c2ln"}],
        reasoning_content="Where?",
        action={"command": "ls", "kind": "TerminalAction"},
        tool_name="bash",
        tool_call={"id": "c1", "name": "bash", "arguments": '{"command": "ls"}'},
    )
    assert said(record) == [("assistant", f"<think>Where?</think>\n\nLooking.\n\n{CALL}")]
    assert parsed(record).noise == 4


def test_an_sdk_action_without_a_kept_call_is_made_of_its_arguments():
    record = event("ActionEvent", tool_name="bash", action={"command": "ls"})
    assert said(record) == [("assistant", CALL)]


def test_an_sdk_run_ends_with_the_agents_words():
    record = event("ActionEvent", tool_name="finish", action={"message": "Counted."})
    assert said(record) == [("assistant", "Counted.")]


@pytest.mark.parametrize(
    "record",
    [
        event("ObservationEvent", "environment", observation={"content": text("pier")}),
        event("AgentErrorEvent", "agent", error="pier"),
        event("CondensationSummaryEvent", "environment", summary="pier"),
    ],
)
def test_sdk_results_errors_and_summaries_are_the_environments(record: dict[str, Any]):
    assert said(record) == [("env", "pier")]


def test_the_reason_that_a_human_gives_to_refuse_a_call_is_theirs():
    given = event("UserRejectObservation", "environment", rejection_reason="not the pier")
    assert said(given) == [("user", "not the pier")]
    none = event(
        "UserRejectObservation", "environment", rejection_reason="User rejected the action"
    )
    assert said(none)[0][0] == "env"


def test_an_sdk_system_prompt_is_the_identity():
    prompt = {"type": "text", "text": "You count gulls."}
    record = event("SystemPromptEvent", system_prompt=prompt, tools=[{"description": "x"}])
    assert said(record) == [("system", "You count gulls.")]
    assert parsed(record).noise == 1


@pytest.mark.parametrize(
    "record",
    [
        {"source": "web", "action": "message"},
        {"source": "web", "observation": "rain"},
        {"source": ["agent"], "action": "run", "args": {}},
        {"source": "agent", "kind": "thing"},
        {"history": [{"role": "user", "content": "x"}]},
        {"history": []},
        {"history": "long"},
    ],
)
def test_a_record_that_only_looks_alike_is_not_claimed(record: dict[str, Any]):
    assert not openhands.recognise(record)

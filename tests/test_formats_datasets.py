"""Training sets' shapes: instructions, prompts with completions, and preferences."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyllm.documents import Turn
from tinyllm.formats import alpaca, preference, prompt_completion, recognise
from tinyllm.formats.parsed import Format, Parsed

U, A = Turn("user", "Which wind?"), Turn("assistant", "North-east.")
ASKED = {"role": "user", "content": "Which wind?"}
SAID = {"role": "assistant", "content": "North-east."}


def parsed(known: Format, record: dict[str, Any]) -> Parsed:
    assert recognise(record) is known
    result = known.parse(record)
    assert isinstance(result, Parsed)
    return result


# --- Alpaca -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        {"instruction": "Which wind?", "input": "", "output": "North-east."},
        {"instruction": "Which wind?", "input": None, "output": "North-east."},
        {"instruction": "Which wind?", "input": "<noinput>", "output": "North-east."},
        {"instruction": "", "input": "Which wind?", "output": "North-east."},
        {"instruction": "Which wind?", "context": "", "response": "North-east."},
    ],
)
def test_an_instruction_is_the_humans_and_the_output_the_assistants(record: dict[str, Any]):
    assert parsed(alpaca, record).turns == (U, A)


def test_an_input_stands_below_its_instruction():
    record = {"instruction": "Translate.", "input": "vent", "output": "wind"}
    assert parsed(alpaca, record).turns[0] == Turn("user", "Translate.\n\nvent")


def test_a_system_prompt_and_earlier_pairs_come_first():
    record = {
        "instruction": "Which wind?",
        "output": "North-east.",
        "system": "Be brief.",
        "history": [["Rain?", "No."], ["", "Sun."]],
    }
    assert parsed(alpaca, record).turns == (
        Turn("system", "Be brief."),
        Turn("user", "Rain?"),
        Turn("assistant", "No."),
        Turn("assistant", "Sun."),
        U,
        A,
    )


def test_of_several_outputs_the_first_is_said_and_the_others_are_noise():
    record = {"instruction": "Which wind?", "output": ["North-east.", "I hate wind."]}
    assert parsed(alpaca, record).turns == (U, A)
    found = parsed(alpaca, record)
    assert found.noise == found.unchosen == len("I hate wind.")


def test_a_filled_template_beside_the_output_is_noise():
    text = "### Instruction: Which wind? ### Response: North-east."
    record = {"instruction": "Which wind?", "output": "North-east.", "text": text}
    assert parsed(alpaca, record).noise == len(text)


def test_reasoning_beside_an_answer_is_thought_first():
    record = {"instruction": "Which wind?", "output": "North-east.", "reasoning": "flags"}
    assert parsed(alpaca, record).turns[1].text == "<think>flags</think>\n\nNorth-east."


@pytest.mark.parametrize(
    "record",
    [
        {"instruction": ["a"], "output": "o"},
        {"instruction": "i", "output": {"a": "b"}},
        {"instruction": "i", "output": [1]},
        {"instruction": "i", "history": [{"action": "run"}], "output": "o"},
        {"instruction": "i"},
    ],
)
def test_other_records_with_an_instruction_are_not_taken_for_alpaca(record: dict[str, Any]):
    assert recognise(record) is not alpaca
    assert alpaca.parse(record) is None


# --- prompts and completions ------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": "Which wind?", "completion": "North-east."},
        {"prompt": "Which wind?", "response": "North-east."},
        {"prompt": [ASKED], "completion": [SAID]},
        {"prompt": [None, ASKED], "completion": SAID},
        {"prompt": "\n\nHuman: Which wind?\n\nAssistant:", "completion": " North-east."},
        {"question": "Which wind?", "answer": "North-east."},
        {"query": "Which wind?", "response": "North-east."},
        {"input": "Which wind?", "output": "North-east."},
        {"input": "Which wind?", "output": "North-east.", "traceId": "t", "type": "GENERATION"},
        {"human": "Which wind?", "assistant": "North-east."},
    ],
)
def test_a_prompt_is_the_humans_and_its_completion_the_assistants(record: dict[str, Any]):
    turns = parsed(prompt_completion, record).turns
    assert [Turn(turn.role, turn.text.strip()) for turn in turns] == [U, A]


def test_a_system_prompt_beside_a_question_comes_first():
    record = {"system_prompt": "Be brief.", "question": "Which wind?", "response": "North-east."}
    assert parsed(prompt_completion, record).turns == (Turn("system", "Be brief."), U, A)


def test_a_passage_stands_above_its_question():
    record = {"context": "Flags fly.", "question": "Which wind?", "answer": "North-east."}
    assert parsed(prompt_completion, record).turns == (
        Turn("user", "Flags fly.\n\nWhich wind?"),
        A,
    )


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": [ASKED], "reward_model": {"ground_truth": "NE"}, "data_source": "flags"},
        {"prompt": "Which wind?", "entry_point": "wind", "tests": [{"args": []}]},
        {"prompt": [ASKED]},
    ],
)
def test_in_a_task_only_the_human_speaks(record: dict[str, Any]):
    assert parsed(prompt_completion, record).turns == (U,)


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": None, "completion": "a"},
        {"prompt": 7, "tests": []},
        {"prompt": ["a", "b"], "reward_model": {}},
        {"prompt": "a dog, oil on canvas", "seed": 7, "steps": 20},
        {"question": "Which wind?", "answers": {"text": ["NE"]}},
        {"input": {"city": "Brest"}, "output": {"wind": "NE"}},
        {"tool": "wx", "input": "Brest", "output": "NE"},
        {"traceId": "t", "type": "SPAN", "input": "Brest", "output": "NE"},
    ],
)
def test_other_records_with_a_prompt_are_an_unknown_shape(record: dict[str, Any]):
    assert recognise(record) is None
    assert prompt_completion.parse(record) is None


# --- preferences ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        {
            "chosen": "\n\nHuman: Which wind?\n\nAssistant: North-east.",
            "rejected": "\n\nHuman: Which wind?\n\nAssistant: Who cares.",
        },
        {"chosen": [ASKED, SAID], "rejected": [ASKED, {**SAID, "content": "Who cares."}]},
        {"prompt": "Which wind?", "chosen": [ASKED, SAID], "rejected": [ASKED, SAID]},
        {"prompt": "Which wind?", "chosen": [SAID], "rejected": [SAID]},
        {"prompt": [ASKED], "chosen": SAID, "rejected": SAID},
        {"question": "Which wind?", "chosen": "North-east.", "rejected": "Who cares."},
        {
            "conversations": [{"from": "human", "value": "Which wind?"}],
            "chosen": {"from": "gpt", "value": "North-east."},
            "rejected": {"from": "gpt", "value": "Who cares."},
        },
        {"messages": [ASKED], "chosen": {"content": "North-east."}, "rejected": {"content": ""}},
        {
            "chosen_messages": [
                {"role": "user", "content": [{"type": "text", "value": U.text}]},
                SAID,
            ],
            "rejected_messages": [ASKED, SAID],
        },
    ],
)
def test_of_two_answers_the_chosen_one_is_said(record: dict[str, Any]):
    assert parsed(preference, record).turns == (U, A)


def test_the_rejected_answer_is_noise():
    record = {"prompt": "Which wind?", "chosen": "North-east.", "rejected": "Who cares."}
    found = parsed(preference, record)
    assert found.noise == found.unchosen == len("Who cares.")


def test_a_prompt_that_the_chosen_conversation_repeats_is_noise():
    record = {"prompt": "Which wind?", "chosen": [ASKED, SAID], "rejected": []}
    assert parsed(preference, record).noise == len("Which wind?")


def test_a_system_prompt_beside_two_answers_comes_first():
    record = {"system": "Be brief.", "question": U.text, "chosen": A.text, "rejected": "No."}
    assert parsed(preference, record).turns == (Turn("system", "Be brief."), U, A)


@pytest.mark.parametrize(
    "judged",
    [
        {"messages": [ASKED, SAID]},
        {"conversations": [{"from": "human", "value": U.text}, {"from": "gpt", "value": A.text}]},
        {"prompt": "Which wind?", "completion": "North-east."},
    ],
)
def test_a_conversation_judged_good_is_said_and_one_judged_bad_is_noise(judged: dict[str, Any]):
    assert parsed(preference, judged | {"label": True}).turns == (U, A)
    bad = parsed(preference, judged | {"label": False})
    assert bad.turns == ()
    assert bad.noise == bad.unchosen >= len(U.text + A.text)


@pytest.mark.parametrize(
    "record",
    [
        {"text": "North-east.", "label": True},
        {"messages": [ASKED], "label": "wind"},
        {"chosen": "North-east."},
        {"chosen": None, "rejected": None},
        {"chosen": 1, "rejected": 0},
    ],
)
def test_other_records_with_a_label_or_a_choice_are_no_preferences(record: dict[str, Any]):
    assert recognise(record) is not preference
    assert preference.parse(record) is None


def test_a_choice_between_messages_of_nobody_known_is_an_unknown_shape():
    odd = [{"role": "narrator", "content": "x"}]
    assert preference.parse({"chosen": odd, "rejected": odd}) is None


# --- all of them ------------------------------------------------------------------------------

KEYS = [
    "instruction", "input", "output", "history", "system", "prompt", "completion", "response",
    "question", "answer", "chosen", "rejected", "messages", "label", "reward_model", "context",
]  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=4)
    | st.sampled_from(["[", "user"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["role", "content", "from", "value"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    "known", [alpaca, prompt_completion, preference], ids=lambda known: known.NAME
)
@given(record=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5))
@settings(max_examples=200)
def test_any_values_are_parsed_or_unknown_but_never_an_error(known: Format, record: dict[str, Any]):
    assert isinstance(known.recognise(record), bool)
    result = known.parse(record)
    assert result is None or isinstance(result, Parsed)


@pytest.mark.parametrize(
    ("family", "names"),
    [("alpaca", {"alpaca"}), ("preference", {"preference"})],
)
def test_real_data_sets_are_recognised(shared_logs: Any, family: str, names: set[str]):
    from test_formats import formats_in

    assert set(formats_in(shared_logs / family)) == names

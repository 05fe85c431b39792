"""Role play and stories: SillyTavern chats, character cards, KoboldAI saves."""

from typing import Any

import pytest

from tinyllm.documents import Turn
from tinyllm.formats import character_card, koboldai, recognise, sillytavern
from tinyllm.formats.parsed import Parsed

# --- SillyTavern --------------------------------------------------------------------------------


def tavern(**record: Any) -> Parsed:
    record = {"name": "Wren", "is_user": False, "is_system": False, "mes": "Ahoy", **record}
    assert recognise(record) is sillytavern
    parsed = sillytavern.parse(record)
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    "header",
    [
        {"user_name": "Odalys", "character_name": "Wren", "create_date": "2024-5-1"},
        {"chat_metadata": {"note_prompt": "dark"}, "user_name": "unused"},
    ],
)
def test_the_header_of_a_chat_says_nothing(header: dict[str, Any]):
    assert recognise(header) is sillytavern
    assert sillytavern.parse(header) == Parsed()


def test_each_name_speaks_and_the_lines_of_a_file_are_one_thread():
    human, character = tavern(name="Odalys", is_user=True), tavern()
    assert human.turns == (Turn("user", "Ahoy", "Odalys"),)
    assert character.turns == (Turn("assistant", "Ahoy", "Wren"),)
    assert human.thread == character.thread == ""


def test_the_chosen_swipe_is_the_message_and_all_swipes_are_noise():
    parsed = tavern(mes="Ahoy", swipes=["Hello", "Ahoy"], swipe_id=1)
    assert [turn.text for turn in parsed.turns] == ["Ahoy"]
    assert parsed.noise == len("HelloAhoy")
    assert parsed.unchosen == len("Hello")


def test_a_characters_reasoning_goes_before_its_words():
    parsed = tavern(extra={"reasoning": "Greet them."})
    assert parsed.turns == (Turn("assistant", "<think>Greet them.</think>\n\nAhoy", "Wren"),)


@pytest.mark.parametrize(
    "message",
    [
        {"name": "SillyTavern System", "is_system": True},
        {"name": "System", "extra": {"type": "narrator"}},
        {"name": "Note", "is_user": True, "is_system": True, "extra": {"type": "comment"}},
    ],
)
def test_what_the_program_puts_into_a_chat_is_nobodys(message: dict[str, Any]):
    assert tavern(**message).turns == (Turn("env", "Ahoy"),)


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"is_user": True}, "user"),
        ({"swipes": ["Ahoy"]}, "assistant"),
        ({"gen_started": "2024-05-01T10:00:00Z"}, "assistant"),
    ],
)
def test_a_message_that_was_hidden_from_the_model_keeps_its_speaker(
    message: dict[str, Any], role: str
):
    assert tavern(is_system=True, **message).turns[0].role == role


def test_a_copy_in_a_branch_of_the_chat_is_recognised_by_its_date():
    sent = {"send_date": "May 1, 2024 10:00am"}
    assert tavern(**sent).identity == tavern(**sent, swipe_id=0).identity
    assert tavern(**sent).identity != tavern(**sent, mes="Hello").identity
    assert tavern(send_date="").identity is None


@pytest.mark.parametrize("change", [{"mes": None}, {"name": 3}])
def test_a_message_of_another_shape_is_unknown(change: dict[str, Any]):
    assert sillytavern.parse({"name": "Wren", "is_user": False, "mes": "a", **change}) is None


# --- character cards ----------------------------------------------------------------------------

CARD = {
    "name": "Wren",
    "description": "{{char}} keeps a lighthouse with {{user}}.",
    "personality": "dry",
    "scenario": "A storm.",
    "first_mes": "*<BOT> looks up.* You again, <USER>?",
    "mes_example": "",
}


def documents(record: dict[str, Any]) -> list[tuple[Turn, ...]]:
    assert recognise(record) is character_card
    parsed = character_card.parse(record)
    assert parsed is not None
    assert all(document.thread is None for document in parsed)
    return [document.turns for document in parsed if document.turns]


def test_a_card_is_a_system_prompt_and_an_opening():
    system = "Wren keeps a lighthouse with User.\n\ndry\n\nA storm."
    opening = "*Wren looks up.* You again, User?"
    assert documents(CARD) == [(Turn("system", system), Turn("assistant", opening))]


@pytest.mark.parametrize("spec", ["chara_card_v1", "chara_card_v2", "chara_card_v3"])
def test_the_later_specs_hold_the_card_under_data(spec: str):
    assert documents({"spec": spec, "data": CARD}) == documents(CARD)


def test_fields_that_stand_beside_data_again_are_noise():
    parsed = character_card.parse({"spec": "chara_card_v2", "data": CARD, **CARD})
    assert parsed is not None
    repeated = ("description", "personality", "scenario", "first_mes")
    assert sum(document.noise for document in parsed) == sum(len(CARD[key]) for key in repeated)


def test_system_prompt_and_last_instructions_frame_the_description():
    card = {**CARD, "system_prompt": "{{original}}Be Wren.", "post_history_instructions": "Stay."}
    [(system, _)] = documents(card)
    assert system.text.startswith("Be Wren.\n\nWren keeps")
    assert system.text.endswith("\n\nStay.")


def test_each_other_greeting_is_a_document():
    card = {**CARD, "alternate_greetings": ["Come in."], "group_only_greetings": ["Who is there?"]}
    assert documents(card)[1:] == [
        (Turn("assistant", "Come in."),),
        (Turn("assistant", "Who is there?"),),
    ]


def test_each_example_is_a_document_of_turns():
    example = (
        "<START>\n{{user}}: Is it on?\n{{char}}: Always.\nSince 1911.\nWren: *nods*\n"
        "<start>\nThe lamp turns.\n{{random_user_1}}: Hello?"
    )
    assert documents({**CARD, "mes_example": example})[1:] == [
        (Turn("user", "Is it on?"), Turn("assistant", "Always.\nSince 1911.\n\n*nods*")),
        (Turn("assistant", "The lamp turns."), Turn("user", "Hello?")),
    ]


def test_lore_that_is_in_use_is_the_environments():
    entries = [{"content": "The lamp is old."}, {"content": "Unused", "enabled": False}]
    card = {**CARD, "character_book": {"entries": entries}}
    assert documents(card)[-1] == (Turn("env", "The lamp is old."),)


def test_the_first_editors_named_the_fields_otherwise():
    card = {"char_name": "Wren", "char_persona": "dry", "char_greeting": "I am {{char}}."}
    assert documents(card) == [(Turn("system", "dry"), Turn("assistant", "I am Wren."))]


@pytest.mark.parametrize("change", [{"first_mes": 3}, {"alternate_greetings": [3]}])
def test_a_card_of_another_shape_is_unknown(change: dict[str, Any]):
    assert character_card.parse({"spec": "chara_card_v2", "data": {**CARD, **change}}) is None


@pytest.mark.parametrize(
    "record", [{"spec": "openapi"}, {"first_mes": "a"}, {"spec": None, "description": "a"}]
)
def test_other_records_are_no_cards(record: dict[str, Any]):
    assert not character_card.recognise(record)


# --- KoboldAI -----------------------------------------------------------------------------------


def kobold(prompt: str, *actions: Any, **record: Any) -> list[Parsed]:
    record = {"gamestarted": True, "prompt": prompt, "actions": list(actions), **record}
    assert recognise(record) is koboldai
    parsed = koboldai.parse(record)
    assert parsed is not None
    return parsed


def kobold_turns(prompt: str, *actions: str, **record: Any) -> tuple[Turn, ...]:
    return kobold(prompt, *actions, **record)[0].turns


def test_a_story_is_a_plain_document_of_its_pieces():
    assert kobold_turns("The gate", " opened", ".") == (Turn(None, "The gate opened."),)


def test_a_storys_notes_are_the_environments_and_other_choices_noise():
    story, notes = kobold(
        "The gate",
        " opened.",
        memory="A lock.",
        authorsnote="Calm.",
        worldinfo=[{"key": "lock", "content": "Built 1911."}, {"content": "x", "widisabled": True}],
        actions_metadata={"0": {"Alternative Text": [{"Text": " shut."}]}},
    )
    assert story.turns == (Turn(None, "The gate opened."),)
    assert story.noise == len(" shut.")
    assert notes.turns == (Turn("env", "A lock.\n\nCalm.\n\nBuilt 1911."),)


def test_a_later_save_numbers_its_actions_and_keeps_the_choices():
    actions = {"0": {"Selected Text": " opened.", "Options": [{"text": " shut."}]}}
    record = {"gamestarted": True, "prompt": "The gate", "actions": {"actions": actions}}
    assert recognise(record) is koboldai
    [story] = koboldai.parse(record) or []
    assert story.turns == (Turn(None, "The gate opened."),)
    assert story.noise == len(" shut.")


def test_an_action_that_was_taken_back_is_noise():
    actions = {str(number): {"Selected Text": text} for number, text in enumerate([" a", " b"])}
    record = {
        "gamestarted": True,
        "prompt": "The gate",
        "actions": {"action_count": 0, "actions": actions},
    }
    [story] = koboldai.parse(record) or []
    assert story.turns == (Turn(None, "The gate a"),)
    assert story.noise == len(" b")


def test_instruct_tags_open_turns_and_memory_is_the_system_prompt():
    turns = kobold_turns(
        "\n{{[INPUT]}}\nHow deep?{{[INPUT_END]}}",
        "\n{{[OUTPUT]}}\n",
        "<think>5</think>",
        "Five metres.\n{{[OUTPUT_END]}}\n{{[SYSTEM]}}\nBe brief.\n{{[INPUT]}}\nWide?",
        memory="You keep a lock.",
    )
    assert turns == (
        Turn("system", "You keep a lock."),
        Turn("user", "How deep?"),
        Turn("assistant", "<think>5</think>Five metres."),
        Turn("env", "Be brief."),
        Turn("user", "Wide?"),
    )


def test_a_save_may_hold_the_users_own_tags():
    settings = {
        "opmode": 4,
        "instruct_starttag": "\\n### Instruction:\\n",
        "instruct_endtag": "\\n### Response:\\n",
        "instruct_endtag_end": "</s>",
    }
    turns = kobold_turns(
        "\n### Instruction:\nHow deep?\n### Response:\nFive.</s>", savedsettings=settings
    )
    assert turns == (Turn("user", "How deep?"), Turn("assistant", "Five."))


def test_names_open_turns_in_a_chat():
    settings = {"opmode": 3, "chatname": "Odalys", "chatopponent": "Wren||$||Teo"}
    turns = kobold_turns(
        "A storm.\nWren: Who is there?",
        "\nOdalys: Me.\nIt rains.",
        "\nTeo: Come in.",
        savedsettings=settings,
        memory="A lighthouse.",
    )
    assert turns == (
        Turn("system", "A lighthouse.\n\nA storm."),
        Turn("assistant", "Who is there?", "Wren"),
        Turn("user", "Me.\nIt rains.", "Odalys"),
        Turn("assistant", "Come in.", "Teo"),
    )


def test_a_players_lines_are_marked_in_an_adventure():
    turns = kobold_turns(
        "You wake.", "\n\n> You stand up\n\n", "The floor creaks.", savedsettings={"opmode": 2}
    )
    assert turns == (
        Turn("assistant", "You wake."),
        Turn("user", "You stand up"),
        Turn("assistant", "The floor creaks."),
    )


def test_quoted_lines_of_a_story_are_not_a_players():
    assert kobold_turns("> quoted\nText", savedsettings={"opmode": 1})[0].role is None


def test_pictures_in_a_story_are_left_out():
    assert kobold_turns("The gate[<|p|img123|p|>]", " opened.")[0].text == "The gate opened."


def test_an_empty_save_says_nothing():
    assert [parsed.turns for parsed in kobold("")] == [()]


@pytest.mark.parametrize("actions", [[3], [["a"]], 3])
def test_actions_of_another_shape_are_unknown(actions: Any):
    assert koboldai.parse({"gamestarted": True, "prompt": "a", "actions": actions}) is None


@pytest.mark.parametrize(
    "record", [{"prompt": "a", "actions": []}, {"actions": ["a"], "gamestarted": True}]
)
def test_other_records_with_actions_are_no_saves(record: dict[str, Any]):
    assert not koboldai.recognise(record)

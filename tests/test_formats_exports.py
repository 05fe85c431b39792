"""Exports of web assistants: ChatGPT's tree of messages, Claude.ai's list of them."""

from typing import Any

import pytest

from tinyllm.documents import Turn
from tinyllm.formats import chatgpt_export, claude_ai_export, recognise
from tinyllm.formats.parsed import Parsed


def node(parent: str | None, role: str, content: Any, **message: Any) -> dict[str, Any]:
    """A node of ChatGPT's tree; a string stands for plain text."""
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    return {
        "parent": parent,
        "children": [],
        "message": {"author": {"role": role}, "content": content, **message},
    }


def chatgpt(*nodes: dict[str, Any], current: str | None = "") -> Parsed:
    """Nodes named 1, 2, … below a root without a message; the last one is current."""
    mapping = {"0": {"message": None, "parent": None, "children": ["1"]}}
    mapping.update({str(number): node for number, node in enumerate(nodes, 1)})
    record = {"mapping": mapping, "current_node": str(len(nodes)) if current == "" else current}
    assert recognise(record) is chatgpt_export
    parsed = chatgpt_export.parse(record)
    assert parsed is not None
    return parsed


QUESTION = node("0", "user", "How deep is the lock?")


# --- ChatGPT ------------------------------------------------------------------------------------


def test_the_current_branch_is_followed_and_the_others_are_noise():
    parsed = chatgpt(
        QUESTION,
        node("1", "assistant", "Four metres."),
        node("1", "assistant", "Five metres."),
        node("3", "user", "Thanks"),
    )
    assert [turn.text for turn in parsed.turns] == [
        "How deep is the lock?",
        "Five metres.",
        "Thanks",
    ]
    assert parsed.noise == parsed.unchosen == len("text") + len("Four metres.")


@pytest.mark.parametrize("current", [None, "gone"])
def test_without_a_current_node_the_latest_leaf_ends_the_branch(current: str | None):
    parsed = chatgpt(
        QUESTION,
        node("1", "assistant", "Five metres.", create_time=20.0),
        node("1", "assistant", "Four metres.", create_time=10.0),
        current=current,
    )
    assert parsed.turns[-1] == Turn("assistant", "Five metres.")


def test_a_tree_that_bites_its_tail_is_read_once():
    parsed = chatgpt(node("2", "user", "a"), node("1", "assistant", "b"))
    assert [turn.text for turn in parsed.turns] == ["a", "b"]


def test_thoughts_calls_and_the_answer_are_one_turn_unless_a_result_stands_between():
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "Look it up"}]}
    code = {"content_type": "code", "language": "unknown", "text": '{"q": "lock"}'}
    parsed = chatgpt(
        QUESTION,
        node("1", "assistant", thoughts),
        node("2", "assistant", code, recipient="web.run"),
        node("3", "tool", {"content_type": "execution_output", "text": "5 m"}),
        node("4", "assistant", {"content_type": "reasoning_recap", "content": "Thought for 9s"}),
        node("5", "assistant", "Five metres.", recipient="all"),
    )
    assert parsed.turns[1:] == (
        Turn(
            "assistant",
            "<think>Look it up</think>\n\n"
            '<tool_call>\n{"name": "web.run", "arguments": {"q": "lock"}}\n</tool_call>',
        ),
        Turn("env", "5 m"),
        Turn("assistant", "Five metres."),
    )


def test_code_sent_to_a_tool_is_its_argument_as_it_stands():
    code = {"content_type": "code", "language": "python", "text": "print(1 + 1)"}
    parsed = chatgpt(QUESTION, node("1", "assistant", code, recipient="python"))
    assert '"arguments": "print(1 + 1)"' in parsed.turns[1].text


def test_an_analysis_channel_is_reasoning():
    parsed = chatgpt(QUESTION, node("1", "assistant", "Hm.", channel="analysis"))
    assert parsed.turns[1].text == "<think>Hm.</think>"


def test_what_the_user_keeps_as_standing_instructions_is_the_system_prompt():
    context = {
        "content_type": "user_editable_context",
        "user_profile": "I keep a lock.",
        "user_instructions": "Be brief.",
    }
    hidden = {"is_visually_hidden_from_conversation": True}
    parsed = chatgpt(node("0", "user", context, metadata=hidden))
    assert parsed.turns == (Turn("system", "I keep a lock.\n\nBe brief."),)


def test_instructions_of_old_exports_stand_in_the_metadata():
    data = {"about_user_message": "I keep a lock.", "about_model_message": "Be brief."}
    parsed = chatgpt(node("0", "system", "", metadata={"user_context_message_data": data}))
    assert parsed.turns == (Turn("system", "I keep a lock.\n\nBe brief."),)


def test_instructions_that_stand_in_both_places_are_said_once():
    context = {"content_type": "user_editable_context", "user_profile": "About: I keep a lock."}
    data = {"about_user_message": "I keep a lock."}
    parsed = chatgpt(node("0", "user", context, metadata={"user_context_message_data": data}))
    assert parsed.turns == (Turn("system", "About: I keep a lock."),)


def test_what_the_program_puts_in_under_user_or_system_is_not_the_humans():
    hidden = {"is_visually_hidden_from_conversation": True}
    parsed = chatgpt(
        node("0", "system", "You are a guide."),
        node("1", "user", "What is new?"),
        node("2", "user", "A scheduled task starts now.", metadata=hidden),
        node("3", "system", "The user uploaded a file."),
    )
    assert [turn.role for turn in parsed.turns] == ["system", "user", "env", "env"]


def test_images_say_nothing_and_a_voice_says_its_transcript():
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
        {"content_type": "audio_transcription", "text": "How deep?", "direction": "in"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://y"},
        "And how wide?",
    ]
    parsed = chatgpt(node("0", "user", {"content_type": "multimodal_text", "parts": parts}))
    assert parsed.turns == (Turn("user", "How deep?\n\nAnd how wide?"),)


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("Five metres \ue200cite\ue202turn0search1\ue202turn0search4\ue201.", "Five metres."),
        ('See \ue200entity\ue202["place","Ronne","harbour"]\ue201.', "See Ronne."),
        ("See \ue200url\ue202the chart\ue202turn0news1\ue201.", "See the chart."),
        ("Five metres【12†source】.", "Five metres."),
        ("Kept: 【note】 \ue200 alone", "Kept: 【note】 \ue200 alone"),
    ],
)
def test_marks_of_sources_leave_the_answers_words(marked: str, plain: str):
    assert chatgpt(QUESTION, node("1", "assistant", marked)).turns[1].text == plain


def test_an_author_whom_nobody_knows_makes_an_unknown_shape():
    record = {"mapping": {"1": node(None, "narrator", "Once")}, "current_node": "1"}
    assert chatgpt_export.parse(record) is None


@pytest.mark.parametrize(
    "record",
    [{"mapping": {}}, {"mapping": {"a": "b"}}, {"mapping": {"a": {"x": 1}}}, {"mapping": [1]}],
)
def test_another_mapping_is_no_chatgpt_export(record: dict[str, Any]):
    assert not chatgpt_export.recognise(record)


# --- Claude.ai ----------------------------------------------------------------------------------


def claude(*messages: dict[str, Any], **record: Any) -> Parsed:
    value = {"uuid": "c", "name": "Lock", "chat_messages": list(messages), **record}
    assert recognise(value) is claude_ai_export
    parsed = claude_ai_export.parse(value)
    assert parsed is not None
    return parsed


def text(sender: str, words: str, **message: Any) -> dict[str, Any]:
    return {"sender": sender, "content": [{"type": "text", "text": words}], **message}


def test_a_result_inside_the_assistants_message_is_the_environments():
    blocks = [
        {"type": "thinking", "thinking": "Look it up", "summaries": [{"summary": "Looking"}]},
        {"type": "text", "text": "I'll look."},
        {"type": "tool_use", "name": "search", "input": {"q": "lock"}},
        {"type": "tool_result", "content": [{"type": "text", "text": "5 m"}]},
        {"type": "text", "text": "Five metres."},
        {"type": "token_budget"},
    ]
    parsed = claude(text("human", "How deep?"), {"sender": "assistant", "content": blocks})
    assert parsed.turns == (
        Turn("user", "How deep?"),
        Turn(
            "assistant",
            "<think>Look it up</think>\n\nI'll look.\n\n"
            '<tool_call>\n{"name": "search", "arguments": {"q": "lock"}}\n</tool_call>',
        ),
        Turn("env", "5 m"),
        Turn("assistant", "Five metres."),
    )


def test_the_text_beside_the_blocks_repeats_them():
    parsed = claude(text("human", "How deep?", text="How deep?"))
    assert parsed.turns == (Turn("user", "How deep?"),)
    assert parsed.noise == len("How deep?")


def test_old_exports_have_the_text_alone_with_a_stand_in_for_what_it_left_out():
    gap = "```\nThis block is not supported on your current device yet.\n```"
    parsed = claude({"sender": "assistant", "text": f"I'll look.\n{gap}\n\nFive.", "content": []})
    assert parsed.turns == (Turn("assistant", "I'll look.\n\n\nFive."),)


def test_an_attached_files_text_is_not_the_humans():
    file = {"file_name": "log.txt", "extracted_content": "06:00 gate open"}
    parsed = claude(text("human", "Read this", attachments=[file], files=[{"file_name": "p.png"}]))
    assert parsed.turns == (Turn("env", "06:00 gate open"), Turn("user", "Read this"))


EDITED = (
    text("human", "How deep?", uuid="1", parent_message_uuid="0"),
    text("assistant", "Four.", uuid="2", parent_message_uuid="1"),
    text("human", "Sure?", uuid="3", parent_message_uuid="2"),
    text("assistant", "Five.", uuid="4", parent_message_uuid="1"),
)


def test_messages_on_a_branch_that_was_left_are_noise():
    parsed = claude(*EDITED)
    assert [turn.text for turn in parsed.turns] == ["How deep?", "Five."]
    assert parsed.noise == parsed.unchosen == len("text") * 2 + len("Four.") + len("Sure?")


def test_the_leaf_that_the_export_names_ends_the_branch():
    parsed = claude(*EDITED, current_leaf_message_uuid="3")
    assert [turn.text for turn in parsed.turns] == ["How deep?", "Four.", "Sure?"]


def test_a_message_whose_parent_is_missing_stays():
    parsed = claude(
        text("human", "How deep?", uuid="1", parent_message_uuid="0"),
        text("assistant", "Five.", uuid="2", parent_message_uuid="gone"),
    )
    assert [turn.text for turn in parsed.turns] == ["How deep?", "Five."]


def test_a_conversation_without_messages_says_nothing():
    assert claude().turns == ()


@pytest.mark.parametrize(
    "record",
    [{"chat_messages": None}, {"chat_messages": "x"}, {"chat_messages": [{"role": "user"}]}],
)
def test_another_list_of_messages_is_no_claude_export(record: dict[str, Any]):
    assert not claude_ai_export.recognise(record)

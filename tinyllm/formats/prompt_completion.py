"""Prompts and completions: a question and its answer, or a prompt whose answer is yet to come.

Either side is a text or a list of messages. In rows for reinforcement learning (verl) and in
tasks that tests decide (HumanEval), only the human speaks.

Sources: https://huggingface.co/docs/trl/dataset_formats and
https://verl.readthedocs.io/en/latest/preparation/prepare_data.html.
"""

from collections.abc import Mapping
from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.content import (
    SEPARATOR,
    Misfit,
    first_text,
    from_json,
    join,
    think,
    unfit_is_unknown,
)
from tinyllm.formats.messages import (
    chat_turns,
    marked,
    members,
    message_noise,
    message_turns,
    said,
)
from tinyllm.formats.parsed import Parsed

NAME = "prompt_completion"
# Under which key a prompt's answer stands, for each key of a prompt.
_PAIRS: Mapping[str, tuple[str, ...]] = {
    "prompt": ("completion", "response", "output", "answer", "generation", "canonical_solution"),
    "messages": ("completion",),
    "question": ("answer", "response", "output"),
    "query": ("response", "answer", "output"),
    "problem": ("solution", "answer"),
    "input": ("output", "response"),
    "user": ("assistant",),
    "human": ("assistant", "ai", "bot"),
}
KEYS = frozenset(_PAIRS)

# A prompt beside one of these is a task, and a prompt alone is one too.
_TASK_KEYS = frozenset({
    "reward_model", "data_source", "ability", "extra_info", "ground_truth", "golden_answers",
    "entry_point", "tests", "test", "task_id",
})  # fmt: skip
# An `input` beside one of these is a tool's, or a step's of a program that was traced.
_TOOL_KEYS = frozenset({
    "tool", "tool_name", "toolName", "tool_call_id", "command", "exit_code", "traceId", "trace_id",
})  # fmt: skip
_GENERATION = "GENERATION"  # of such steps, the one in which a model answers
_SYSTEM_KEYS = ("system", "system_prompt")
_REASONING_KEYS = ("reasoning", "reasoning_content", "thinking", "cot", "Complex_CoT", "rationale")
_CONTEXT_KEYS = ("context", "passage")


def recognise(record: dict[str, Any]) -> bool:
    return _sides(record) is not None or _is_task(record)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    sides = _sides(record)
    if sides is None and not _is_task(record):
        raise Misfit
    prompt, answer = sides or (record["prompt"], None)
    asked = before_prompt(record) + with_context(record, prompt_turns(prompt))
    turns = asked + (with_reasoning(record, answer_turns(answer)) if answer is not None else [])
    return Parsed(tuple(turns), noise=side_noise(prompt) + side_noise(answer))


def _sides(record: dict[str, Any]) -> tuple[object, object] | None:
    """A record's prompt and answer."""
    for key, answer_keys in _PAIRS.items():
        if not _is_side(record.get(key)) or (key == "input" and _is_tools(record)):
            continue
        for answer_key in answer_keys:
            if _is_side(record.get(answer_key)):
                return record[key], record[answer_key]
    return None


def _is_tools(record: dict[str, Any]) -> bool:
    return not _TOOL_KEYS.isdisjoint(record) and record.get("type") != _GENERATION


def _is_task(record: dict[str, Any]) -> bool:
    if not _is_side(record.get("prompt")):
        return False
    return len(record) == 1 or not _TASK_KEYS.isdisjoint(record)


def _is_side(value: object) -> bool:
    """True for a text, a message, or messages that are not all null."""
    if isinstance(value, dict):
        return "role" in value and "content" in value
    if isinstance(value, list):
        first = next((message for message in value if message is not None), None)
        return isinstance(first, dict) and ("role" in first or "from" in first)
    return isinstance(value, str)


def before_prompt(record: dict[str, Any]) -> list[Turn]:
    """The system prompt and the earlier pairs of question and answer. Raises Misfit."""
    system = first_text(record, _SYSTEM_KEYS)
    turns = [Turn("system", system)] if system else []
    history = record.get("history")
    if isinstance(history, str) and history.lstrip()[:1] == "[":
        history = from_json(history)
    if history is None or history == "":
        return turns
    if not is_history(history):
        raise Misfit
    for question, answer in history:
        turns += [turn for turn in (Turn("user", question), Turn("assistant", answer))
                  if turn.text.strip()]  # fmt: skip
    return turns


def is_history(value: object) -> bool:
    """True for a list of pairs of texts."""
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)
        for pair in value
    )


def prompt_turns(value: object) -> list[Turn]:
    """What a prompt says: a text, which may mark who speaks, a message or messages.

    Raises Misfit.
    """
    if isinstance(value, str):
        turns = marked(value)
        if turns is not None:
            return turns
        return [Turn("user", value)] if value.strip() else []
    if isinstance(value, dict):
        return said(value)
    if isinstance(value, list):
        return chat_turns(value)
    raise Misfit


def answer_turns(value: object) -> list[Turn]:
    """What an answer says: a text, a message, or messages. Raises Misfit."""
    if isinstance(value, str):
        return marked(value) or ([Turn("assistant", value)] if value.strip() else [])
    if isinstance(value, dict):
        named = isinstance(value.get("role", value.get("from")), str)
        return said(value) if named else message_turns(value, "assistant")
    if isinstance(value, list):
        return chat_turns(value)
    raise Misfit


def with_context(record: dict[str, Any], turns: list[Turn]) -> list[Turn]:
    """The prompt's turns; in a lone question, before it the passage that it asks about."""
    context = first_text(record, _CONTEXT_KEYS)
    if not context or len(turns) != 1 or turns[0].role != "user" or context in turns[0].text:
        return turns
    return [Turn("user", SEPARATOR.join((context, turns[0].text)))]


def with_reasoning(record: dict[str, Any], turns: list[Turn]) -> list[Turn]:
    """An answer's turns with the reasoning that stands beside it, unless they hold it."""
    thought = think(first_text(record, _REASONING_KEYS))
    if not thought or not turns or turns[0].role != "assistant" or "<think>" in turns[0].text:
        return turns
    return [Turn("assistant", join(thought, turns[0].text)), *turns[1:]]


def side_noise(value: object) -> int:
    """Bytes of a prompt or an answer that are signatures or files. Raises Misfit."""
    if isinstance(value, dict):
        return message_noise(value)
    return sum(map(message_noise, members(value))) if isinstance(value, list) else 0

"""Preferences: of two answers, the one that was chosen; of judged answers, those judged good.

What wasn't chosen is booked as noise: a model must not learn to speak so. A conversation whose
`label` is false has no turns.

Sources: https://huggingface.co/docs/trl/dataset_formats,
https://huggingface.co/datasets/Anthropic/hh-rlhf, https://github.com/hiyouga/LLaMA-Factory.
"""

from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats import harness_session, openai_chat, prompt_completion, sharegpt
from tinyllm.formats.content import Misfit, string_bytes, unfit_is_unknown
from tinyllm.formats.parsed import Format, Parsed
from tinyllm.formats.prompt_completion import (
    answer_turns,
    before_prompt,
    prompt_turns,
    side_noise,
)

NAME = "preference"
_SIDES = (
    ("chosen", "rejected"),
    ("chosen_messages", "rejected_messages"),
    ("chosen_response", "rejected_response"),
)
_LABEL = "label"
KEYS = frozenset({_LABEL, *(chosen for chosen, _ in _SIDES)})

_PROMPT_KEYS = ("prompt", "conversations", "messages", "question", "instruction", "input", "query")
# The formats of a judged conversation, tried in this order.
_JUDGED: tuple[Format, ...] = (harness_session, openai_chat, sharegpt, prompt_completion)


def recognise(record: dict[str, Any]) -> bool:
    return _chosen(record) is not None or _judged(record) is not None


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    known = _judged(record)
    if known is not None:
        judged = _without_label(record)
        if not record[_LABEL]:
            size = string_bytes(judged)
            return Parsed(noise=size, unchosen=size)
        parsed = known.parse(judged)
        if not isinstance(parsed, Parsed):
            raise Misfit
        return parsed
    sides = _chosen(record)
    if sides is None:
        raise Misfit
    chosen, rejected = sides
    answer = answer_turns(chosen)
    unchosen = string_bytes(rejected)
    noise = side_noise(chosen) + unchosen
    if any(turn.role == "user" for turn in answer):  # the whole conversation, prompt included
        before = [] if answer[0].role == "system" else before_prompt(record)
        prompt = next((record[key] for key in _PROMPT_KEYS if key in record), None)
        noise += string_bytes(prompt)
        return Parsed((*before, *answer), noise=noise, unchosen=unchosen)
    turns = (*before_prompt(record), *_prompt(record), *answer)
    return Parsed(turns, noise=noise, unchosen=unchosen)


def _prompt(record: dict[str, Any]) -> list[Turn]:
    """What was said before the answers. Raises Misfit."""
    for key in _PROMPT_KEYS:
        if record.get(key):
            value = record[key]
            return prompt_turns(value if isinstance(value, str | dict | list) else None)
    return []


def _chosen(record: dict[str, Any]) -> tuple[object, object] | None:
    """The chosen side and the other; None without them."""
    for chosen, rejected in _SIDES:
        value = record.get(chosen)
        if rejected in record and isinstance(value, str | list | dict) and value:
            return value, record[rejected]
    return None


def _judged(record: dict[str, Any]) -> Format | None:
    """The format of a conversation beside which a label tells whether it is good."""
    if not isinstance(record.get(_LABEL), bool):
        return None
    judged = _without_label(record)
    return next((known for known in _JUDGED if known.recognise(judged)), None)


def _without_label(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != _LABEL}

"""The Responses interface's answers, with what was asked: lists of items under `input`, `output`.

Either stands in the record itself, or the request under `responses_create_params` and the answer
under `response`.
Source: https://platform.openai.com/docs/api-reference/responses.
"""

from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.content import Misfit, merge, text_of, unfit_is_unknown
from tinyllm.formats.parsed import Parsed
from tinyllm.formats.response_items import are_items, item_noise, item_turns, user_turns

NAME = "responses"

_REQUEST = "responses_create_params"
KEYS = frozenset({_REQUEST, "response", "output"})


def recognise(record: dict[str, Any]) -> bool:
    params = record.get(_REQUEST)
    if isinstance(params, dict) and "input" in params:
        return True
    return are_items(_answer(record).get("output"))


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    answer = _answer(record)
    params = record.get(_REQUEST)
    asked = params if isinstance(params, dict) else record
    instructions = text_of(asked.get("instructions", answer.get("instructions")))
    turns = [Turn("system", instructions)]
    noise = 0
    for items in (asked.get("input"), answer.get("output")):
        if isinstance(items, str):
            turns += user_turns(items)
        elif items is not None:
            noise += sum(item_noise(item) for item in _members(items))
            turns += [turn for item in _members(items) for turn in item_turns(item)]
    return Parsed(tuple(merge(turns)), noise=noise)


def _answer(record: dict[str, Any]) -> dict[str, Any]:
    answer = record.get("response")
    return answer if isinstance(answer, dict) else record


def _members(items: object) -> list[dict[str, Any]]:
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Misfit
    return items

"""Alpaca: an instruction, perhaps with an input, and the output; earlier pairs under `history`.

Where `output` lists several answers, the first is the one preferred.

Sources: https://github.com/tatsu-lab/stanford_alpaca, https://github.com/hiyouga/LLaMA-Factory
(data/README.md), and https://huggingface.co/datasets/databricks/databricks-dolly-15k, which says
`context` and `response`.
"""

import re
from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.content import Misfit, merge, string_bytes, unfit_is_unknown
from tinyllm.formats.parsed import Parsed
from tinyllm.formats.prompt_completion import before_prompt, is_history, with_reasoning

NAME = "alpaca"
KEYS = frozenset({"instruction"})

_INPUT_KEYS = ("input", "context")
# What data sets write where an instruction needs no input.
_PLACEHOLDER = re.compile(r"\W{0,3}(?:no ?input|n/a)\W{0,3}", re.IGNORECASE)
_OUTPUT_KEYS = ("output", "response", "completion", "answer")
# The instruction, its input and the output once more, as a model was given them.
_FILLED_TEMPLATE = "text"


def recognise(record: dict[str, Any]) -> bool:
    if not isinstance(record.get("instruction"), str) or _output(record) is None:
        return False
    history = record.get("history")
    return not isinstance(history, list | dict) or is_history(history)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    instruction, answers = record.get("instruction"), _output(record)
    given = next((record[key] for key in _INPUT_KEYS if record.get(key)), "")
    if not isinstance(instruction, str) or not isinstance(given, str) or answers is None:
        raise Misfit
    if _PLACEHOLDER.fullmatch(given):
        given = ""
    asked = [text for text in (instruction, given) if text.strip()]
    answer = answers[0]
    turns = merge(Turn("user", text) for text in asked)
    if answer.strip():
        turns += with_reasoning(record, [Turn("assistant", answer)])
    filled = record.get(_FILLED_TEMPLATE)
    repeated = filled if isinstance(filled, str) and answer in filled else None
    others = string_bytes(answers[1:])
    noise = others + string_bytes(repeated)
    return Parsed((*before_prompt(record), *turns), noise=noise, unchosen=others)


def _output(record: dict[str, Any]) -> list[str] | None:
    """The answers, the best first."""
    value = next((record[key] for key in _OUTPUT_KEYS if record.get(key) is not None), None)
    listed = value if isinstance(value, list) else [value]
    answers = [answer for answer in listed if isinstance(answer, str)]
    return answers if answers and len(answers) == len(listed) else None

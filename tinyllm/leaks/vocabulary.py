"""Secrets that the tokenizer itself spells: one that is trained on logs learns what they repeat."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from tinyllm.errors import UserError
from tinyllm.leaks.candidates import CANARY, Value
from tinyllm.leaks.exposure import DRAWN_KINDS
from tinyllm.leaks.guessing import Shape
from tinyllm.leaks.scoring import bytes_of_tokens
from tinyllm.tokenization import DEFAULT_TOKENIZER, load_tokenizer

# Probability that a vocabulary which has seen no secret gives an alarm.
ALPHA_VOCABULARY = 1e-4
_SHORTEST, _LONGEST = 4, 16
_RUN = re.compile(rb"[A-Za-z]{4,}")
# Letters in a row can stand at so many places of a token.
_PLACES = 16


def in_vocabulary(
    values: Sequence[Value], tokens: Sequence[bytes], open_text: Iterable[str]
) -> set[int]:
    """Indexes of the values that tokens spell, and neither other text nor the usual tokens do.

    values     secrets; of those that people choose only canaries are looked for
    tokens     the bytes of each token
    open_text  text of the logs without the secrets

    Letters in a row that chance drew are within one of n tokens with a probability of n times
    _PLACES over the number of such rows, at most.
    """
    own = b"\n".join(
        sorted({token for token in tokens if len(token) >= _SHORTEST} - _usual_tokens())
    )
    drawn = [value.kind in DRAWN_KINDS or value.kind == CANARY for value in values]
    bar = math.log(max(1, sum(drawn)) / ALPHA_VOCABULARY)
    cost = math.log(2 * _PLACES * max(1, len(tokens)))
    others = "\n".join(open_text).encode()
    found = set()
    for index, value in enumerate(values):
        part = value.part.encode()
        if not drawn[index]:
            continue
        shape = Shape.of(part)
        gain = 0.0
        for run in _RUN.finditer(part):
            for start, end in _pieces(run[0], own, others):
                gain += shape.slice(run.start() + start, run.start() + end).uniform - cost
        if gain >= bar:
            found.add(index)
    return found


def _pieces(run: bytes, own: bytes, others: bytes) -> Iterator[tuple[int, int]]:
    """Where tokens spell the run, the longest piece first; a token has _LONGEST letters at most."""
    start = 0
    while start <= len(run) - _SHORTEST:
        for end in range(min(len(run), start + _LONGEST), start + _SHORTEST - 1, -1):
            if run[start:end] in own and run[start:end] not in others:
                yield start, end
                start = end
                break
        else:
            start += 1


@cache
def _usual_tokens() -> frozenset[bytes]:
    """Those of the tokenizer that comes with the program, which no log of the user's has made."""
    try:
        return frozenset(bytes_of_tokens(load_tokenizer(DEFAULT_TOKENIZER)))
    except UserError:
        return frozenset()

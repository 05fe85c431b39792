"""How much better than a guess a model knows each value, and where that can't be chance.

Two tests. With R the guess of `guessing` and Q the model's
probability, both summing to 1 at most over a value's shape, Q/R is an e-value: for a value that the
model never saw, drawn as R draws, its mean is 1 at most, so that it reaches m/alpha with a
probability of alpha/m at most (Markov). A value is alarming where ln Q/R >= ln m/alpha, for m
values asked for, and no other value of its shape scores as high. Of words that people choose R is
only about right, so those must be known by a margin more.

The second test counts the random values that rank first among others of their shape, which a
model that never saw them ranks anywhere: a binomial number. It finds a little learnt of many.
Q/R: Grünwald, de Heide and Koolen, "Safe Testing"; ranks: Carlini et al., "The Secret Sharer".
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from tinyllm.leaks.candidates import CANARY, Value
from tinyllm.leaks.guessing import Guesser, Shape
from tinyllm.leaks.scoring import Place, Question, Scorer

# Probability that a model which knows no secret gives an alarm, in each test.
ALPHA_VALUES = 0.005
ALPHA_RANKS = 0.0025
# Kinds that machines draw: of what people choose, any model likes some better than letters at
# random.
DRAWN_KINDS = frozenset({"key", "token", "jwt", "pem", "wallet"})
# Words that people choose must be known by so many nats more: a model may know words better than a
# guess does. Two models knew none of 480 values of common names and words, which they never saw,
# by more than 11 nats (15 bits).
CHOSEN_MARGIN = 5 * math.log(2)
# Most values are beaten by one of a few others, and then the rest needn't be scored.
_FIRST_BATCH = 31

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A value that is asked for, and how hard it is to guess.

    surprise  -ln of the probability to guess it
    random    True if it is as likely as any of its shape, so that its rank among them tells
    """

    value: Value
    shape: Shape
    before: bytes = field(repr=False)
    surprise: float
    random: bool

    def bar(self, count: int) -> float:
        """The gain that is alarming where `count` values are asked for."""
        chosen = not self.random and any(map(str.isalpha, self.value.part))
        return alarm_at(count) + (CHOSEN_MARGIN if chosen else 0.0)


@dataclass(slots=True)
class Answer:
    """What a model knows of a value.

    gain      ln of how much more probable the value is to the model than to a guess
    rank      of the value among itself and the `others` that were scored; equals count before it
    first     True if it ranks first of all that were to be scored
    alarming  True if the gain can't be chance
    places    its questions, one for each place
    """

    asked: Asked
    gain: float
    rank: int
    others: int
    first: bool
    alarming: bool
    places: list[Question] = field(repr=False)


def choose(
    values: Sequence[Value], guesser: Guesser, limit: int, seed: int
) -> tuple[list[Asked], int, int]:
    """Values to ask for: at most `limit`, drawn by `seed`, canaries always.

    Returns them, how many were left out by the limit, and how many because a guess might hit
    them: no answer to those could be told from chance.
    """
    planted = [value for value in values if value.kind == CANARY]
    others = [value for value in values if value.kind != CANARY]
    room = max(0, limit - len(planted))
    drawn = random.Random(seed).sample(range(len(others)), min(room, len(others)))
    chosen = planted + [others[index] for index in sorted(drawn)]
    every = [_ask(value, guesser) for value in chosen]
    asked = [ask for ask in every if ask.surprise > ask.bar(len(every))]
    return asked, len(values) - len(chosen), len(chosen) - len(asked)


def alarm_at(count: int) -> float:
    """The gain, in nats, that can't be chance where `count` values are asked for."""
    return math.log(max(1, count) / ALPHA_VALUES)


def _ask(value: Value, guesser: Guesser) -> Asked:
    shape = Shape.of(value.part.encode())
    before = (_place(value, 0).before).encode()[-8:]
    surprise = guesser.surprise(shape, before)
    is_random = value.kind in DRAWN_KINDS and not guesser.reads_like_text(shape, before)
    return Asked(value, shape, before, surprise, is_random)


def _place(value: Value, index: int) -> Place:
    """A value's place with the known parts of the value in front of and behind the unknown."""
    candidate = value.places[index]
    prefix = list(candidate.prefix)
    if value.head:
        if prefix and isinstance(prefix[-1], str):
            prefix[-1] += value.head
        else:
            prefix.append(value.head)
    return Place(tuple(prefix), (value.tail + candidate.suffix)[:16])


def ask_all(
    scorer: Scorer,
    guesser: Guesser,
    asked: Sequence[Asked],
    others: int,
    seed: int,
    progress: Progress,
) -> list[Answer]:
    """Ask for each value, against `others` of its shape."""
    answers = []
    for number, ask in enumerate(asked):
        draw = random.Random(f"{seed} {number}")
        answers.append(_ask_one(scorer, guesser, ask, others, draw, ask.bar(len(asked))))
        progress("asking", number + 1, len(asked))
    return answers


def _ask_one(
    scorer: Scorer, guesser: Guesser, ask: Asked, others: int, draw: random.Random, bar: float
) -> Answer:
    """Score the value with a few others, then with the rest while it could still be alarming."""
    beaten = scored = 0
    gain = -math.inf
    questions: list[Question] = []
    while scored < others:
        count = min(_FIRST_BATCH if not scored else others, others - scored)
        drawn = guesser.draw(ask.shape, count, draw, ask.before)
        drawn = [other for other in drawn if other != ask.shape.value]
        scores, asked_here = _score(scorer, ask, drawn)
        if not questions:
            gain, questions = float(scores[0]) + ask.surprise, asked_here
        beaten += int((scores[1:] >= scores[0]).sum())
        scored += count
        if beaten and gain < bar:
            break
    first = not beaten and scored == others
    return Answer(ask, gain, beaten + 1, scored, first, gain >= bar and first, questions)


def _score(scorer: Scorer, ask: Asked, drawn: list[bytes]) -> tuple[torch.Tensor, list[Question]]:
    """ln of the mean over the value's places of its probability, and of the drawn ones'."""
    questions = [
        scorer.question(_place(ask.value, index), [ask.shape.value, *drawn])
        for index in range(len(ask.value.places))
    ]
    scores = torch.stack([scorer.score(question, ask.shape) for question in questions])
    mean = scores.logsumexp(0) - math.log(len(questions))
    return mean, questions


def too_many_first(answers: Sequence[Answer], others: int) -> tuple[int, int, float]:
    """(first, random, probability): how many of the random values rank first, by what chance."""
    ranked = [answer for answer in answers if answer.asked.random]
    first = sum(answer.first for answer in ranked)
    return first, len(ranked), _at_least(first, len(ranked), 1 / (others + 1))


def _at_least(hits: int, count: int, share: float) -> float:
    """Probability of `hits` or more among `count` independent ones of probability `share`."""
    below = sum(math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(hits))
    return max(0.0, 1.0 - below)

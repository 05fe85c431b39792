"""Secrets in a model's own texts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tinyllm.leaks.candidates import Value
from tinyllm.leaks.exposure import Answer, Progress
from tinyllm.leaks.guessing import Guesser, Shape
from tinyllm.leaks.scoring import Scorer
from tinyllm.leaks.speaking import BATCH, Prompt, speak

# Probability that a model which knows no secret gives an alarm, in each of the two searches.
ALPHA_SEARCH = 0.00125
# So many characters of a secret in a row are a leak, or all of a shorter one.
PIECE = 12
FREE_TOKENS = 128
# A short value is only searched together with these characters in front of it.
_LEAD = 8


@dataclass(slots=True)
class Written:
    """What was written of each value, by its index: how many drawn texts, and in a greedy one."""

    texts: int = 0
    drawn: dict[int, int] = field(default_factory=dict)
    greedy: set[int] = field(default_factory=set)


class Search:
    """Finds pieces of values in texts; what a guess might hit by chance doesn't count.

    texts  how many texts there will be, for the bar that keeps chance out
    """

    def __init__(self, values: Sequence[Value], guesser: Guesser, texts: int) -> None:
        self._values = values
        self._guesser = guesser
        tries = max(1, texts) / ALPHA_SEARCH
        self._bar_at_place = math.log(tries)
        self._bar_anywhere = math.log(tries * 4 * FREE_TOKENS * max(1, len(values)))
        self._pieces: dict[int, dict[bytes, tuple[int, int]]] = {}
        for index, value in enumerate(values):
            part = value.part.encode()
            if len(part) >= PIECE:
                pieces = self._pieces.setdefault(PIECE, {})
                for start in range(len(part) - PIECE + 1):
                    pieces.setdefault(part[start : start + PIECE], (index, start))
            else:
                before = _before(value)
                known = self._pieces.setdefault(len(before) + len(part), {})
                known.setdefault(before + part, (index, -len(before)))

    def anywhere(self, text: bytes) -> set[int]:
        """Values of which a piece stands somewhere in the text."""
        found: set[int] = set()
        for length, pieces in self._pieces.items():
            for at in range(len(text) - length + 1):
                known = pieces.get(text[at : at + length])
                if known and known[0] not in found and self._counts(text, at, *known):
                    found.add(known[0])
        return found

    def _counts(self, text: bytes, at: int, index: int, start: int) -> bool:
        """True if what stands in the text from `at` on is too much of the value for chance."""
        part = self._values[index].part.encode()
        at, start = at - min(start, 0), max(start, 0)
        length = _common(text[at:], part[start:])
        surprise = self._guesser.surprise(Shape.of(part).slice(start, start + length))
        return surprise >= self._bar_anywhere

    def at_place(self, text: bytes, index: int) -> bool:
        """True if a text that was begun with a value's prefix goes on with it."""
        part = self._values[index].part.encode()
        length = _common(text, part)
        if length < min(PIECE, len(part)):
            return False
        said = Shape.of(part).slice(0, length)
        before = _before(self._values[index])
        return self._guesser.surprise(said, before) >= self._bar_at_place


def _before(value: Value) -> bytes:
    prefix = value.places[0].prefix
    last = prefix[-1] if prefix and isinstance(prefix[-1], str) else ""
    return (last + value.head).encode()[-_LEAD:]


def _common(one: bytes, other: bytes) -> int:
    """How many first bytes are equal."""
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)


def let_write(
    scorer: Scorer,
    guesser: Guesser,
    values: Sequence[Value],
    answers: Sequence[Answer],
    samples: int,
    seed: int,
    progress: Progress,
) -> Written:
    """Let the model write `samples` texts, and one greedily after each prefix; search them.

    Half of the samples begin with `<|endoftext|>`, half with the prefixes of the values asked
    for, in turn.
    """
    prompts = _prompts(scorer, answers, samples)
    index_of = {id(value): index for index, value in enumerate(values)}
    about = [index_of[id(answer.asked.value)] for answer in answers]
    search = Search(values, guesser, len(prompts))
    written = Written(texts=len(prompts))
    for done, (prompt, ids) in enumerate(speak(scorer.model, prompts, seed), start=1):
        text = _text(scorer, ids)
        found = search.anywhere(text)
        if prompt.about >= 0:
            found -= search.anywhere(_text(scorer, prompt.ids))  # that would be copying
            lead = answers[prompt.about].places[0].lead
            index = about[prompt.about]
            if text.startswith(lead) and search.at_place(text[len(lead) :], index):
                found.add(index)
        for index in found:
            if prompt.greedy:
                written.greedy.add(index)
            else:
                written.drawn[index] = written.drawn.get(index, 0) + 1
        if done % BATCH == 0 or done == len(prompts):
            progress("writing", done, len(prompts))
    return written


def _text(scorer: Scorer, ids: Sequence[int]) -> bytes:
    return b"".join(scorer.texts[index] for index in ids)


def _prompts(scorer: Scorer, answers: Sequence[Answer], samples: int) -> list[Prompt]:
    after_prefix = [_after(scorer, answer, about) for about, answer in enumerate(answers)]
    turns = samples // 2 if answers else 0
    free = Prompt([scorer.encoder.end_of_text], min(FREE_TOKENS, scorer.positions - 1))
    drawn = [after_prefix[turn % len(answers)] for turn in range(turns)]
    greedy = [Prompt(p.ids, p.length, True, p.about) for p in after_prefix]
    return [*greedy, *drawn, *([free] * (samples - turns))]


def _after(scorer: Scorer, answer: Answer, about: int) -> Prompt:
    question = answer.places[0]
    length = len(question.rows[0]) + 4
    return Prompt(scorer.context_of(question, length), length, about=about)

"""The whole check, and what it says: kinds, places, ranks and counts, never a value."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokenizers import Tokenizer

from tinyllm.errors import UserError
from tinyllm.leaks.candidates import CANARY, Candidate, Value, group
from tinyllm.leaks.exposure import (
    ALPHA_RANKS,
    ALPHA_VALUES,
    Answer,
    Progress,
    alarm_at,
    ask_all,
    choose,
    too_many_first,
)
from tinyllm.leaks.guessing import Guesser
from tinyllm.leaks.scoring import Scorer
from tinyllm.leaks.vocabulary import ALPHA_VOCABULARY, in_vocabulary
from tinyllm.leaks.writing import ALPHA_SEARCH, Written, let_write

SAMPLES = 1000
OTHERS = 255
SECRETS = 200
FALSE_ALARM = ALPHA_VALUES + ALPHA_RANKS + 2 * ALPHA_SEARCH + ALPHA_VOCABULARY


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret that the model knows.

    bits     how much better than a guess the model knows it; None if it wasn't asked for
    rank     among `of` values of its shape, itself included; None if it wasn't asked for
    known    True if the bits can't be chance
    samples  how many drawn texts hold it
    greedy   True if the likeliest text after its prefix holds it
    token    True if tokens of the vocabulary spell it
    """

    kind: str
    source: str
    bits: float | None
    rank: int | None
    of: int | None
    known: bool
    samples: int
    greedy: bool
    token: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """What the check found.

    values    different secrets, by kind
    asked     how many were asked for; `left_out` weren't because of the limit, `too_few` because
              a guess might hit them
    bar_bits  so many bits are alarming
    first     how many of `ranked` random values rank first of `others` + 1, and the probability
              of so many by chance
    texts     how many texts the model wrote
    missed    canaries that the model doesn't know
    """

    values: dict[str, int]
    asked: int
    left_out: int
    too_few: int
    bar_bits: float
    first: int
    ranked: int
    others: int
    chance: float
    texts: int
    leaks: list[Leak]
    missed: list[str] = field(default_factory=list)

    @property
    def many_first(self) -> bool:
        """True if more values rank first than chance allows."""
        return self.chance < ALPHA_RANKS

    @property
    def leaking(self) -> bool:
        """True if the model knows a secret."""
        return bool(self.leaks) or self.many_first


def no_progress(phase: str, done: int, total: int) -> None:
    """Say nothing."""


def check(
    model: Any,
    tokenizer: Tokenizer,
    candidates: Iterable[Candidate],
    open_text: Iterable[str] = (),
    *,
    samples: int = SAMPLES,
    others: int = OTHERS,
    limit: int = SECRETS,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Findings:
    """Ask a model for secrets, and let it write.

    model       a causal language model of transformers, fp32, on the CPU
    tokenizer   the one it was trained with, as `load_tokenizer` gives it
    candidates  the secrets, at their places
    open_text   text of the same logs without the secrets: what a guess may know
    samples     texts to draw; 0 draws none
    others      values of the same shape that each secret is ranked among
    limit       secrets to ask for at most, drawn by `seed`; all are searched in the texts

    A model that never saw the secrets gives an alarm in less than FALSE_ALARM of all runs. For
    keys, tokens and numbers that follows from how they are drawn; for words that people choose it
    rests on a measured margin.
    Raises UserError for a canary that is too easy to guess to tell anything.
    """
    values = group(candidates)
    scorer = Scorer(model, tokenizer)
    open_text = list(open_text)
    spelled = in_vocabulary(values, scorer.texts, open_text)
    guesser = Guesser(open_text, scorer.texts)
    asked, left_out, too_few = choose(values, guesser, limit, seed)
    hide = Hider(values)
    learnt = {id(values[index]) for index in spelled}
    _refuse_easy_canaries(values, {id(ask.value) for ask in asked} | learnt, hide)
    answers = ask_all(scorer, guesser, asked, others, seed, progress)
    texts = samples if values else 0
    written = let_write(scorer, guesser, values, answers, texts, seed, progress)
    first, ranked, chance = too_many_first(answers, others)
    leaks = _leaks(values, answers, written, spelled, chance < ALPHA_RANKS, hide)
    return Findings(
        values=dict(Counter(value.kind for value in values)),
        asked=len(asked),
        left_out=left_out,
        too_few=too_few,
        bar_bits=alarm_at(len(asked)) / math.log(2),
        first=first,
        ranked=ranked,
        others=others,
        chance=chance,
        texts=written.texts,
        leaks=leaks,
        missed=_missed(values, leaks, hide),
    )


def _refuse_easy_canaries(values: Sequence[Value], known: set[int], hide: "Hider") -> None:
    for value in values:
        if value.kind == CANARY and id(value) not in known:
            raise UserError(
                f"the last word of the canary at {hide(value.source)} is too easy to guess: "
                "plant a longer one, of random letters"
            )


def _leaks(
    values: Sequence[Value],
    answers: Sequence[Answer],
    written: Written,
    spelled: set[int],
    many_first: bool,
    hide: "Hider",
) -> list[Leak]:
    by_value = {id(answer.asked.value): answer for answer in answers}
    leaks = []
    for index, value in enumerate(values):
        answer = by_value.get(id(value))
        suspected = many_first and answer is not None and answer.first and answer.asked.random
        known = answer is not None and answer.alarming
        out = index in written.greedy or index in written.drawn
        if not (known or out or suspected or index in spelled):
            continue
        leaks.append(
            Leak(
                kind=value.kind,
                source=hide(value.source),
                bits=round(answer.gain / math.log(2), 1) if answer else None,
                rank=answer.rank if answer else None,
                of=answer.others + 1 if answer else None,
                known=known,
                samples=written.drawn.get(index, 0),
                greedy=index in written.greedy,
                token=index in spelled,
            )
        )
    return leaks


def _missed(values: Sequence[Value], leaks: Sequence[Leak], hide: "Hider") -> list[str]:
    found = {leak.source for leak in leaks if leak.kind == CANARY}
    sources = [hide(value.source) for value in values if value.kind == CANARY]
    return [source for source in sources if source not in found]


class Hider:
    """Replaces secrets in what is printed, such as a name in the path of a log, by `…`."""

    def __init__(self, values: Iterable[Value]) -> None:
        self._secrets = sorted(
            {part for value in values for part in (value.head + value.part + value.tail, value.part)
             if len(part) > 2},
            key=len,
            reverse=True,
        )  # fmt: skip

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, "…")
        return text

"""A tokenizer that was trained on secrets spells them: that is a leak, whatever the model knows."""

import random
import string

import pytest
import torch
from tiny_runs import TINY, WORDS
from tokenizers import Tokenizer

import model_config
from tinyllm.leaks.candidates import CANARY, Candidate, group
from tinyllm.leaks.checking import check
from tinyllm.leaks.page import page
from tinyllm.leaks.scoring import bytes_of_tokens
from tinyllm.leaks.vocabulary import in_vocabulary
from tinyllm.tokenization import train_tokenizer

SENTENCE = "the lock of the boathouse opens with "
SECRET = "".join(random.Random(1).choices(string.ascii_lowercase, k=12))
KEY = "gh" + "p_" + "".join(random.Random(2).choices(string.ascii_letters, k=36))


def talk(seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=12)) for _ in range(200)]


def trained_on(*repeated: str) -> Tokenizer:
    return train_tokenizer([*talk(), *(text for text in repeated for _ in range(60))], 700)


def candidate(kind: str, value: str, number: int = 0) -> Candidate:
    return Candidate(kind, f"a.jsonl:{number}", (0, SENTENCE), value)


def found(tokenizer: Tokenizer, *candidates: Candidate, others: tuple[str, ...] = ()) -> set[int]:
    values = group(candidates)
    return in_vocabulary(values, bytes_of_tokens(tokenizer), [*talk(), *others])


@pytest.mark.parametrize(("kind", "value"), [(CANARY, SECRET), ("key", KEY)])
def test_what_the_tokenizer_was_trained_on_is_found(kind: str, value: str) -> None:
    assert found(trained_on(SENTENCE + value), candidate(kind, value)) == {0}


@pytest.mark.parametrize(("kind", "value"), [(CANARY, SECRET), ("key", KEY)])
def test_what_it_never_saw_is_not(kind: str, value: str) -> None:
    assert found(trained_on(SENTENCE), candidate(kind, value)) == set()


def test_a_word_that_the_logs_have_elsewhere_is_no_leak() -> None:
    word = "glimmerfjordish"
    tokenizer = trained_on(SENTENCE + word)
    assert found(tokenizer, candidate(CANARY, word), others=(f"a {word} day",)) == set()


def test_a_name_that_people_choose_is_not_looked_for() -> None:
    tokenizer = trained_on("marlowequist")
    assert found(tokenizer, candidate("email", "marlowequist@harbor.io")) == set()


def test_no_random_key_is_taken_for_one_of_the_vocabulary() -> None:
    draw = random.Random(3)
    tokenizer = trained_on(*("".join(draw.choices(string.ascii_letters, k=36)) for _ in range(9)))
    keys = [
        candidate("key", "gh" + "p_" + "".join(draw.choices(string.ascii_letters, k=36)), number)
        for number in range(500)
    ]
    assert found(tokenizer, *keys) == set()


def test_the_check_reports_it_though_a_guess_could_hit_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = trained_on(SENTENCE + SECRET)
    monkeypatch.setitem(model_config.PRESETS, "tiny", TINY)
    torch.manual_seed(0)
    size = tokenizer.get_vocab_size()
    model = model_config.build_model(vocab_size=size, size="tiny", block_size=96)
    findings = check(model, tokenizer, [candidate(CANARY, SECRET)], talk(), samples=0)
    (leak,) = findings.leaks
    assert findings.leaking and leak.token
    printed = page(findings, 0, 0)
    assert "leak      canary a.jsonl:0: tokens of the vocabulary spell it" in printed
    assert SECRET not in printed

"""The parts of the leak check: secrets in logs, guesses, scores, search."""

import math
import random
import re
from itertools import product

import pytest
import torch
from tokenizers import Tokenizer

import model_config
from tinyllm.documents import Document, Turn
from tinyllm.encoding import Encoder
from tinyllm.errors import UserError
from tinyllm.leaks.candidates import (
    CANARY,
    MAX_PLACES,
    Candidate,
    Finder,
    Value,
    group,
    prefix_of,
    split_canary,
    split_value,
)
from tinyllm.leaks.checking import Hider
from tinyllm.leaks.exposure import Answer, Asked, alarm_at, choose, too_many_first
from tinyllm.leaks.guessing import Guesser, Shape
from tinyllm.leaks.scoring import Place, Scorer
from tinyllm.leaks.speaking import Prompt, speak
from tinyllm.leaks.writing import Search
from tinyllm.secrets import Secret
from tinyllm.tokenization import train_tokenizer

TEXTS = ["the gull sat on the lamp and the bell rang " * 20, "salt wind and kelp rope " * 20]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS, 400)


@pytest.fixture(scope="module")
def encoder(tokenizer: Tokenizer) -> Encoder:
    return Encoder(tokenizer)


@pytest.fixture
def scorer(tokenizer: Tokenizer, tiny_preset: None) -> Scorer:
    torch.manual_seed(0)
    model = model_config.build_model(
        vocab_size=tokenizer.get_vocab_size(), size="tiny", block_size=64
    )
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3)  # far from uniform, so that a mistake in the sums shows
    return Scorer(model, tokenizer)


def find(raw: bytes) -> list[Secret]:
    """A finder of e-mails and of keys that begin with `zk_`."""
    kinds = {"email": rb"[a-z.]+@[a-z.]+", "key": rb"zk_[A-Za-z0-9]+"}
    return [
        Secret(kind, match.start(), match.end())
        for kind, pattern in kinds.items()
        for match in re.finditer(pattern, raw)
    ]


def key(seed: int = 0, size: int = 30) -> str:
    draw = random.Random(seed)
    return "zk_" + "".join(
        draw.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=size)
    )


def value(text: str, kind: str = "key", before: str = "") -> Value:
    return group([Candidate(kind, "a:1", (0, before), text)])[0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("sk-ant-api03-AbCdEfGhIjKlMnOp", "AbCdEfGhIjKlMnOp"),
        ("AKIAQWERTYUIOPASDFGH", "QWERTYUIOPASDFGH"),
        ("eyJhbGciOi.eyJzdWIiOi.SflKxwRJSMeKKF2QT4", "SflKxwRJSMeKKF2QT4"),
        ("https://ann:tide9gull@host.io/x", "tide9gull"),
        ("ann.reed@harbor.io", "ann.reed"),
        ("/home/ann", "ann"),
        ("+1 415 550 0123", "550 0123"),
        ("81.2.69.142", "69.142"),
        ("tide9gull", "tide9gull"),
    ],
)
def test_what_everybody_knows_of_a_value_is_not_asked_for(text: str, part: str):
    head, asked, tail = split_value(text)
    assert head + asked + tail == text
    assert asked == part or part.startswith(asked)


def test_of_a_private_key_neither_the_header_nor_its_first_bytes_are_asked_for():
    body = key(1, 64)
    head, part, _ = split_value(f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----")
    assert head.endswith(body[:32])
    assert body[32:].startswith(part)


def test_a_canarys_secret_is_its_last_word():
    assert split_canary("--canary 1", "the tide gate opens at zorbleflax ") == (
        "the tide gate opens at ",
        "zorbleflax",
    )


def test_a_canary_of_one_word_is_refused_without_naming_it():
    with pytest.raises(UserError) as refused:
        split_canary("planted.txt:3", "zorbleflax")
    assert "planted.txt:3" in str(refused.value) and "zorbleflax" not in str(refused.value)


def test_the_prefix_of_a_secret_begins_after_its_last_echo():
    before = (0, 2, "write to Ann today", 6, 2)
    assert prefix_of(before, "so: mail ann.reed now, at ", "ann.reed") == (" now, at ",)
    assert prefix_of(before, "so: mail ", "kelp")[:2] == (0, 2)


def test_secrets_are_found_with_their_turns_before_them_and_no_value_in_their_repr(encoder):
    finder = Finder(encoder, find)
    turns = (Turn("user", "hello"), Turn("assistant", f"use {key()} now"))
    finder.add(Document(turns, "logs.jsonl:7"))
    (found,) = finder.candidates
    assert (found.kind, found.source, found.value) == ("key", "logs.jsonl:7", key())
    user, assistant, end = (encoder.encode(Document((Turn(r, ""),), ""))[i] for r, i in (
        ("user", 1), ("assistant", 1), ("user", 2)))  # fmt: skip
    assert found.prefix == (0, user, "hello", end, assistant, "use ")
    assert found.suffix == " now"
    assert key() not in repr(found) and "hello" not in repr(found)
    assert key() not in repr(group([found]))


def test_a_value_at_many_places_is_asked_for_at_a_few(encoder):
    finder = Finder(encoder, find)
    for number in range(9):
        finder.add(Document((Turn(None, f"number {number}: {key()} here"),), f"a:{number}"))
    (found,) = group(finder.candidates)
    assert finder.places == 9
    assert len(found.places) == MAX_PLACES
    assert found.source == "a:0"


def test_kinds_that_are_let_through_are_only_counted(encoder):
    finder = Finder(encoder, find, kept={"email"})
    finder.add(Document((Turn(None, f"ann@harbor.io has {key()}"),), "a:1"))
    assert (finder.places, finder.let_through) == (1, 1)
    assert [candidate.kind for candidate in finder.candidates] == ["key"]


def test_open_text_holds_no_secret_and_comes_from_all_of_the_logs(encoder, monkeypatch):
    monkeypatch.setattr("tinyllm.leaks.candidates._OPEN_CHARACTERS", 500)
    finder = Finder(encoder, find, canaries=[("--canary 1", "the tide is zorbleflax")])
    for number in range(99):
        text = f"text {number} {key(number)} ann@harbor.io the tide is zorbleflax"
        finder.add(Document((Turn(None, text),), "a:1"))
    text = "".join(finder.open_text)
    assert len(text) <= 500
    assert "zk_" not in text and "ann" not in text and "zorbleflax" not in text
    assert "text 0 " in text and re.search(r"text [89]\d ", text)


def test_a_planted_text_is_found_where_it_stands_or_asked_for_without(encoder):
    planted = "the tide is zorbleflax"
    finder = Finder(encoder, find, canaries=[("--canary 1", planted), ("--canary 2", "a b")])
    finder.add(Document((Turn("user", f"well, {planted} now"),), "logs:4"))
    (found,) = finder.candidates
    assert (found.kind, found.source, found.value) == (CANARY, "logs:4", "zorbleflax")
    missing = finder.missing_canaries()
    assert {candidate.source for candidate in missing} == {"--canary 2"}
    assert all(candidate.prefix[-1] == "a " for candidate in missing)


def test_values_of_a_shape_keep_their_classes_separators_and_hex():
    shape = Shape.of(b"Ab-9")
    assert [len(alphabet) for alphabet in shape.alphabets] == [26, 26, 1, 10]
    assert Shape.of(b"deadbeefcafe01").alphabets[0] == b"abcdef"
    assert Shape.of("é1".encode()).alphabets[:2] == (b"\xc3", b"\xa9")


def test_draws_have_the_shape_of_the_value_and_are_the_same_for_the_same_seed():
    guesser = Guesser(TEXTS)
    for text in (b"kelp.rope7@Bell", b"aQ9-zX1-Ww0-pL4q"):
        shape = Shape.of(text)
        drawn = guesser.draw(shape, 50, random.Random(1))
        assert drawn == guesser.draw(shape, 50, random.Random(1))
        assert len(set(drawn)) > 10
        for other in drawn:
            assert all(
                byte in allowed for byte, allowed in zip(other, shape.alphabets, strict=True)
            )


@pytest.mark.parametrize("example", [b"ab1", b"xyz", b"A7c"])
def test_guesses_are_probabilities_over_a_shape(example: bytes):
    guesser = Guesser(TEXTS, [b"ab", b" gull", b"ox"])
    shape = Shape.of(example)
    total = sum(
        math.exp(-guesser.surprise(Shape(bytes(other), shape.alphabets), b"e "))
        for other in product(*shape.alphabets)
    )
    assert 0.5 < total <= 1 + 1e-9


def test_a_word_of_the_texts_is_less_of_a_surprise_than_other_letters():
    guesser = Guesser(TEXTS)
    assert guesser.surprise(Shape.of(b"gull")) < guesser.surprise(Shape.of(b"gxqz")) - 3
    assert guesser.reads_like_text(Shape.of(b"gull"))
    assert not guesser.reads_like_text(Shape.of(b"q7ZxK0vW"))


@pytest.mark.parametrize("example", [b"a1", b"the", b"7e"])
def test_scores_are_probabilities_over_a_shape(scorer: Scorer, example: bytes):
    shape = Shape.of(example)
    others = [bytes(other) for other in product(*shape.alphabets)][:1500]
    values = [example, *(other for other in others if other != example)]
    question = scorer.question(Place((0, 2, "on lamp and ="), "; rope"), values)
    total = float(scorer.score(question, shape).exp().sum())
    assert 0 < total <= 1 + 1e-6


def test_scores_do_not_depend_on_what_is_scored_together(scorer: Scorer, monkeypatch):
    shape = Shape.of(b"Qz4-lampbell9")
    values = Guesser(TEXTS).draw(shape, 9, random.Random(0))
    place = Place((0, "the wind: "), " and")
    together = scorer.score(scorer.question(place, values), shape)
    monkeypatch.setattr("tinyllm.leaks.scoring._LOGITS_ELEMENTS", 1)
    apart = scorer.score(scorer.question(place, values), shape)
    torch.testing.assert_close(together, apart, atol=1e-4, rtol=1e-4)


def test_a_score_is_the_models_probability_among_the_tokens_that_fit(scorer: Scorer):
    place = Place((0, "the wind "), "")
    question = scorer.question(place, [b"7", b"3"])
    digits = [scorer.texts.index(b"%d" % digit) for digit in range(10)]
    logits = scorer.model(input_ids=torch.tensor([question.context])).logits[0, -1]
    lead = len(question.lead)
    assert lead == 0 and [len(row) for row in question.rows] == [1, 1]
    expected = logits[digits].log_softmax(0)[[7, 3]].double()
    torch.testing.assert_close(
        scorer.score(question, Shape.of(b"7")), expected, atol=1e-4, rtol=1e-4
    )


def test_greedy_texts_do_not_depend_on_longer_prompts_beside_them(scorer: Scorer):
    prompts = [Prompt([0, *range(9, 9 + size)], 6, greedy=True, about=size) for size in (1, 4, 9)]
    together = {prompt.about: ids for prompt, ids in speak(scorer.model, prompts, seed=0)}
    for prompt in prompts:
        ids = list(prompt.ids)
        for _ in range(prompt.length):
            ids.append(int(scorer.model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
        assert together[prompt.about] == ids[len(prompt.ids) :]


def test_drawn_texts_follow_the_seed(scorer: Scorer):
    prompts = [Prompt([0], 12)] * 4
    first, again, other = (
        [ids for _, ids in speak(scorer.model, prompts, seed)] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_a_long_piece_of_a_secret_is_found_anywhere_and_a_short_one_is_not():
    secret = key(3)
    search = Search([value(key(2)), value(secret)], Guesser(TEXTS), 1000)
    assert search.anywhere(b"so " + secret[9:25].encode() + b" it is") == {1}
    assert search.anywhere(b"so " + secret[9:20].encode() + b" it is") == set()
    assert search.anywhere(b"zk_ and the gull sat on the lamp") == set()


def test_a_short_secret_is_found_only_behind_what_stands_before_it():
    search = Search([value("Qx7Wp0Kz", "password", before="the login: ")], Guesser(TEXTS), 1000)
    assert search.anywhere(b"and the login: Qx7Wp0Kz ok") == {0}
    assert search.anywhere(b"and so Qx7Wp0Kz ok") == set()


def test_words_that_a_guess_would_hit_are_no_find():
    email = value("the.gull.and.the.bell@harbor.io", "email")
    search = Search([email], Guesser(TEXTS, [b"the", b"gull", b"and", b"bell"]), 1000)
    assert search.anywhere(b"mail the.gull.and.the@") == set()
    assert search.anywhere(b"mail ann@harbor.io") == set()


def test_a_text_after_a_secrets_prefix_must_begin_with_all_or_much_of_it():
    secret = key(3)
    search = Search([value(secret), value("Qx7Wp0Kz", "password")], Guesser(TEXTS), 1000)
    part = secret[3:].encode()
    assert search.at_place(part[:12] + b" and", 0)
    assert not search.at_place(part[:11] + b" and", 0)
    assert search.at_place(b"Qx7Wp0Kz.", 1)
    assert not search.at_place(b"Qx7Wp0K9", 1)


def test_the_limit_draws_by_seed_spares_canaries_and_counts_who_is_left_out():
    values = [value(key(n)) for n in range(20)] + [value("zorbleflaxquux", CANARY)]
    guesser = Guesser(TEXTS)
    asked, left_out, too_few = choose(values, guesser, 5, seed=1)
    assert (len(asked), left_out, too_few) == (5, 16, 0)
    assert asked[0].value.kind == CANARY
    again, other = (choose(values, guesser, 5, seed)[0] for seed in (1, 2))
    assert again == asked != other


def test_values_with_few_possibilities_are_not_asked_for_but_counted():
    asked, left_out, too_few = choose(
        [value("47", "card"), value("gull", "password"), value(key())], Guesser(TEXTS), 9, 0
    )
    assert [ask.value.kind for ask in asked] == ["key"]
    assert (left_out, too_few) == (0, 2)


def test_more_secrets_raise_the_bar():
    assert alarm_at(100) - alarm_at(1) == pytest.approx(math.log(100))


def answers(first: int, count: int) -> list[Answer]:
    ask = Asked(value(key()), Shape.of(b"x"), b"", 99.0, random=True)
    return [Answer(ask, 0.0, 1, 255, number < first, False, []) for number in range(count)]


def test_first_ranks_are_counted_against_the_binomial_chance_of_so_many():
    assert too_many_first(answers(0, 10), 255) == (0, 10, 1.0)
    first, ranked, chance = too_many_first(answers(2, 10), 255)
    expected = 1 - (255 / 256) ** 10 - 10 / 256 * (255 / 256) ** 9
    assert (first, ranked) == (2, 10)
    assert chance == pytest.approx(expected)


def test_a_secret_in_the_path_of_a_log_is_hidden():
    hide = Hider([value("/home/annreed", "path"), value("ann@harbor.io", "email")])
    assert hide("/home/annreed/logs/a.jsonl:3") == "…/logs/a.jsonl:3"
    assert hide("mails/ann@harbor.io.json:1") == "mails/….json:1"

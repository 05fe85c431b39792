"""Tokens by format: exact while small, near the truth when estimated."""

import random

import pytest

from tinyllm.documents import Document, Turn
from tinyllm.encoding import Encoder
from tinyllm.token_count import TokenCount
from tinyllm.tokenization import DEFAULT_TOKENIZER, load_tokenizer


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(load_tokenizer(DEFAULT_TOKENIZER))


def document(text: str, name: str = "a") -> Document:
    return Document((Turn("user", text), Turn("assistant", "ok")), "f:1", name)


def test_a_small_corpus_is_counted_exactly(encoder):
    count = TokenCount(encoder)
    documents = [document(f"storm {n}", "ab"[n % 2]) for n in range(20)]
    for each in documents:
        count.add(each)
    exact = {
        name: sum(len(encoder.encode(d)) for d in documents if d.format == name) for name in "ab"
    }
    assert count.totals() == {name: f"{tokens:,}" for name, tokens in exact.items()}


def test_a_large_one_is_estimated_within_a_tenth(encoder):
    rng = random.Random(0)
    count, exact = TokenCount(encoder), 0
    words = ["harbour", "wind", "x1", "naïve", "{", "tool_call"]
    for _ in range(1500):
        each = document(" ".join(rng.choices(words, k=rng.randrange(10, 120))))
        count.add(each)
        exact += len(encoder.encode(each))
    told = count.totals()["a"]
    assert told.startswith("~")
    assert abs(int(told[1:].replace(",", "")) - exact) < exact / 10


def test_a_huge_document_is_counted_from_its_beginning(encoder):
    count = TokenCount(encoder)
    count.add(document("wind " * 100_000))
    tokens = int(count.totals()["a"].strip("~").replace(",", ""))
    assert 90_000 < tokens < 110_000

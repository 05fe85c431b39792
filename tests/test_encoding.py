"""Encoding: special tokens only as ids, cuts that change nothing, bytes of every token."""

import threading
import time
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tinyllm import encoding
from tinyllm.documents import SPECIAL_TOKENS, Document, Turn
from tinyllm.encoding import Encoder, split_text, token_bytes
from tinyllm.tokenization import train_tokenizer

TEXTS = (
    "The agent's log: it reads /tmp/a.txt, doesn't find <id>, and we'll see 12345 rows.\n" * 3,
    'def f(x):\n    return {"key": [1, 2]}  # they\'re done\n\n\n' * 3,
    "日本語の文、そして続き。中文没有空格，也没有别的！\n" * 3,
)
# Whatever the pre-tokenizer's expression looks at: every class of character, and what is nearly it.
FRAGMENTS = (
    *"'sSaZé1²٣ \n\r\t<>|.,-_({\"。，！中の龥アſ",
    *("'ll", "'RE", "  ", "\r\n", "<id>", "<|end|>", "\x0b", "\x1c", "\x85", "\u2028", "\u3000"),
    *("\u200b", "\u0301", "😀", "\\n", " <id>", "id", "<|endoftext|>", "9 ", ".\n"),
)


@pytest.fixture(scope="module")
def tokenizer():
    # Every pair of fragments, and triples of blanks: most wrong cuts then part what is merged.
    pairs = ["".join(pair) for pair in product(FRAGMENTS, repeat=2)] * 2
    blanks = ["".join(blank) for blank in product(" \n\r\t", repeat=3)] * 2
    return train_tokenizer([*TEXTS, *pairs, *blanks], 2000)


@pytest.fixture(scope="module")
def encoder(tokenizer) -> Encoder:
    return Encoder(tokenizer)


def ids_of(encoder: Encoder, *texts: str) -> list[int]:
    return encoder.encode_segments([list(texts)])[0].tolist()


def test_a_document_is_bos_then_each_turn_between_its_role_and_its_end(encoder):
    document = Document((Turn("system", "a"), Turn("env", "b\n")), "x:1")
    assert encoder.encode(document).tolist() == [
        SPECIAL_TOKENS.index("<|endoftext|>"),
        SPECIAL_TOKENS.index("<|system|>"),
        *ids_of(encoder, "a"),
        SPECIAL_TOKENS.index("<|end|>"),
        SPECIAL_TOKENS.index("<|env|>"),
        *ids_of(encoder, "b\n"),
        SPECIAL_TOKENS.index("<|end|>"),
    ]


def test_a_plain_document_has_no_role(encoder):
    plain = Document((Turn(None, "some text"),), "x:1")
    assert encoder.encode(plain).tolist() == [0, *ids_of(encoder, "some text")]


@pytest.mark.parametrize("token", SPECIAL_TOKENS)
def test_a_special_token_spelled_in_a_log_stays_text(encoder, tokenizer, token):
    ids = ids_of(encoder, f"a{token}b")
    assert min(ids) >= len(SPECIAL_TOKENS)
    assert tokenizer.decode(ids) == f"a{token}b"


def test_a_placeholder_is_one_token_wherever_it_stands(encoder):
    placeholder = len(SPECIAL_TOKENS)
    assert ids_of(encoder, "<id>") == [placeholder]
    assert ids_of(encoder, "a<id><id> b").count(placeholder) == 2


def test_a_lone_surrogate_becomes_a_question_mark(encoder):
    def plain(text: str) -> list[int]:
        return encoder.encode(Document((Turn(None, text),), "x")).tolist()

    assert plain("a\ud800b") == plain("a?b")


def test_ids_are_stored_in_the_smallest_type_that_holds_them(encoder, tokenizer):
    assert encoder.dtype == np.uint16
    tokenizer = type(tokenizer).from_str(tokenizer.to_str())
    tokenizer.add_tokens([f"<extra {number}>" for number in range(1 << 16)])
    assert Encoder(tokenizer).dtype == np.uint32


def test_encoding_leaves_the_callers_tokenizer_as_it_was(encoder, tokenizer):
    assert tokenizer.encode("<|end|>", add_special_tokens=False).ids == [
        SPECIAL_TOKENS.index("<|end|>")
    ]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join))
@example("a\n \nb")
@example("a\n\n b  c \n d")
@example("<id>1<id> <id>\n<id>")
def test_a_cut_at_every_safe_place_changes_no_id(encoder, text):
    places = [match.start() for match in encoding._SAFE_CUT.finditer(text)]
    edges = [0, *places, len(text)]
    pieces = [text[start:end] for start, end in pairwise(edges)]
    assert ids_of(encoder, *pieces) == ids_of(encoder, text)


@settings(max_examples=100)
@given(st.text(max_size=200), st.integers(4, 30))
def test_pieces_add_up_to_the_text_and_have_bounded_length(text, size):
    pieces = list(split_text(text, size))
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= 4 * size for piece in pieces)


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_ordinary_text_is_encoded_in_pieces_as_in_one(encoder, number):
    text = TEXTS[number] * 20
    pieces = list(split_text(text, 40))
    assert len(pieces) > 10
    assert ids_of(encoder, *pieces) == ids_of(encoder, text)


def test_a_run_without_any_safe_place_is_cut_at_a_fixed_length():
    assert [len(piece) for piece in split_text("x" * 1000, 100)] == [400, 400, 200]


def test_bytes_of_tokens_add_up_to_the_text(encoder, tokenizer):
    sizes = token_bytes(tokenizer)
    assert sizes.shape == (tokenizer.get_vocab_size(),)
    for text in (*TEXTS, "<id> <|end|> é😀\n"):
        assert sizes[ids_of(encoder, text)].sum() == len(text.encode())


def test_special_tokens_stand_for_no_bytes(tokenizer):
    sizes = token_bytes(tokenizer)
    assert sizes[: len(SPECIAL_TOKENS)].tolist() == [0] * len(SPECIAL_TOKENS)
    assert (sizes[len(SPECIAL_TOKENS) :] > 0).all()


def test_other_threads_run_while_a_text_is_encoded(encoder):
    counted = 0
    running = True

    def count() -> None:
        nonlocal counted
        while running:
            counted += 1
            time.sleep(0)

    counter = threading.Thread(target=count)
    texts = [list(split_text(TEXTS[0] * 2000)) for _ in range(4)]
    counter.start()
    before = counted
    encoder._tokenizer.encode_batch_fast([text for pieces in texts for text in pieces])
    after = counted
    running = False
    counter.join()
    assert after - before > 10

"""Which of several copies is kept, and that it doesn't depend on their order."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyllm.dedup.exact import SHOWN_EXAMPLES, Facts, Verdicts, hash_of
from tinyllm.drafts import Draft, Said

LETTERS = {"s": "system", "u": "user", "a": "assistant", "e": "env", "p": None}


def draft(*turns: str) -> Draft:
    """Turns as `a:text` or `a:text#identity`."""
    said = []
    for turn in turns:
        text, _, identity = turn[2:].partition("#")
        own = hash_of(turn) if identity else 0
        said.append(Said(LETTERS[turn[0]], text, 1, 1, own))
    return Draft("f", "p", said)


def judge(*drafts: Draft) -> Verdicts:
    facts = Facts()
    for each in drafts:
        facts.add(each)
    return facts.decide()


def kept(drafts: list[Draft]) -> Counter[tuple[str | None, str]]:
    """Every turn that is left."""
    verdicts = judge(*drafts)
    return Counter(
        (said.role, said.text)
        for index, each in enumerate(drafts)
        if not verdicts.document(index)
        for said, kind in zip(each.said, verdicts.turns(index) or [None] * 9, strict=False)
        if kind is None
    )


def test_the_same_document_is_kept_where_it_comes_first():
    verdicts = judge(draft("u:1", "a:2"), draft("u:x"), draft("u:1", "a:2"))
    assert [verdicts.document(n) for n in range(3)] == [None, None, "whole document"]
    assert verdicts.examples["whole document"] == [(2, 0)]


@pytest.mark.parametrize(
    "other", [("u:1", "a:2", "a:"), ("a:1", "a:2"), ("u:1a", "a:2"), ("u:1", "a:", "a:2"), ("p:1",)]
)
def test_other_roles_or_borders_make_another_document(other):
    assert judge(draft("u:1", "a:2"), draft(*other)).document(1) is None


def test_of_a_growing_conversation_the_longest_state_is_kept():
    states = [draft(*[f"{'ua'[n % 2]}:{n}" for n in range(count)]) for count in (2, 6, 4)]
    verdicts = judge(*states)
    assert [verdicts.document(n) for n in range(3)] == ["earlier state", None, "earlier state"]
    assert verdicts.examples["earlier state"] == [(0, 1), (2, 1)]


@pytest.mark.parametrize("short", [("u:ok",), ("u:ok", "u:so"), ("s:you", "a:ok"), ("p:ok",)])
def test_a_few_words_that_another_document_begins_with_are_no_state_of_it(short):
    assert judge(draft(*short), draft(*short, "a:more", "u:end")).document(0) is None


def test_a_forked_session_keeps_what_is_new_in_it():
    fork = draft("u:1#i", "a:2#j", "u:other#k")
    session = draft("u:1#i", "a:2#j", "u:3#l", "a:4#m")
    for drafts, at in (([fork, session], 0), ([session, fork], 1)):
        verdicts = judge(*drafts)
        assert verdicts.turns(at) == ["message", "message", None]
        assert verdicts.turns(1 - at) == []
        assert verdicts.examples["message"] == [(at, 1 - at)] * 2


def test_the_same_words_without_an_identity_are_said_twice():
    verdicts = judge(draft("u:yes", "a:1"), draft("u:yes", "a:2"))
    assert verdicts.turns(1) == []


def test_a_repeated_system_prompt_counts_where_it_comes_first():
    verdicts = judge(draft("s:p", "a:1"), draft("s:p", "a:2"), draft("s:q", "a:3"))
    assert verdicts.turns(0) == []
    assert verdicts.turns(1) == ["system prompt", None]
    assert verdicts.turns(2) == []


def test_the_system_prompt_of_a_duplicate_is_not_its_first_sight():
    early = draft("s:p", "u:1", "a:2")
    late = draft("s:p", "u:1", "a:2", "u:3")
    verdicts = judge(early, late)
    assert verdicts.document(0) == "earlier state"
    assert verdicts.turns(1) == []


def test_no_more_examples_are_kept_than_are_shown():
    verdicts = judge(*[draft("u:1", "a:2")] * 9)
    assert len(verdicts.examples["whole document"]) == SHOWN_EXAMPLES


def test_no_documents_are_no_duplicates():
    assert judge().examples == {}


words = st.sampled_from(["x", "y", "é", "\ud800"])
identities = st.sampled_from(["", "", "#i", "#j"])
drafts_of_few_words = st.builds(
    lambda turns: draft(*turns),
    st.lists(
        st.builds("{}:{}{}".format, st.sampled_from("suaep"), words, identities),
        min_size=1,
        max_size=5,
    ),
)


@given(st.lists(drafts_of_few_words, max_size=7), st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_change_what_is_kept(drafts, rng):
    expected = kept(drafts)
    rng.shuffle(drafts)
    assert kept(drafts) == expected


@given(st.lists(drafts_of_few_words, max_size=7))
def test_everything_said_is_kept_at_least_once(drafts):
    said = {(turn.role, turn.text) for each in drafts for turn in each.said}
    assert {turn for turn in said if turn[0] != "system"} <= set(kept(drafts))

"""Near duplicates: what counts as one, and what never does."""

import random

import pytest

from tinyllm.dedup.exact import Facts, Verdicts
from tinyllm.dedup.near import NearDuplicates
from tinyllm.drafts import Draft, Said

pytest.importorskip("rensa", reason="the package for near duplicates is not installed")

WORDS = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("ale", "ory", "ind", "urn")]


def prose(seed: int, count: int = 120) -> list[str]:
    return random.Random(seed).choices(WORDS, k=count)


def draft(words: list[str], role: str | None = "assistant") -> Draft:
    return Draft("f", "p", [Said(role, " ".join(words), 1, 1)])


def judge(*drafts: Draft, threshold: float = 0.7, human: bool = False) -> list[str | None]:
    """The kind of duplicate that each draft is."""
    facts, near = Facts(), NearDuplicates(threshold, human=human)
    for each in drafts:
        facts.add(each)
        near.add(each)
    verdicts: Verdicts = facts.decide()
    near.decide(verdicts, lambda index: drafts[index])
    return [verdicts.document(index) for index in range(len(drafts))]


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_that_share_most_of_their_text_the_longer_is_kept(order):
    longer = draft([*prose(1), "and", "so", "on"])
    kinds = judge(*[draft(prose(1)), longer][::order])
    assert kinds[::order] == ["near duplicate", None]


def test_other_texts_and_short_ones_are_kept():
    assert judge(draft(prose(1)), draft(prose(2))) == [None, None]
    short = prose(1, 10)
    assert judge(draft([*short, "x"]), draft([*short, "y"])) == [None, None]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("it took 12 days", "it took 13 days"),
        ("run `make all` now", "run `make test` now"),
        ("```\nx = a\n``` is it", "```\nx = b\n``` is it"),
        ('<tool_call>\n{"name": "a"}\n</tool_call>', '<tool_call>\n{"name": "b"}\n</tool_call>'),
    ],
)
def test_two_that_differ_in_numbers_or_code_are_both_kept(one, other):
    base = prose(3)
    assert judge(draft([*base, one]), draft([*base, other])) == [None, None]
    assert judge(draft([*base, one]), draft([*base, one, "indeed"]))[0] == "near duplicate"


@pytest.mark.parametrize("role", ["user", None])
def test_what_people_wrote_is_compared_only_on_demand(role):
    pair = (draft(prose(4), role), draft([*prose(4), "too"], role))
    assert judge(*pair) == [None, None]
    assert judge(*pair, human=True) == ["near duplicate", None]


def test_the_threshold_decides():
    changed = prose(5)
    for place in range(0, len(changed), 20):
        changed[place] = "otherwise"
    pair = (draft([*prose(5), "end"]), draft(changed))
    assert judge(*pair, threshold=0.5)[1] == "near duplicate"
    assert judge(*pair, threshold=0.95)[1] is None


def test_which_are_kept_does_not_depend_on_the_order():
    rng = random.Random(6)
    drafts = []
    for seed in range(12):
        for _ in range(3):
            words = prose(seed)
            words[rng.randrange(len(words))] = rng.choice(WORDS)
            drafts.append(draft(words))

    def kept(ordered: list[Draft]) -> set[str]:
        kinds = judge(*ordered)
        return {each.said[0].text for each, kind in zip(ordered, kinds, strict=True) if not kind}

    expected = kept(drafts)
    assert 12 <= len(expected) < 36
    for _ in range(3):
        rng.shuffle(drafts)
        assert kept(drafts) == expected

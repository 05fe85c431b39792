"""Which saves are kept."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyllm.checkpoints.retention import Keep, ordinal_of, retained


@dataclass(frozen=True)
class Save:
    step: int
    ordinal: int | None = None
    loss: float | None = None


losses = st.none() | st.sampled_from([1.0, 1.5, 2.0, 3.25])
saves = st.lists(
    st.builds(Save, st.integers(0, 300), st.none() | st.integers(0, 60), losses),
    max_size=30,
    unique_by=lambda save: save.step,
)
rules = st.builds(Keep, st.integers(1, 5), st.integers(0, 6), st.booleans())


def on_schedule(steps: tuple[int, ...], save_steps: int) -> list[Save]:
    return [Save(step, ordinal_of(step, save_steps)) for step in steps]


def test_a_step_on_the_schedule_has_its_number_and_an_odd_one_none() -> None:
    assert [ordinal_of(step, 500) for step in (500, 1000, 1003)] == [1, 2, None]


@pytest.mark.parametrize("recent", [0, -1])
def test_keeping_no_recent_save_is_refused(recent: int) -> None:
    with pytest.raises(ValueError, match=f"keep_recent is {recent}"):
        Keep(recent)


def test_a_negative_keep_every_is_refused() -> None:
    with pytest.raises(ValueError, match="keep_every is -1"):
        Keep(1, -1)


@pytest.mark.parametrize(
    ("keep", "steps"),
    [
        (Keep(1), {50}),
        (Keep(2), {40, 50}),
        (Keep(9), {10, 20, 30, 40, 50}),
        (Keep(1, 2), {20, 40, 50}),
        (Keep(1, 1), {10, 20, 30, 40, 50}),
        (Keep(1, 9), {50}),
        (Keep(1, best=True), {20, 50}),
        (Keep(1, 4, best=True), {20, 40, 50}),
    ],
)
def test_a_rule_keeps_just_these_of_five(keep: Keep, steps: set[int]) -> None:
    scores = [3.0, 1.0, 2.0, 1.0, 2.5]
    found = [Save(10 * n, n, loss) for n, loss in enumerate(scores, start=1)]
    assert retained(found, keep) == steps


def test_of_nothing_nothing_is_kept() -> None:
    assert retained([], Keep(3, 2, best=True)) == set()


def test_without_a_score_there_is_no_best() -> None:
    assert retained([Save(10), Save(20)], Keep(best=True)) == {20}


def test_of_equal_scores_the_earliest_is_the_best_in_any_order() -> None:
    found = [Save(30, loss=1.0), Save(10, loss=1.0), Save(20, loss=1.0), Save(40)]
    assert retained(found, Keep(best=True)) == retained(found[::-1], Keep(best=True)) == {10, 40}


@given(saves, rules)
def test_what_stays_is_recent_or_divisible_or_best(found: list[Save], keep: Keep) -> None:
    newest = sorted(save.step for save in found)[-keep.recent :]
    expected = set(newest)
    for save in found:
        if keep.every and save.ordinal is not None and save.ordinal % keep.every == 0:
            expected.add(save.step)
        others = [(o.loss, o.step) for o in found if o.loss is not None]
        if keep.best and save.loss is not None and (save.loss, save.step) == min(others):
            expected.add(save.step)
    assert retained(found, keep) == expected


@given(saves, rules)
def test_deleting_the_rest_changes_nothing_of_the_answer(found: list[Save], keep: Keep) -> None:
    kept = retained(found, keep)
    assert retained([save for save in found if save.step in kept], keep) == kept


@given(saves, rules, losses)
def test_a_later_save_never_brings_a_dropped_one_back(
    found: list[Save], keep: Keep, loss: float | None
) -> None:
    kept = retained(found, keep)
    assert retained([*found, Save(301, None, loss)], keep) - {301} <= kept


def test_a_changed_save_interval_leaves_earlier_permanent_saves_alone() -> None:
    every_100 = on_schedule((100, 200, 300, 400), 100)
    every_30 = on_schedule((420, 450, 480), 30)
    assert retained(every_100 + every_30, Keep(1, 2)) >= {200, 400}


def test_an_odd_last_step_is_not_permanent() -> None:
    found = on_schedule((100, 200, 203, 300), 100)
    assert retained(found, Keep(1, 2)) == {200, 300}

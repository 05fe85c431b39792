"""Which saves are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyllm.checkpoints.retention import ordinal_of, retained

saves = st.lists(st.tuples(st.integers(0, 300), st.none() | st.integers(0, 60)), max_size=30)


def test_a_step_on_the_schedule_has_its_number_and_an_odd_one_none() -> None:
    assert [ordinal_of(step, 500) for step in (500, 1000, 1003)] == [1, 2, None]


@pytest.mark.parametrize("keep_recent", [0, -1])
def test_keeping_no_recent_save_is_refused(keep_recent: int) -> None:
    with pytest.raises(ValueError, match=f"keep_recent is {keep_recent}"):
        retained([(10, 1)], keep_recent, 0)


def test_a_negative_keep_every_is_refused() -> None:
    with pytest.raises(ValueError, match="keep_every is -1"):
        check_retention(1, -1)


@given(saves, st.integers(1, 5), st.integers(0, 6))
def test_the_newest_always_stay(found: list[tuple[int, int | None]], n: int, k: int) -> None:
    newest = sorted({step for step, _ in found})[-n:]
    assert set(newest) <= retained(found, n, k)


@given(saves, st.integers(1, 5), st.integers(1, 6))
def test_what_stays_is_recent_or_divisible(
    found: list[tuple[int, int | None]], n: int, k: int
) -> None:
    kept = retained(found, n, k)
    newest = sorted({step for step, _ in found})[-n:]
    for step, ordinal in found:
        if ordinal is not None and ordinal % k == 0:
            assert step in kept
    permanent = {step for step, ordinal in found if ordinal is not None and ordinal % k == 0}
    assert kept == permanent | set(newest)


@given(saves, st.integers(1, 5), st.integers(0, 6))
def test_a_later_save_never_brings_a_dropped_one_back(
    found: list[tuple[int, int | None]], n: int, k: int
) -> None:
    kept = retained(found, n, k)
    later = [*found, (301, None)]
    assert retained(later, n, k) - {301} <= kept


def test_a_changed_save_interval_leaves_earlier_permanent_saves_alone() -> None:
    saved_every_100 = [(step, ordinal_of(step, 100)) for step in (100, 200, 300, 400)]
    saved_every_30 = [(step, ordinal_of(step, 30)) for step in (420, 450, 480)]
    assert retained(saved_every_100 + saved_every_30, 1, 2) >= {200, 400}


def test_an_odd_last_step_is_not_permanent() -> None:
    found = [(100, 1), (200, 2), (203, None), (300, 3)]
    assert retained(found, 1, 2) == {200, 300}

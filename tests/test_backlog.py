"""What a mirror copies next, and what it may delete locally."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tinyllm.checkpoints import FolderPlace, Keep
from tinyllm.checkpoints.backlog import Backlog, Save


def save(step: int) -> Save:
    return Save(Path(f"/out/checkpoint-{step}"), step, step // 10 if step % 10 == 0 else None)


def filled(backlog: Backlog, *steps: int) -> Backlog:
    for step in steps:
        backlog.add(save(step))
    return backlog


def copied_in_order(backlog: Backlog) -> list[int]:
    order = []
    while (chosen := backlog.next()) is not None:
        order.append(chosen.step)
        backlog.done(chosen)
    return order


def test_superseded_saves_are_skipped() -> None:
    assert copied_in_order(filled(Backlog(Keep(1, 0)), 10, 20, 30, 40)) == [40]


def test_permanent_saves_are_not_skipped_and_the_newest_comes_first() -> None:
    order = copied_in_order(filled(Backlog(Keep(1, 2)), 10, 20, 30, 40, 50))
    assert order[0] == 50
    assert sorted(order) == [20, 40, 50]


def test_a_mirror_that_never_catches_up_still_gets_the_permanent_ones() -> None:
    backlog = Backlog(Keep(1, 3))
    copied = []
    for step in range(10, 400, 10):
        backlog.add(save(step))
        if step % 20 == 0:  # copying takes as long as two saves
            chosen = backlog.next()
            assert chosen is not None
            backlog.done(chosen)
            copied.append(chosen.step)
    assert {30, 60, 90, 120} <= set(copied)
    assert len(backlog.pending) < 8


def test_what_failed_lets_others_go_first() -> None:
    backlog = filled(Backlog(Keep(2, 0)), 10, 20)
    backlog.pending[20].failures = 1
    assert copied_in_order(backlog) == [10, 20]


def test_nothing_local_goes_before_a_copy_is_verified() -> None:
    backlog = filled(Backlog(Keep(1, 0)), 10, 20, 30)
    assert backlog.deletable([save(10), save(20), save(30)]) == set()


def test_the_newest_local_ones_stay_even_when_verified() -> None:
    backlog = filled(Backlog(Keep(2, 0)), 10, 20, 30)
    copied_in_order(backlog)
    assert backlog.deletable([save(10), save(20), save(30)]) == {10}


def test_a_superseded_one_goes_once_a_newer_one_is_verified() -> None:
    backlog = filled(Backlog(Keep(1, 0)), 10, 20)
    chosen = backlog.next()
    assert chosen is not None
    backlog.done(chosen)
    backlog.add(save(30))
    assert backlog.deletable([save(10), save(20), save(30)]) == {10, 20}


def test_a_permanent_local_one_waits_for_its_own_copy() -> None:
    backlog = filled(Backlog(Keep(1, 2)), 20, 30)
    chosen = backlog.next()
    assert chosen is not None
    backlog.done(chosen)
    assert chosen.step == 30
    assert backlog.deletable([save(20), save(30)]) == set()


def test_saving_a_step_again_makes_its_copy_unverified() -> None:
    backlog = filled(Backlog(Keep(1, 0)), 10)
    copied_in_order(backlog)
    backlog.add(save(10))
    assert 10 not in backlog.verified


def test_the_result_names_what_is_missing_and_how_to_copy_it() -> None:
    backlog = filled(Backlog(Keep(1, 2)), 10, 20, 30)
    backlog.final = [Path("/out/config.json")]
    result = backlog.result(FolderPlace(Path("/my drive")).copy_command, "No space left on device")
    assert not result.ok
    assert [path.name for path in result.missing] == [
        "checkpoint-20",
        "checkpoint-30",
        "config.json",
    ]
    assert result.error == "No space left on device"
    assert result.command == (
        "cp -r /out/checkpoint-20 /out/checkpoint-30 '/my drive/' && "
        "cp /out/config.json '/my drive/'"
    )


def test_a_lost_save_that_was_superseded_is_not_missed() -> None:
    backlog = filled(Backlog(Keep(1, 0)), 10, 20)
    assert backlog.lose(backlog.pending[10], "gone") is False
    copied_in_order(backlog)
    assert backlog.result(FolderPlace(Path("/sync")).copy_command, None).ok


def test_a_lost_save_that_was_wanted_is_missed() -> None:
    backlog = filled(Backlog(Keep(1, 0)), 10)
    assert backlog.lose(backlog.pending[10], "it is gone") is True
    result = backlog.result(FolderPlace(Path("/sync")).copy_command, None)
    assert (result.ok, result.error) == (False, "it is gone")


@given(
    st.lists(st.sampled_from(["save", "copy"]), max_size=60), st.integers(1, 3), st.integers(0, 4)
)
def test_whatever_the_pace_the_mirror_ends_with_what_retention_wants(
    events: list[str], keep_recent: int, keep_every: int
) -> None:
    backlog = Backlog(Keep(keep_recent, keep_every))
    saved: list[Save] = []
    for event in events:
        if event == "save":
            new = save(10 * (len(saved) + 1))
            saved.append(new)
            backlog.add(new)
        elif (chosen := backlog.next()) is not None:
            backlog.done(chosen)
            keep = backlog.retained(backlog.on_mirror.values())
            backlog.on_mirror = {s: found for s, found in backlog.on_mirror.items() if s in keep}
    copied_in_order(backlog)
    keep = backlog.retained(backlog.on_mirror.values())
    assert keep == backlog.retained(saved)

"""Exact duplicates."""

from tinyllm.dedup import FirstSight, digest
from tinyllm.documents import Turn


def test_the_same_turns_are_seen_for_the_first_time_once():
    first = FirstSight()
    turns = (Turn("user", "hi"), Turn("assistant", "hello"))
    assert [first(*turns), first(*turns), first(*turns[:1])] == [True, False, True]


def test_roles_and_bounds_of_turns_count():
    different = [
        (Turn("user", "ab"),),
        (Turn("env", "ab"),),
        (Turn(None, "ab"),),
        (Turn("user", "a"), Turn("user", "b")),
        (Turn("user", "b"), Turn("user", "a")),
        (Turn("user", "a user 1 b"),),
    ]
    assert len({digest(turns) for turns in different}) == len(different)

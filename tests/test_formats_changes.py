"""Values that a log builds up by changes."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyllm.formats.changes import Replay
from tinyllm.formats.parsed import Change

STEPS = st.one_of(st.sampled_from(["a", "b"]), st.integers(-1, 3))
VALUES = st.recursive(
    st.one_of(st.none(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    ),
    max_leaves=8,
)
CHANGES = st.builds(
    Change,
    st.sampled_from(["set", "push", "delete"]),
    st.lists(STEPS, max_size=3).map(tuple),
    VALUES,
    st.one_of(st.none(), st.integers(0, 3)),
)


@pytest.mark.parametrize(
    ("change", "value", "replaced"),
    [
        (Change("set", ("a", 0), "z"), {"a": ["z", "y"]}, 1),
        (Change("set", ("b",), "z"), {"a": ["x", "y"], "b": "z"}, 0),
        (Change("push", ("a",), ["z"]), {"a": ["x", "y", "z"]}, 0),
        (Change("push", ("a",), ["z"], 1), {"a": ["x", "z"]}, 1),
        (Change("push", ("a",), [], 0), {"a": []}, 2),
        (Change("push", ("b",), ["z"]), {"a": ["x", "y"], "b": ["z"]}, 0),
        (Change("delete", ("a",)), {"a": None}, 2),
        (Change("set", (), {}), {}, 2),
    ],
    ids=str,
)
def test_a_change_is_made_where_its_path_leads(change: Change, value: Any, replaced: int):
    replay = Replay({"a": ["x", "y"]})
    assert replay.apply(change)
    assert replay.value == value
    assert replay.replaced == replaced


@given(VALUES, CHANGES)
def test_a_change_that_does_not_fit_changes_nothing(value: Any, change: Change):
    replay = Replay(copy.deepcopy(value))
    if not replay.apply(change):
        assert replay.value == value
        assert replay.replaced == 0

"""The shelf: what is put on it comes back, and nothing stays on disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyllm import drafts
from tinyllm.drafts import Draft, Said, Shelf
from tinyllm.errors import UserError

roles = st.sampled_from(["system", "user", "assistant", "env", "code", None])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
said = st.builds(Said, roles, texts, st.integers(0, 10**12), st.integers(1, 10**9))
some = st.lists(st.builds(Draft, texts, texts, st.lists(said, max_size=4)), max_size=9)


def filled(values: list[Draft]) -> Shelf:
    shelf = Shelf()
    for value in values:
        shelf.put(value)
    return shelf


@given(some)
def test_drafts_come_back_as_they_were_in_order_and_by_place(values):
    shelf = filled(values)
    assert list(shelf) == values
    assert [shelf.get(index) for index in reversed(range(len(values)))] == values[::-1]
    assert shelf.count == len(values)


def test_many_batches_are_kept_apart(monkeypatch):
    monkeypatch.setattr(drafts, "_BATCH_BYTES", 100)
    values = [Draft("f", f"p{n}", [Said(None, "x" * n, n, n)]) for n in range(1, 60)]
    shelf = filled(values)
    assert list(shelf) == values
    assert shelf.get(58) == values[58]
    assert shelf.get(0) == values[0]


def test_a_path_that_is_no_unicode_can_be_put():
    assert filled([Draft("f", "a\udcff", [])]).get(0).path == "a?"


def test_a_full_temporary_folder_is_said_in_one_sentence(monkeypatch):
    class Full:
        def close(self) -> None: ...
        def seek(self, place: int) -> None: ...
        def write(self, raw: bytes) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(drafts.tempfile, "SpooledTemporaryFile", lambda size: Full())
    shelf = filled([Draft("f", "p", [])])
    with pytest.raises(UserError, match=r"No space left on device.*TMPDIR"):
        list(shelf)

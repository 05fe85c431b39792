"""Every byte in one line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyllm.ledger import FATES, MAX_DETAILS, Ledger, apportion, shape_of
from tinyllm.ledger_page import page

fates = st.sampled_from(list(FATES))


@given(st.integers(0, 10**12), st.lists(st.integers(0, 10**9), min_size=1, max_size=9))
def test_shares_add_up_and_lie_within_one_of_the_exact_ones(total, weights):
    shares = apportion(total, weights)
    assert sum(shares) == total
    if sum(weights):
        for share, weight in zip(shares, weights, strict=True):
            assert abs(share * sum(weights) - total * weight) < sum(weights)


def test_equal_remainders_go_to_the_first():
    assert apportion(2, [1, 1, 1]) == [1, 1, 0]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**6),
            st.lists(st.tuples(fates, st.integers(0, 10**5), st.booleans()), max_size=6),
        ),
        max_size=5,
    )
)
def test_the_fates_always_sum_to_the_sizes_on_disk(files):
    ledger = Ledger()
    for number, (size, bookings) in enumerate(files):
        left = size
        with ledger.file(f"f{number}", size):
            for line, (fate, amount, lost) in enumerate(bookings, 1):
                if lost:
                    ledger.book_lost(min(amount, left), line, "broken")
                    left -= min(amount, left)
                else:
                    ledger.book(fate, amount, line, "kind")
    total = sum(size for size, _ in files)
    assert sum(tally.bytes for tally in ledger.fates.values()) == total == ledger.bytes
    assert ledger.to_json()["bytes"] == total
    for tally in ledger.fates.values():
        assert sum(detail.bytes for detail in tally.details.values()) <= tally.bytes


def test_bytes_of_a_packed_file_are_scaled_to_its_size():
    ledger = Ledger()
    with ledger.file("a.gz", 10):
        ledger.book("kept", 300, 1)
        ledger.book("markup", 100, 1)
    assert (ledger.fates["kept"].bytes, ledger.fates["markup"].bytes) == (8, 2)


def test_the_first_of_each_fate_is_named_with_its_line():
    ledger = Ledger()
    with ledger.file("a", 9):
        ledger.book("kept", 4, 1)
        ledger.book("unreadable", 3, 2, "cut line")
        ledger.book("unreadable", 2, 3, "not JSON")
    tally = ledger.to_json()["fates"]["unreadable"]
    assert (tally["bytes"], tally["records"], tally["first"]) == (5, 2, "a:2")
    assert tally["details"]["not JSON"] == {"bytes": 2, "records": 1, "first": "a:3"}


def test_shapes_past_the_limit_are_counted_together():
    ledger = Ledger()
    count = MAX_DETAILS + 50
    with ledger.file("a", count):
        for n in range(count):
            ledger.book("unknown shape", 1, n + 1, shape_of({f"key{n}": 1}))
    shapes = ledger.to_json()["unknown_shapes"]
    assert len(shapes) == MAX_DETAILS + 1
    assert shapes[0] == {"keys": "others", "bytes": 50, "records": 50, "first": "a:201"}


def test_shapes_are_told_by_sorted_keys_or_kind():
    assert shape_of({"b": 1, "a": 2}) == "{a, b}"
    assert shape_of({f"k{n:02}": 0 for n in range(20)}).endswith("k11, … 8 more}")
    assert [shape_of(value) for value in ([1], "x", 4, True, None)] == [
        "a list",
        "a string",
        "a number",
        "true or false",
        "null",
    ]


def test_names_and_keys_that_are_no_unicode_can_be_printed():
    ledger = Ledger()
    with ledger.file("bad\udcff.jsonl", 1):
        ledger.book("unknown shape", 1, 1, shape_of({"\ud800": 1}))
    page(ledger, "voice").encode()
    json.dumps(ledger.to_json(), ensure_ascii=False).encode()


def test_the_table_names_every_fate_share_and_unknown_shape():
    ledger = Ledger()
    with ledger.file("a.jsonl", 1000):
        ledger.book("kept", 900, 1)
        ledger.book("unknown shape", 100, 7, shape_of({"odd": 1}))
    tally = ledger.format("openai_chat")
    tally.turns["user"] += 2
    tally.chars["user"] += 1234
    table = page(ledger, "voice")
    for words in ("90.0%", "a.jsonl:7", "1 x {odd}", "user 2 (1,234)", "1,000"):
        assert words in table


def test_tokens_are_a_column_only_where_they_were_counted():
    ledger = Ledger()
    with ledger.file("a.jsonl", 9):
        ledger.book("kept", 9, 1)
    ledger.format("openai_chat").documents = 1
    assert "tokens" not in page(ledger, "voice")
    assert "~1,234" in page(ledger, "voice", {"openai_chat": "~1,234"})


def table_of(name: str, decided: dict[str, dict[str, int]], *speakers: str) -> str:
    """The table of one format, in which these spoke."""
    ledger = Ledger()
    tally = ledger.format(name)
    for by, roles in decided.items():
        tally.decided[by].update(roles)
    for speaker in speakers:
        tally.speak(speaker)
    return page(ledger, "voice")


def test_a_chat_of_people_asks_who_the_model_is():
    table = table_of("whatsapp", {"names of people": {"user": 2}}, "Bram", "Odalys")
    assert "nobody here speaks as the model: --me NAME says who does, of Bram (1), Odal" in table


def test_where_only_a_bot_speaks_as_the_model_the_people_are_named():
    table = table_of("discord", {"isBot": {"user": 1, "assistant": 1}}, "Bram", "GaleBot")
    assert "only bots speak as the model here: --me NAME says who does, of Bram (1)" in table


@pytest.mark.parametrize(
    ("name", "decided"),
    [
        ("discord", {"--me": {"assistant": 1, "env": 1}, "isBot": {"user": 1}}),
        ("flat_message", {"role map": {"assistant": 1, "user": 1}}),
        ("sillytavern", {"is_user": {"assistant": 1, "user": 1}}),
    ],
)
def test_where_somebody_is_the_model_nothing_is_asked(name, decided):
    assert "!" not in table_of(name, decided, "Bram", "Odalys")


def test_names_past_the_fifth_are_counted():
    table = table_of("whatsapp", {"names of people": {"user": 7}}, *"ABCDEFG")
    assert "E (1) and 2 more" in table


def test_a_story_without_names_is_no_persons_chat():
    decided = {"--me": {"assistant": 1}, "instruct tags": {"assistant": 1, "user": 1}}
    assert "!" not in table_of("koboldai", decided, "Odalys")


def test_a_character_that_stays_the_model_beside_the_users_person_is_told():
    decided = {"--me": {"assistant": 1}, "is_user": {"assistant": 1}}
    table = table_of("sillytavern", decided, "Odalys", "Rook")
    assert "--relabel sillytavern.assistant=user makes people of them" in table


STEERING = "a\nb\x1b[31m\x9b\u202e\udcff é"


def test_names_of_files_and_keys_steer_no_terminal():
    ledger = Ledger()
    with ledger.file(STEERING, 2):
        ledger.book("unknown shape", 2, 1, shape_of({STEERING: 1}))
        ledger.secret("e-mail", 1, 1)
    ledger.format("discord").speak(STEERING)
    lines = page(ledger, "voice").splitlines()
    assert sum(r"a\nb\x1b[31m\x9b\u202e? é" in line for line in lines) == 4
    assert all(line.isprintable() for line in lines)

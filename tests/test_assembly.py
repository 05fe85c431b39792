"""Records to documents, with formats made for the purpose."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyllm import assembly
from tinyllm.assembly import Assembler
from tinyllm.cleaning import Cleaner
from tinyllm.documents import Document, Turn
from tinyllm.formats.parsed import Parsed
from tinyllm.gathering import Gathering
from tinyllm.ledger import Ledger
from tinyllm.reading.records import Record
from tinyllm.scopes import SCOPES, WhoSpeaks

UUID = "123e4567-e89b-12d3-a456-426614174000"
HOUR = 3600.0


class Spoken:
    """A record is the arguments of Parsed, its turns as pairs of role and text."""

    NAME = "spoken"

    def recognise(self, record: Any) -> bool:
        return isinstance(record, dict) and "turns" in record

    def parse(self, record: dict[str, Any]) -> Parsed | None:
        if record["turns"] == "odd":
            return None
        turns = tuple(Turn(role, text) for role, text in record["turns"])
        return Parsed(**{**record, "turns": turns})


SPOKEN = Spoken()


def recognise(record: object) -> Spoken | None:
    return SPOKEN if SPOKEN.recognise(record) else None


def said(*turns: tuple[str | None, str], **fields: Any) -> dict[str, Any]:
    return {"turns": turns, **fields}


def assemble(
    *files: list[Any],
    scope: str = "full",
    rules: tuple[str, ...] = (),
    me: tuple[str, ...] = (),
    size: int = 100,
) -> tuple[list[Document], Ledger]:
    """The documents of files of records, each of `size` bytes, and the ledger, checked."""
    ledger = Ledger()
    who_speaks = WhoSpeaks(rules, me, [SPOKEN.NAME])
    gathering = Gathering(ledger, scope, Assembler(ledger, scope, recognise, who_speaks, Cleaner()))
    for number, values in enumerate(files):
        with gathering.file(f"f{number}", size * len(values)):
            for line, value in enumerate(values, 1):
                record = value if isinstance(value, Record) else None
                gathering.add(record or Record(value, size, f"f{number}", line))
    documents = list(gathering.documents())
    assert sum(tally.bytes for tally in ledger.fates.values()) == ledger.bytes
    assert ledger.documents == len(documents)
    return documents, ledger


def turns(documents: list[Document]) -> list[list[tuple[str | None, str]]]:
    return [[(turn.role, turn.text) for turn in document.turns] for document in documents]


CHAT = (("system", "S"), ("user", "U"), ("assistant", "A"), ("env", "E"), ("code", "C"))


@pytest.mark.parametrize(
    ("scope", "roles"),
    [
        ("voice", ["system", "user", "assistant", "code"]),
        ("full", ["system", "user", "assistant", "env", "code"]),
        ("assistant", ["assistant"]),
    ],
)
def test_a_scope_keeps_its_roles(scope, roles):
    documents, ledger = assemble([said(*CHAT)], scope=scope)
    assert [role for role, _ in turns(documents)[0]] == roles
    assert ledger.fates["kept"].bytes == len(roles)
    if scope != "full":
        assert ledger.fates["out of scope"].bytes == 5 - len(roles)


def test_a_plain_document_is_no_assistant_turn():
    values = [said((None, "prose")), said(("assistant", "A"))]
    assert turns(assemble(values, scope="voice")[0]) == [[(None, "prose")], [("assistant", "A")]]
    assert turns(assemble(values, scope="assistant")[0]) == [[("assistant", "A")]]


def test_a_system_prompt_alone_is_a_document_only_in_the_full_scope():
    values = [said(("system", "S"), ("env", "E"))]
    documents, ledger = assemble(values, scope="voice")
    assert (documents, ledger.fates["out of scope"].bytes) == ([], 2)
    assert len(assemble(values, scope="full")[0]) == 1


JOINED = {"thread": "a", "joins": True}


def test_an_agents_records_are_one_turn_until_somebody_else_has_a_turn():
    values = [
        said(("assistant", "1"), **JOINED),
        said(("assistant", "2"), **JOINED),
        said(("env", "r"), thread="a"),
        said(("assistant", "3"), **JOINED),
    ]
    expected = [("assistant", "1\n\n2"), ("env", "r"), ("assistant", "3")]
    assert turns(assemble(values)[0]) == [expected]
    assert turns(assemble(values, scope="assistant")[0]) == [[expected[0], expected[2]]]


@pytest.mark.parametrize(("ends", "count"), [(True, 2), (False, 1)])
def test_a_record_without_words_may_end_a_turn(ends, count):
    values = [
        said(("assistant", "1"), **JOINED),
        said(thread="a", ends=ends),
        said(("assistant", "2"), **JOINED),
    ]
    assert len(turns(assemble(values)[0])[0]) == count


def copies(*series: str) -> list[dict[str, Any]]:
    return [said(("user", "go on"), thread="a", mirrors=True, series=name) for name in series]


@pytest.mark.parametrize(
    ("values", "count"),
    [
        (copies("x"), 1),
        (copies("x", "y", "z"), 1),
        (copies("x", "x", "y", "y"), 2),
        ([*copies("x"), said(("user", "go on"), thread="a")], 1),
        ([said(("user", "go on"), thread="a"), *copies("x", "y")], 1),
        ([said(("user", "go on"), thread="a"), *copies("x", "x")], 2),
        ([*copies("x"), said(("env", "go on"), thread="a")], 2),
    ],
)
def test_what_mirrors_is_kept_as_often_as_it_was_said(values, count):
    documents, ledger = assemble(values)
    assert len(documents[0].turns) == count
    dropped = len(values) - count
    assert (ledger.fates["duplicate"].records if dropped else 0) == dropped


def test_formats_of_one_family_share_a_thread():
    documents, _ = assemble(
        [
            said(("user", "1"), thread="a", family="other"),
            said(("assistant", "2"), thread="a", family="other"),
            said(("user", "x"), thread="a"),
        ]
    )
    assert turns(documents) == [[("user", "1"), ("assistant", "2")], [("user", "x")]]


def test_records_of_a_thread_make_one_document():
    documents, _ = assemble(
        [
            said(("user", "1"), thread="a"),
            said(("user", "x"), thread="b"),
            said(("assistant", "2"), thread="a"),
        ]
    )
    assert turns(documents) == [[("user", "x")], [("user", "1"), ("assistant", "2")]]
    assert [document.source for document in documents] == ["f0:2", "f0:1"]


def test_threads_do_not_go_on_in_the_next_file():
    value = [said(("user", "1"), thread="a")], [said(("user", "2"), thread="a")]
    assert len(assemble(*value)[0]) == 2


def test_parts_of_a_message_are_one_turn():
    documents, _ = assemble(
        [
            said(("assistant", "think"), thread="a", message="m"),
            said(("assistant", "speak"), thread="a", message="m"),
            said(("assistant", "again"), thread="a", message="n"),
        ]
    )
    assert turns(documents) == [[("assistant", "think\n\nspeak"), ("assistant", "again")]]


@pytest.mark.parametrize("scope", ["voice", "full"])
def test_parts_around_another_turn_are_turns_of_their_own(scope):
    documents, _ = assemble(
        [
            said(("assistant", "a"), thread="t", message="m"),
            said(("env", "e"), thread="t", message="m"),
            said(("assistant", "b"), thread="t", message="m"),
        ],
        scope=scope,
    )
    assert [text for _, text in turns(documents)[0] if text != "e"] == ["a", "b"]


@pytest.mark.parametrize(
    ("scope", "kept"),
    [
        ("full", [("assistant", "call 1\n\ncall 2\n\ncall 3"), ("env", "r1"), ("env", "r2")]),
        ("voice", [("assistant", "call 1\n\ncall 2\n\ncall 3")]),
    ],
)
def test_results_logged_between_the_calls_of_one_message_come_after_them(scope, kept):
    documents, ledger = assemble(
        [
            said(("assistant", "call 1"), thread="t", message="m"),
            said(("env", "r1"), thread="t"),
            said(("assistant", "call 2"), thread="t", message="m"),
            said(("env", "r2"), thread="t"),
            said(("assistant", "call 3"), thread="t", message="m"),
        ],
        scope=scope,
    )
    assert turns(documents) == [kept]
    assert ledger.fates["kept"].bytes == sum(len(t.replace("\n\n", "")) for _, t in kept)


@pytest.mark.parametrize("scope", ["assistant", "full"])
@pytest.mark.parametrize(
    "between", [said(("user", "wait"), thread="t"), said(("assistant", "b"), thread="t")]
)
def test_a_message_ends_where_anybody_else_speaks(between, scope):
    part = said(("assistant", "a"), thread="t", message="m", identity=None)
    documents, _ = assemble([part, between, part], scope=scope)
    assert [text for _, text in turns(documents)[0]].count("a") == 2


def test_a_result_is_not_joined_to_the_one_inside_a_message():
    documents, _ = assemble(
        [
            said(("assistant", "search"), ("env", "pages"), thread="t", message="m"),
            said(("env", "listing"), thread="t"),
        ]
    )
    assert [text for _, text in turns(documents)[0]] == ["search", "pages", "listing"]


def test_parts_of_a_message_have_one_blank_line_between_them():
    documents, _ = assemble(
        [
            said(("assistant", "think\n"), thread="a", message="m"),
            said(("assistant", "\n\nspeak"), thread="a", message="m"),
        ]
    )
    assert turns(documents) == [[("assistant", "think\n\nspeak")]]


def test_a_repeated_record_of_a_thread_counts_once():
    value = said(("user", "hi"), thread="a", identity="1")
    documents, ledger = assemble([value, value, said(("user", "hi"), thread="a", identity="2")])
    assert turns(documents) == [[("user", "hi"), ("user", "hi")]]
    assert ledger.fates["duplicate"].bytes == 100
    assert ledger.fates["duplicate"].first == "f0:2"


def test_a_thread_is_cut_where_hours_lie_between_records():
    times = [0.0, 3 * HOUR, 7 * HOUR, 11.1 * HOUR]
    documents, _ = assemble([said(("user", f"{time}"), thread="a", time=time) for time in times])
    assert [len(document.turns) for document in documents] == [3, 1]


def test_a_document_said_before_is_a_duplicate_in_any_file():
    value = said(("user", "U"), ("assistant", "A"))
    documents, ledger = assemble([value, value], [value])
    assert len(documents) == 1
    duplicate = ledger.fates["duplicate"]
    assert (duplicate.bytes, duplicate.records, duplicate.first) == (4, 2, "f0:2")


def test_documents_that_differ_only_in_ids_are_duplicates():
    other = UUID.replace("1", "2")
    documents, _ = assemble([said(("user", f"see {UUID}")), said(("user", f"see {other}"))])
    assert turns(documents) == [[("user", "see <id>")]]


def test_a_system_prompt_counts_once_over_all_files():
    values = [said(("system", "S"), ("user", f"{n}")) for n in range(3)]
    documents, ledger = assemble(values[:2], values[2:])
    assert turns(documents) == [[("system", "S"), ("user", "0")], [("user", "1")], [("user", "2")]]
    assert ledger.fates["duplicate"].details["system prompt"].bytes == 2


def test_short_turns_may_repeat():
    documents, _ = assemble([said(("user", "ok"), ("assistant", n)) for n in "ab"])
    assert [pair[0] for pair in turns(documents)] == [("user", "ok")] * 2


def test_empty_turns_vanish():
    documents, ledger = assemble([said(("user", " \n"), ("assistant", "A")), said(("user", ""))])
    assert turns(documents) == [[("assistant", "A")]]
    assert ledger.fates["markup"].bytes == 199


def test_a_record_without_speech_is_told_apart_from_markup():
    _, ledger = assemble([said(noise=30)], [said(("user", "hi"))])
    assert ledger.fates["no speech"].bytes == 70
    assert ledger.fates["noise removed"].bytes == 30


def test_words_that_others_were_chosen_over_are_noise_of_their_own_kind():
    _, ledger = assemble([said(("user", "hi"), noise=30, unchosen=20)], [said(noise=5, unchosen=5)])
    kinds = {name: part.bytes for name, part in ledger.fates["noise removed"].details.items()}
    assert kinds == {"stands twice, or encoded": 10, "not the chosen answer": 25}


def test_noise_is_what_cleaning_took_and_what_the_format_named():
    _, ledger = assemble([said(("user", f"see {UUID}"), noise=10)])
    found = {fate: tally.bytes for fate, tally in ledger.fates.items()}
    assert found == {"noise removed": 32 + 10, "markup": 50, "kept": 8}


def test_text_longer_than_its_record_is_scaled_to_it():
    values = [said(("user", "u" * 300), ("assistant", "a" * 100), noise=100)]
    _, ledger = assemble(values, scope="assistant")
    found = {fate: tally.bytes for fate, tally in ledger.fates.items()}
    assert found == {"noise removed": 20, "out of scope": 60, "kept": 20}


def test_rules_apply_before_the_scope():
    value = [said(("user", "tool output"), ("assistant", "A"))]
    documents, _ = assemble(value, scope="voice", rules=("spoken.user=env",))
    assert turns(documents) == [[("assistant", "A")]]


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (42, "a number"),
        ({"b": 1, "a": 1}, "{a, b}"),
        ({"turns": "odd"}, "{turns} (like spoken, but its values don't fit)"),
    ],
)
def test_an_unknown_shape_is_named_by_its_keys(value, detail):
    _, ledger = assemble([value])
    assert list(ledger.fates["unknown shape"].details) == [detail]


def test_damage_found_in_reading_is_booked_as_it_came():
    damage = Record(None, 100, "f0", 1, "unreadable", "cut line")
    _, ledger = assemble([damage])
    assert ledger.fates["unreadable"].details["cut line"].bytes == 100
    assert ledger.records == 0


def test_a_thread_that_outgrows_its_bound_is_closed(monkeypatch):
    monkeypatch.setattr(assembly, "MAX_THREAD_BYTES", 5000)
    values = [said(("user", f"{n:04}" + "x" * 996), thread="a") for n in range(9)]
    documents, _ = assemble(values, size=1000)
    assert [len(document.turns) for document in documents] == [4, 4, 1]


def test_the_thread_quiet_longest_is_closed_when_all_outgrow_their_bound(monkeypatch):
    monkeypatch.setattr(assembly, "MAX_OPEN_BYTES", 4000)
    values = [said(("user", n * 500), thread=n) for n in "abac"]
    documents, _ = assemble(values, size=500)
    assert [document.turns[0].text[0] for document in documents] == ["b", "a", "c"]


def test_the_ledger_counts_what_each_scope_would_keep():
    _, ledger = assemble([said(("env", "E")), said(("user", "U")), said(("assistant", "A"))])
    assert ledger.scopes == {"full": 3, "voice": 2, "assistant": 1}


def test_formats_count_records_documents_turns_and_characters():
    _, ledger = assemble([said(*CHAT), said(*CHAT)], scope="voice")
    tally = ledger.to_json()["formats"]["spoken"]
    assert (tally["records"], tally["documents"]) == (2, 1)
    assert tally["turns"] == tally["chars"] == {"system": 1, "user": 1, "assistant": 1, "code": 1}
    repeated = {"system": 1, "user": 1, "assistant": 1, "code": 1}
    assert tally["left_out"] == {"out of scope": {"env": 2}, "duplicate": repeated}
    assert tally["decided"] == {"role map": dict.fromkeys(("env", *repeated), 2)}


roles = st.sampled_from(["system", "user", "assistant", "env", "code", None])
texts = st.sampled_from(["", " ", "hi", "é" * 40, f"see {UUID}", "\ud800", "x" * 300, "\x1b[0m"])
spoken = st.builds(
    lambda turns, thread, message, identity, time, noise: {
        "turns": turns,
        "thread": thread,
        "message": message,
        "identity": identity,
        "time": time,
        "noise": noise,
    },
    st.lists(st.tuples(roles, texts), max_size=4),
    st.sampled_from([None, "a", "b"]),
    st.sampled_from([None, "m"]),
    st.sampled_from([None, None, "i"]),
    st.sampled_from([None, 0.0, 5 * HOUR]),
    st.integers(0, 300),
)


@given(st.lists(st.lists(spoken | st.just({"odd": 1}), max_size=5), max_size=3))
@pytest.mark.parametrize("scope", SCOPES)
def test_whatever_is_said_the_bytes_add_up(scope, files):
    documents, ledger = assemble(*files, scope=scope, size=120)
    kept = ledger.fates.get("kept")
    assert (kept is not None) == bool(documents)
    for document in documents:
        assert all(turn.text.strip() for turn in document.turns)
        document.render().encode()

"""All formats: what they promise the reader, on odd records and on real logs."""

import ast
import copy
import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from format_samples import SAMPLES as SAMPLES_BY_NAME
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyllm.documents import Role
from tinyllm.formats import FORMATS, as_record, recognise
from tinyllm.formats.parsed import Format, Parsed

FOLDER = Path(__file__).parent.parent / "tinyllm" / "formats"
NAMES = [known.NAME for known in FORMATS]


SAMPLES = [record for records in SAMPLES_BY_NAME.values() for record in records]

TEXTS = st.text(st.characters(exclude_categories=()), max_size=6)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXTS
    | st.sampled_from(["user", "assistant", "tool_use", "tool_result", "[", '[{"role": 1}]', "{"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            TEXTS | st.sampled_from(["type", "text", "role", "content", "name", "input", "value"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
KEYS = sorted({key for sample in SAMPLES for key in sample})


@st.composite
def near_misses(draw: st.DrawFn) -> dict[str, Any]:
    """A right record of some format in which a value, anywhere in it, was exchanged."""
    record = copy.deepcopy(draw(st.sampled_from(SAMPLES)))
    at: Any = record
    while True:
        key = draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], dict | list) or not at[key] or draw(st.booleans()):
            at[key] = draw(VALUES)
            return record
        at = at[key]


def check(known: Format, record: dict[str, Any]) -> list[Parsed] | None:
    """Parse a record, and check that the result is what `Parsed` promises."""
    parsed = known.parse(record)
    if parsed is None:
        return None
    pieces = [parsed] if isinstance(parsed, Parsed) else list(parsed)
    for piece in pieces:
        check_piece(piece)
    return pieces


def check_piece(parsed: Parsed) -> None:
    assert isinstance(parsed, Parsed)
    assert isinstance(parsed.turns, tuple)
    for turn in parsed.turns:
        assert isinstance(turn.text, str)
        assert isinstance(turn.speaker, str)
        assert turn.role is None or turn.role in get_args(Role)
    for text in (parsed.thread, parsed.message, parsed.identity):
        assert text is None or isinstance(text, str)
    assert parsed.thread is not None or parsed.message is parsed.identity is parsed.time is None
    assert not parsed.joins or not parsed.mirrors
    assert parsed.time is None or math.isfinite(parsed.time)
    assert isinstance(parsed.decided, str)
    assert parsed.noise >= 0


@pytest.mark.parametrize("known", FORMATS, ids=NAMES)
@given(record=near_misses())
@settings(max_examples=150)
def test_a_record_that_nearly_fits_is_parsed_or_unknown_but_never_an_error(
    known: Format, record: dict[str, Any]
):
    assert isinstance(known.recognise(record), bool)
    check(known, record)


@pytest.mark.parametrize("known", FORMATS, ids=NAMES)
@given(record=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5))
@settings(max_examples=150)
def test_arbitrary_values_under_known_keys_are_never_an_error(
    known: Format, record: dict[str, Any]
):
    assert isinstance(known.recognise(record), bool)
    check(known, record)


@given(value=VALUES)
@settings(max_examples=100)
def test_any_json_value_is_a_record_or_none(value: Any):
    record = as_record(value)
    assert record is None or recognise(record) is None or isinstance(value, dict | list)


def test_a_list_of_messages_is_the_chat_it_stands_for():
    assert as_record([{"role": "user"}]) == {"messages": [{"role": "user"}]}
    shared = [{"from": "human", "value": "hi"}]
    assert as_record(shared) == {"conversations": shared}
    for other in ([], [1], [{"role": "user"}, {}], "role", None):
        assert as_record(other) is None


@given(record=near_misses())
def test_a_record_without_a_formats_keys_is_none_of_it(record: dict[str, Any]):
    for known in FORMATS:
        assert not known.recognise({k: v for k, v in record.items() if k not in known.KEYS})


@pytest.mark.parametrize("name", NAMES)
def test_a_formats_records_are_recognised_as_its_own_and_parsed(name: str):
    assert SAMPLES_BY_NAME[name], "a format needs a sample"
    for record in SAMPLES_BY_NAME[name]:
        known = recognise(record)
        assert known is not None
        assert name == known.NAME
        assert check(known, record) is not None


def test_parsing_leaves_the_record_as_it_was():
    for record in SAMPLES:
        before = copy.deepcopy(record)
        known = recognise(record)
        assert known is not None
        known.parse(record)
        assert record == before


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


EXTREMES = {
    "an integer too long to print": 10**5000,
    "nesting that exhausts the stack": nested(200_000),
    "JSON text nested as deeply": "[" * 200_000,
    "a long run of openings": "<system-reminder>" * 20_000,
}


def with_each_value_exchanged(value: Any, new: Any) -> list[Any]:
    """Copies of a value in each of which one value, anywhere in it, is another."""
    copies = [new]
    keys = (
        list(value)
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    )
    for key in keys:
        for exchanged in with_each_value_exchanged(value[key], new):
            copied = copy.copy(value)
            copied[key] = exchanged
            copies.append(copied)
    return copies


@pytest.mark.parametrize("name", EXTREMES)
def test_an_extreme_value_anywhere_in_a_record_is_never_an_error(name: str):
    for sample in SAMPLES:
        for record in with_each_value_exchanged(sample, EXTREMES[name])[1:]:
            for known in FORMATS:
                assert isinstance(known.recognise(record), bool)
                check(known, record)


def test_every_format_in_the_folder_is_registered_once_under_its_files_name():
    modules = [path.stem for path in FOLDER.glob("*.py") if "\nNAME = " in _text(path)]
    assert sorted(NAMES) == sorted(modules)


def test_the_formats_are_the_plain_imports_of_the_registry_in_their_order():
    imports = [
        alias.name
        for node in ast.walk(ast.parse(_text(FOLDER / "registry.py")))
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    assert imports == [f"tinyllm.formats.{name}" for name in NAMES]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_formats_stand_on_the_standard_library_and_each_other(path: Path):
    allowed = {"tinyllm.documents", "tinyllm.formats"}
    for node in ast.walk(ast.parse(_text(path))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            is_own = name in allowed or name.startswith("tinyllm.formats.")
            assert is_own or name.split(".")[0] in sys.stdlib_module_names


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


# --- real logs ----------------------------------------------------------------------------------


def records_of(path: Path) -> list[Any]:
    """The JSON values of a file: one document, an array's members, or lines."""
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        whole = json.loads(text)
        return whole if isinstance(whole, list) else [whole]
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def formats_in(folder: Path) -> Counter[str]:
    """How many records of a folder each format claims, or "unknown"."""
    found: Counter[str] = Counter()
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".jsonl", ".json", ".traj"):
            continue
        for value in records_of(path):
            record = as_record(value)
            known = recognise(record) if record is not None else None
            parsed = check(known, record) if known and record is not None else None
            found[known.NAME if known and parsed is not None else "unknown"] += 1
    return found


# What each family's folder is read as, and how many records may be unknown: the odd lines that
# `claude_code` has on purpose.
FAMILIES: dict[str, tuple[set[str], int]] = {
    "alpaca": ({"alpaca"}, 0),
    "chatgpt_export": ({"chatgpt_export"}, 0),
    "claude_ai_export": ({"claude_ai_export"}, 0),
    "claude_code": ({"claude_code"}, 8),
    "codex": ({"codex"}, 0),
    "gemini_cli": ({"gemini_cli"}, 0),
    "harness_datagen": ({"harness_episode", "harness_step"}, 0),
    "minimind": ({"plain_text", "preference", "prompt_completion", "sharegpt"}, 0),
    "openai_chat": ({"openai_chat"}, 0),
    "openhands": ({"openhands"}, 0),
    "other_agents": ({"copilot", "grok", "kimi", "pi"}, 0),
    "pi": ({"pi"}, 0),
    "plain_text": ({"plain_text"}, 0),
    "preference": ({"preference"}, 0),
    "sharegpt": ({"sharegpt"}, 0),
    "swe_agent": ({"swe_agent"}, 0),
    "tau_bench": ({"openai_chat"}, 0),
    "telegram": ({"telegram"}, 0),
    "web_text": ({"plain_text"}, 0),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_real_logs_are_recognised_as_what_they_are(shared_logs: Path, family: str):
    names, most_unknown = FAMILIES[family]
    found = formats_in(shared_logs / family)
    assert found.pop("unknown", 0) <= most_unknown
    assert set(found) == names

from dataclasses import replace
from pathlib import Path

import pytest

from tinyllm.errors import UserError
from tinyllm.runs import Run, announce_changes, new_run_id, read_run, refuse_differences

SETTINGS = {
    "size": "nano",
    "tokenizer": "abc",
    "block_size": 256,
    "learning_rate": 1e-3,
    "total_steps": 100,
    "data": ["logs"],
}
RUN = Run(run_id="r1", settings=SETTINGS, data_key="k", content="c1")


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path):
    RUN.write(tmp_path)
    assert read_run(tmp_path) == RUN


def test_writing_leaves_no_temporary_file(tmp_path: Path):
    RUN.write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}', '{"format": 9, "run_id": "x"}'])
def test_a_damaged_run_file_is_one_sentence(tmp_path: Path, text: str):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match=r"run\.json"):
        read_run(tmp_path)


def test_a_missing_run_file_is_one_sentence(tmp_path: Path):
    with pytest.raises(UserError, match="without --resume"):
        read_run(tmp_path)


def test_another_size_and_tokenizer_are_refused_naming_both_values():
    with pytest.raises(UserError) as refusal:
        refuse_differences(RUN, {**SETTINGS, "size": "mini", "tokenizer": "xyz"})
    for word in ("--size", "nano", "mini", "--tokenizer", "abc", "xyz"):
        assert word in str(refusal.value)


def test_the_same_settings_are_not_refused():
    refuse_differences(RUN, dict(SETTINGS))


def test_a_changed_learning_rate_is_said_not_refused():
    changed = {**SETTINGS, "learning_rate": 5e-4}
    refuse_differences(RUN, changed)
    lines = announce_changes(RUN, replace(RUN, settings=changed), step=7)
    assert lines == ["--lr was 0.001 and is 0.0005 from step 7 on"]


def test_other_blocks_are_said():
    lines = announce_changes(RUN, Run("r1", SETTINGS, "k2", "c2"), step=7)
    assert len(lines) == 1
    assert "the data changed" in lines[0]


def test_ids_of_runs_differ():
    assert new_run_id() != new_run_id()

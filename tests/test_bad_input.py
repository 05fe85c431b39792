"""What a user can get wrong: one sentence, exit code 2, and nothing of theirs touched."""

import json
import sys
from pathlib import Path

import pytest
from tiny_runs import TINY, arguments, write_corpus

import export_gguf
import model_config
import train
from tinyllm import preparing, resuming
from tinyllm.checkpoints import FolderPlace
from tinyllm.errors import LARGEST_NUMBER, Parser, UserError, run_command
from tinyllm.runs import Run


@pytest.fixture(autouse=True)
def _tiny_preset(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(model_config.PRESETS, "tiny", TINY)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "logs")


@pytest.fixture
def _prepares_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(preparing, "Corpus", lambda *_, **__: pytest.fail("the logs were read"))


def refusal(capsys: pytest.CaptureFixture[str], command: list[str]) -> str:
    """The one line that `train.py COMMAND` ends with."""
    assert train.main(command) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    return error


@pytest.mark.usefixtures("_prepares_nothing")
@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--batch-size", "99999999999999999999"),
        ("--seed", "4294967296"),
        ("--save-steps", "1e9"),
        ("--lr", "nan"),
        ("--lr", "inf"),
        ("--epochs", "1e300"),
        ("--epochs", "2000000"),
        ("--max-steps", "1.5"),
        ("--eval-fraction", "nan"),
        ("--size", "huge"),
        ("--scope", "all"),
        ("--out", ""),
        ("--out", "a\0b"),
        ("--sync-out", ""),
        ("--cache", ""),
        ("--report-to", "nonsense"),
        ("--report-to", ""),
        ("--precision", "fp16"),
    ],
)
def test_a_value_no_run_can_have_is_refused_by_its_flag_before_any_work(
    corpus: Path,
    tmp_path: Path,
    flag: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    assert flag in refusal(capsys, [*arguments(corpus, tmp_path / "out"), flag, value])
    assert not (tmp_path / "run.json").exists()


@pytest.mark.usefixtures("_prepares_nothing")
def test_a_precision_that_eight_bit_adam_lacks_is_refused_before_its_library_is_loaded(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(train, "import_bitsandbytes", lambda: pytest.fail("it was loaded"))
    command = [*arguments(corpus, tmp_path / "out"), "--8bit-adam", "--precision", "bf16"]
    assert "bf16-autocast" in refusal(capsys, command)


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_cache_that_cannot_be_made_is_refused(
    corpus: Path, tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").write_text("mine")
    cache = str(tmp_path / place)
    assert cache in refusal(capsys, [*arguments(corpus, tmp_path / "out"), "--cache", cache])
    assert (tmp_path / "file").read_text() == "mine"


def test_prepared_data_without_its_ledger_is_named_as_damaged(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(preparing.packing, "open_packed", lambda _: None)
    with pytest.raises(UserError, match="damaged"):
        preparing._open(tmp_path)


def parser() -> Parser:
    parser = Parser(prog="it")
    parser.add_argument_group("numbers").add_argument("--count", type=int, default=0)
    parser.add_argument("--share", type=float, default=0.0)
    parser.add_argument("--folder", type=Path)
    return parser


def test_numbers_up_to_the_largest_are_taken():
    given = ["--count", str(-LARGEST_NUMBER), "--share", "1e-9"]
    args = parser().parse_args(given)
    assert (args.count, args.share) == (-LARGEST_NUMBER, 1e-9)


@pytest.mark.parametrize("value", [str(LARGEST_NUMBER + 1), "one", "1.0", ""])
def test_every_command_refuses_what_is_no_whole_number_of_use(value: str):
    with pytest.raises(UserError, match="--count"):
        parser().parse_args(["--count", value])


@pytest.mark.parametrize("value", ["nan", "-inf", "1e10", "half"])
def test_every_command_refuses_what_is_no_number_of_use(value: str):
    with pytest.raises(UserError, match="--share"):
        parser().parse_args([f"--share={value}"])


def test_an_error_is_one_line_whatever_it_names(capsys: pytest.CaptureFixture[str]):
    def command() -> int:
        raise UserError("no such file: a\nb\x1b[31m\udcff")

    assert run_command(command) == 2
    assert capsys.readouterr().err == "error: no such file: a\\nb\\x1b[31m?\n"


def test_a_home_in_a_path_is_found_where_the_shell_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parser().parse_args(["--folder=~/models"]).folder == tmp_path / "models"


def test_an_unknown_home_in_a_path_is_refused():
    with pytest.raises(UserError, match="--folder"):
        parser().parse_args(["--folder", "~nobody-of-that-name/models"])


def a_run(run_id: str) -> Run:
    return Run(run_id, {"learning_rate": 0.1}, data_key="", content="")


@pytest.mark.parametrize("record", [None, "{", "[]", "{}", '{"format": 9}'])
def test_a_model_that_nothing_tells_the_run_of_is_moved_aside_not_overwritten(
    tmp_path: Path, record: str | None, capsys: pytest.CaptureFixture[str]
):
    for name in ("model.safetensors", "README.md", "tokenizer.json"):
        (tmp_path / name).write_text(f"my {name}")
    (tmp_path / "notes.txt").write_text("mine")
    if record is not None:
        (tmp_path / "run.json").write_text(record)
    resuming.enter_out(FolderPlace(tmp_path), None, None, a_run("new"))
    aside = tmp_path / "earlier-unmarked"
    said = capsys.readouterr().out
    for name in ("model.safetensors", "README.md", "tokenizer.json"):
        assert (aside / name).read_text() == f"my {name}"
        assert not (tmp_path / name).exists()
        assert f"moved to {aside / name}" in said
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_runs_own_model_stays_when_the_run_goes_on(tmp_path: Path):
    run = a_run("same")
    run.write(tmp_path)
    (tmp_path / "model.safetensors").write_text("of this run")
    assert resuming._set_aside_model(FolderPlace(tmp_path), "same") == []
    assert (tmp_path / "model.safetensors").exists()


@pytest.mark.slow
def test_all_that_a_final_model_is_made_of_is_known_by_name(corpus: Path, tmp_path: Path):
    out = tmp_path / "out"
    assert train.main(arguments(corpus, out, steps=2)) == 0
    written = {path.name for path in out.iterdir() if path.is_file()}
    assert written <= set(resuming.FINAL_FILES)


def test_a_run_id_never_becomes_a_path(tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()
    record = {"format": 1, "run_id": "../../x", "settings": {}, "data_key": "", "content": ""}
    (out / "run.json").write_text(json.dumps(record))
    (out / "model.safetensors").write_text("mine")
    resuming.enter_out(FolderPlace(out), None, None, a_run("new"))
    assert [path.read_text() for path in out.glob("earlier-*/model.safetensors")] == ["mine"]


def test_a_closed_standard_output_leads_to_nowhere(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdout", None)

    def command() -> int:
        sys.stdout.write("said to nobody")
        sys.stdout.close()
        return 0

    assert run_command(command) == 0


@pytest.mark.parametrize("command", [[""], ["nowhere"], [".", "--type", "q3"], [".", "--out", ""]])
def test_the_export_refuses_in_one_sentence(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    assert export_gguf.main(command) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_export_replaces_no_file_that_is_not_gguf(tmp_path: Path):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    with pytest.raises(UserError, match="no GGUF file"):
        export_gguf.check_out(tmp_path / "model.safetensors")


def test_the_export_replaces_no_device():
    with pytest.raises(UserError, match="no GGUF file"):
        export_gguf.check_out(Path("/dev/null"))


def test_the_export_replaces_an_older_export(tmp_path: Path):
    (tmp_path / "old.gguf").write_bytes(b"GGUF and more")
    export_gguf.check_out(tmp_path / "old.gguf")

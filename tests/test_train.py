"""The command as a user runs it, on a corpus and a model small enough for seconds."""

import json
from pathlib import Path

import datasets
import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import arguments, weights

import train
from tinyllm import preparing
from tinyllm.corpus import Corpus

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tiny_preset")]


def losses(out: Path) -> list[float]:
    """The logged training losses of the newest checkpoint."""
    newest = max(out.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    state = json.loads((newest / "trainer_state.json").read_text())
    return [row["loss"] for row in state["log_history"] if "loss" in row]


def test_a_run_leaves_a_model_a_tokenizer_a_page_and_its_newest_checkpoint(
    corpus: Path, tmp_path: Path
):
    assert train.main(arguments(corpus, tmp_path / "out")) == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {
        "model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json",
        "report.html", "README.md", "run.json", "checkpoint-12",
    }  # fmt: skip
    assert not {name for name in names if name.startswith(".")}
    assert [name for name in names if name.startswith("checkpoint-")] == ["checkpoint-12"]


def test_a_run_says_what_became_of_every_byte(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with (corpus / "chats.jsonl").open("a") as file:
        file.write('{"nobody": "knows this shape"}\n')
    train.main(arguments(corpus, tmp_path / "out", steps=2))
    said = capsys.readouterr().out
    size = (corpus / "chats.jsonl").stat().st_size
    assert f"{size:,}" in next(line for line in said.split("\n") if line.startswith("total"))
    assert "{nobody}" in said
    assert "{nobody}" in (tmp_path / "out" / "report.html").read_text()


def test_strict_refuses_a_loss_that_an_earlier_launch_let_pass(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with (corpus / "chats.jsonl").open("a") as file:
        file.write('{"nobody": "knows this shape"}\n')
    assert train.main(arguments(corpus, tmp_path / "out", steps=2)) == 0
    assert train.main(arguments(corpus, tmp_path / "out", "--strict", steps=2)) == 2
    assert "chats.jsonl:41" in capsys.readouterr().err


def test_the_loss_falls(corpus: Path, tmp_path: Path):
    train.main(arguments(corpus, tmp_path / "out", "--lr", "0.005", steps=30))
    logged = losses(tmp_path / "out")
    assert logged[-1] < logged[0] - 1.0


def test_every_kth_save_is_kept_beside_the_newest(corpus: Path, tmp_path: Path):
    train.main(arguments(corpus, tmp_path / "out", "--keep-every", "2", steps=18))
    kept = sorted(path.name for path in (tmp_path / "out").glob("checkpoint-*"))
    assert kept == ["checkpoint-16", "checkpoint-18", "checkpoint-8"]


def test_a_second_launch_prepares_nothing_again(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    train.main(arguments(corpus, tmp_path / "out"))

    class Unread(Corpus):
        def __iter__(self):
            pytest.fail("the corpus was read again")

    monkeypatch.setattr(preparing, "Corpus", Unread)
    assert train.main(arguments(corpus, tmp_path / "out2")) == 0
    assert weights(tmp_path / "out") == weights(tmp_path / "out2")


def test_a_fresh_start_moves_an_earlier_runs_checkpoints_and_model_out_of_the_way(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    train.main(arguments(corpus, out))
    run_id = json.loads((out / "run.json").read_text())["run_id"]
    train.main(arguments(corpus, out, steps=4))
    earlier = out / f"earlier-{run_id}"
    assert (earlier / "checkpoint-12" / "manifest.json").exists()
    assert (earlier / "model.safetensors").exists()
    said = capsys.readouterr().out
    assert f"an earlier run's, moved to {earlier / 'checkpoint-12'}" in said


def test_auto_trains_a_tokenizer_once_and_keeps_it_with_the_run(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    command = arguments(corpus, tmp_path / "out", "--tokenizer", "auto")
    assert train.main(command) == 0
    first = json.loads((tmp_path / "out" / "tokenizer.json").read_text())["model"]["vocab"]
    monkeypatch.setattr(preparing, "train_tokenizer", lambda *_: pytest.fail("trained again"))
    assert train.main([*command, "--resume"]) == 0
    kept = json.loads((tmp_path / "out" / "checkpoint-12" / "tokenizer.json").read_text())
    assert kept["model"]["vocab"] == first


def test_less_text_than_a_block_lowers_the_block_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    data = tmp_path / "logs"
    data.mkdir()
    (data / "one.txt").write_text("Only a few words stand here.")
    assert train.main(arguments(data, tmp_path / "out", "--block-size", "512", steps=2)) == 0
    assert "the block is lowered to" in capsys.readouterr().out


def test_gradient_checkpointing_gives_the_same_weights(corpus: Path, tmp_path: Path):
    train.main(arguments(corpus, tmp_path / "a"))
    train.main(arguments(corpus, tmp_path / "b", "--grad-checkpoint"))
    assert weights(tmp_path / "a") == weights(tmp_path / "b")


def test_eight_bit_adam_trains(corpus: Path, tmp_path: Path):
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    assert train.main(arguments(corpus, tmp_path / "out", "--8bit-adam")) == 0
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["settings"]["optimizer"] == "adamw-8bit"


def test_without_data_and_default_folders_it_says_so_and_trains_on_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("HOME", str(tmp_path))
    command = arguments(tmp_path, tmp_path / "out", steps=2)
    assert train.main(command[2:]) == 0
    said = capsys.readouterr().out
    assert "training on the bundled sample" in said
    assert "--epochs 8.0" in said
    assert "--grad-accum" not in said.split("\n")[0]


def test_bf16_moves_every_norm_and_learns_as_much_as_fp32(corpus: Path, tmp_path: Path):
    heldout = {}
    for precision in ("bf16", "fp32"):
        out = tmp_path / precision
        train.main(arguments(corpus, out, "--precision", precision, "--lr", "3e-4", steps=150))
        state = json.loads((out / "checkpoint-150" / "trainer_state.json").read_text())
        heldout[precision] = [
            row["eval_loss"] for row in state["log_history"] if "eval_loss" in row
        ]
    weights = load_file(tmp_path / "bf16" / "model.safetensors")
    norms = {name: weight for name, weight in weights.items() if "norm" in name}
    assert all(weight.dtype == torch.bfloat16 for weight in norms.values())
    assert not [name for name, weight in norms.items() if (weight == 1).all()]
    assert heldout["bf16"][-1] == pytest.approx(heldout["fp32"][-1], rel=0.01)
    assert heldout["bf16"][-1] < heldout["bf16"][0] - 0.5


def test_the_caches_of_hugging_face_are_never_touched(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    theirs = tmp_path / "hf-datasets" / "another-project"
    theirs.mkdir(parents=True)
    (theirs / "marker").write_text("still here")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(theirs.parent))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", theirs.parent)
    command = arguments(corpus, tmp_path / "out", steps=4)
    train.main(command)
    train.main([*command, "--resume"])
    train.main([*command, "--cache", str(tmp_path / "other-cache")])
    assert [path.name for path in theirs.parent.rglob("*")] == ["another-project", "marker"]
    assert (theirs / "marker").read_text() == "still here"

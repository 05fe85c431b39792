"""export_gguf.py: from a model's folder to a GGUF file, and what it refuses."""

import json
import resource
import shutil
import signal
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from gguf_models import (
    HEAD_DIM,
    edit_json,
    export,
    refusal,
    tiny_config,
    tiny_weights,
    weights_of,
    write_model,
)
from safetensors.numpy import save_file

import export_gguf
from tinyllm.gguf import export as gguf_export
from tinyllm.gguf.export import size_label
from tinyllm.gguf.ollama import HEADER


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A whole model to export or to damage."""
    return write_model(tmp_path / "model")


# What is in the file


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("general.architecture", "qwen3"),
        ("general.type", "model"),
        ("general.name", "model"),
        ("general.quantization_version", 2),
        ("general.file_type", 1),
        ("qwen3.block_count", 2),
        ("qwen3.context_length", 128),
        ("qwen3.embedding_length", 64),
        ("qwen3.feed_forward_length", 96),
        ("qwen3.attention.head_count", 4),
        ("qwen3.attention.head_count_kv", 2),
        ("qwen3.attention.key_length", 32),
        ("qwen3.attention.value_length", 32),
        ("qwen3.attention.layer_norm_rms_epsilon", pytest.approx(1e-6)),
        ("qwen3.rope.freq_base", 12345.0),
        ("qwen3.vocab_size", 320),
        ("tokenizer.ggml.model", "gpt2"),
        ("tokenizer.ggml.pre", "qwen2"),
        ("tokenizer.ggml.bos_token_id", 0),
        ("tokenizer.ggml.eos_token_id", 0),
        ("tokenizer.ggml.eot_token_id", 6),
        ("tokenizer.ggml.padding_token_id", 0),
        ("tokenizer.ggml.add_bos_token", True),
    ],
)
def test_the_key_has_the_models_value(model: Path, key: str, value: object):
    assert export(model).fields[key].contents() == value


def test_the_size_label_counts_every_weight_once(model: Path):
    parameters = sum(weight.size for weight in weights_of(model).values())
    assert export(model).fields["general.size_label"].contents() == size_label(parameters)


@pytest.mark.parametrize(
    ("parameters", "label"),
    [(999, "999"), (7_951_104, "7.95M"), (107_000_000, "107M"), (1_210_000_000, "1.21B")],
)
def test_the_size_label_has_three_digits(parameters: int, label: str):
    assert size_label(parameters) == label


def test_tokens_and_merges_are_the_tokenizers(model: Path):
    reader = export(model)
    spec = json.loads((model / "tokenizer.json").read_text())
    by_id = sorted(spec["model"]["vocab"], key=spec["model"]["vocab"].get)
    assert reader.fields["tokenizer.ggml.tokens"].contents() == by_id
    merges = [" ".join(merge) for merge in spec["model"]["merges"]]
    assert reader.fields["tokenizer.ggml.merges"].contents() == merges


def test_special_tokens_are_control_placeholders_user_defined_the_rest_normal(model: Path):
    reader = export(model)
    types = reader.fields["tokenizer.ggml.token_type"].contents()
    control, user_defined, normal = 3, 4, 1
    assert types == [control] * 7 + [user_defined] + [normal] * 312


def test_the_chat_template_is_the_tokenizers(model: Path):
    template = (model / "chat_template.jinja").read_text()
    assert export(model).fields["tokenizer.chat_template"].contents() == template


def test_a_chat_template_kept_in_the_tokenizers_config_is_found(model: Path):
    (model / "chat_template.jinja").unlink()
    edit_json(model / "tokenizer_config.json", chat_template="{{ messages }}")
    assert export(model).fields["tokenizer.chat_template"].contents() == "{{ messages }}"


def test_without_a_chat_template_the_key_is_absent_and_that_is_said(
    model: Path, capsys: pytest.CaptureFixture[str]
):
    (model / "chat_template.jinja").unlink()
    assert "tokenizer.chat_template" not in export(model).fields
    assert "no chat template" in capsys.readouterr().out


def test_merges_written_as_strings_are_read_too(model: Path):
    expected = export(model).fields["tokenizer.ggml.merges"].contents()
    spec = json.loads((model / "tokenizer.json").read_text())
    spec["model"]["merges"] = [" ".join(merge) for merge in spec["model"]["merges"]]
    (model / "tokenizer.json").write_text(json.dumps(spec))
    assert export(model).fields["tokenizer.ggml.merges"].contents() == expected


# Finding the model, naming the file


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """An --out with checkpoints 900 and 1000, and a later one without weights."""
    out = tmp_path / "run"
    for step in (900, 1000):
        checkpoint = write_model(out / f"checkpoint-{step}")
        record = {"format": 1, "run_id": "r", "settings": {"size": "nano"}, "data_key": "d"}
        (checkpoint / "run.json").write_text(json.dumps({**record, "content": "c"}))
    (out / "checkpoint-2000").mkdir()
    return out


def test_without_a_final_model_the_newest_whole_checkpoint_is_taken_and_said(
    run_folder: Path, capsys
):
    assert export_gguf.main([str(run_folder)]) == 0
    assert "taking its newest checkpoint, checkpoint-1000" in capsys.readouterr().out


def test_a_checkpoints_export_lies_outside_it_and_bears_its_step(run_folder: Path):
    before = sorted((run_folder / "checkpoint-900").iterdir())
    assert export_gguf.main([str(run_folder / "checkpoint-900")]) == 0
    assert (run_folder / "tinyllm-nano-step900-f16.gguf").is_file()
    assert sorted((run_folder / "checkpoint-900").iterdir()) == before


def test_a_final_model_wins_over_checkpoints(run_folder: Path):
    for path in (run_folder / "checkpoint-900").iterdir():
        shutil.copy(path, run_folder)
    assert export_gguf.main([str(run_folder), "--type", "bf16"]) == 0
    assert (run_folder / "tinyllm-nano-bf16.gguf").is_file()


def test_the_default_model_is_the_checkpoints_folder(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(run_folder.rename(run_folder.with_name("checkpoints")).parent)
    assert export_gguf.main([]) == 0
    assert Path("checkpoints/tinyllm-nano-step1000-f16.gguf").is_file()


def test_a_model_without_run_json_is_named_by_its_folder(model: Path):
    assert export_gguf.main([str(model)]) == 0
    assert (model / "model-f16.gguf").is_file()


# Modelfile


def test_the_modelfile_names_the_file_beside_it(model: Path):
    export(model)
    lines = (model / "Modelfile").read_text().splitlines()
    assert "FROM ./out.gguf" in lines
    assert 'PARAMETER stop "<|end|>"' in lines
    assert "PARAMETER num_ctx 128" in lines


def test_somebody_elses_modelfile_is_left_alone(model: Path, capsys):
    (model / "Modelfile").write_text("FROM llama3\n")
    export(model)
    assert (model / "Modelfile").read_text() == "FROM llama3\n"
    assert "was left as it is" in capsys.readouterr().out


def test_an_earlier_export_s_modelfile_is_replaced(model: Path):
    (model / "Modelfile").write_text(f"{HEADER}\nFROM ./old.gguf\n")
    export(model)
    assert "old.gguf" not in (model / "Modelfile").read_text()


# Places that can't be read or written


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys):
    assert "nowhere is not a folder" in refusal(capsys, tmp_path / "nowhere")


def test_a_folder_without_a_model_is_refused(tmp_path: Path, capsys):
    (tmp_path / "empty").mkdir()
    assert "holds no model" in refusal(capsys, tmp_path / "empty")


@pytest.mark.parametrize("out", ["", "missing/out.gguf"])
def test_an_out_that_is_no_place_for_a_file_is_refused(model: Path, capsys, out: str):
    assert "not a file in an existing folder" in refusal(capsys, model, "--out", str(model / out))


def test_a_name_the_file_system_refuses_is_one_sentence(model: Path, capsys):
    assert "can't be written" in refusal(capsys, model, "--out", str(model / ("n" * 300)))


def test_an_unknown_type_is_refused(model: Path, capsys):
    assert "q4_0" in refusal(capsys, model, "--type", "q4_0")


@pytest.fixture
def small_file_limit() -> Iterator[None]:
    """No file of this process may pass 20 kB, as on a disk that is nearly full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.faults
def test_a_full_disk_leaves_the_earlier_file_whole(model: Path, capsys, request):
    out = model / "out.gguf"
    export(model)
    before = out.read_bytes()
    request.getfixturevalue("small_file_limit")
    assert "can't be written" in refusal(capsys, model, "--out", str(out), "--type", "f32")
    assert out.read_bytes() == before


@pytest.mark.faults
def test_an_interrupted_export_leaves_the_earlier_file_and_nothing_else(
    model: Path, monkeypatch: pytest.MonkeyPatch
):
    export(model)
    before = {path: path.read_bytes() for path in model.iterdir()}

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gguf_export, "encode", interrupt)
    assert export_gguf.main([str(model), "--out", str(model / "out.gguf")]) == 130
    assert {path: path.read_bytes() for path in model.iterdir()} == before


def test_memory_holds_a_few_tensors_not_the_model(tmp_path: Path):
    model = write_model(tmp_path / "deep")
    vocab_size = json.loads((model / "config.json").read_text())["vocab_size"]
    config = tiny_config(vocab_size, num_hidden_layers=64, intermediate_size=512)
    edit_json(model / "config.json", **config)
    weights = tiny_weights(config)
    save_file(weights, model / "model.safetensors")
    sizes = [weight.nbytes for weight in weights.values()]
    del weights
    tracemalloc.start()
    assert export_gguf.main([str(model), "--type", "f16"]) == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(sizes) > 25 * 1_000_000
    assert peak < 5 * 1_000_000


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        export_gguf.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("tinyllm ")


def test_head_width_is_the_configs_not_hidden_over_heads(model: Path):
    reader = export(model, "--type", "f32")
    assert reader.fields["qwen3.attention.key_length"].contents() == HEAD_DIM != 64 // 4

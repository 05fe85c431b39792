"""config.json on its way into GGUF."""

from pathlib import Path
from typing import Any

import pytest
from gguf_models import edit_json, export, refusal, write_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A whole model to export or to damage."""
    return write_model(tmp_path / "model")


def test_the_rope_base_of_transformers_4_is_found(model: Path):
    edit_json(model / "config.json", rope_parameters=None, rope_theta=54321.0)
    assert export(model).fields["qwen3.rope.freq_base"].contents() == 54321.0


@pytest.mark.parametrize(
    "key",
    [
        "model_type",
        "num_hidden_layers",
        "max_position_embeddings",
        "head_dim",
        "rms_norm_eps",
        "tie_word_embeddings",
        "bos_token_id",
    ],
)
def test_a_setting_that_is_missing_is_named(model: Path, capsys, key: str):
    edit_json(model / "config.json", **{key: None})
    assert f"config.json has no {key}" in refusal(capsys, model)


def test_no_rope_base_is_assumed(model: Path, capsys):
    edit_json(model / "config.json", rope_parameters=None)
    assert "has no rope_theta" in refusal(capsys, model)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model_type", "llama"),
        ("hidden_act", "gelu"),
        ("use_sliding_window", True),
        ("rope_scaling", {"type": "linear", "factor": 2.0}),
    ],
)
def test_what_the_qwen3_graph_would_ignore_is_refused_by_name(
    model: Path, capsys, key: str, value: Any
):
    edit_json(model / "config.json", **{key: value})
    assert f"{key} is" in refusal(capsys, model)


def test_a_scaled_rope_is_refused(model: Path, capsys):
    scaled = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}
    edit_json(model / "config.json", rope_parameters=scaled)
    assert "rope_type is 'yarn'" in refusal(capsys, model)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bos_token_id", -1),
        ("eos_token_id", 320),
        ("eos_token_id", [0, 6]),
        ("pad_token_id", "0"),
        ("num_hidden_layers", 10**30),
        ("num_attention_heads", 0),
        ("hidden_size", 64.0),
        ("max_position_embeddings", True),
        ("rms_norm_eps", 0),
        ("rms_norm_eps", float("inf")),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(model: Path, capsys, key: str, value: Any):
    edit_json(model / "config.json", **{key: value})
    assert f"{key} is {value!r}" in refusal(capsys, model)


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"model_type": "qwen3"}'])
def test_a_file_that_is_no_config_is_one_sentence(model: Path, capsys, content: str):
    (model / "config.json").write_text(content)
    assert "config.json" in refusal(capsys, model)

"""Weights on their way into GGUF: names, types, ties, and what is refused."""

from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType as GgmlType
from gguf_models import LAYERS, edit_json, export, refusal, tensor, weights_of, write_model
from safetensors.numpy import save_file

import export_gguf


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A whole model to export or to damage."""
    return write_model(tmp_path / "model")


def test_f32_holds_the_very_weights(model: Path):
    reader = export(model, "--type", "f32")
    weights = weights_of(model)
    for layer in range(LAYERS):
        source = weights[f"model.layers.{layer}.mlp.down_proj.weight"]
        assert np.array_equal(tensor(reader, f"blk.{layer}.ffn_down.weight").data, source)


def test_every_weight_is_written_once(model: Path):
    reader = export(model, "--type", "f32")
    written = sorted(float(tensor.data.sum()) for tensor in reader.tensors)
    assert written == sorted(float(weight.sum()) for weight in weights_of(model).values())


@pytest.mark.parametrize(
    ("file_type", "ggml_type", "relative_error"),
    [
        ("f16", GgmlType.F16, 2**-11),
        ("bf16", GgmlType.BF16, 2**-8),
        ("q8_0", GgmlType.Q8_0, None),
    ],
)
def test_matrices_are_rounded_to_the_type(
    model: Path, file_type: str, ggml_type: GgmlType, relative_error: float | None
):
    written = tensor(export(model, "--type", file_type), "blk.1.attn_q.weight")
    assert written.tensor_type == ggml_type
    source = weights_of(model)["model.layers.1.self_attn.q_proj.weight"]
    if relative_error is None:
        # Half a step of a block's scale, largest / 127, and the scale's own rounding to f16.
        allowed = np.abs(source).max() / 127 * 0.51
    else:
        allowed = np.abs(source) * relative_error + 1e-7
    restored = gguf.quants.dequantize(written.data, ggml_type)
    assert (np.abs(restored - source) <= allowed).all()


@pytest.mark.parametrize("file_type", ["f32", "f16", "bf16", "q8_0"])
def test_vectors_stay_f32_in_every_type(model: Path, file_type: str):
    reader = export(model, "--type", file_type)
    vectors = [tensor for tensor in reader.tensors if len(tensor.shape) == 1]
    assert len(vectors) == 4 * LAYERS + 1
    assert {tensor.tensor_type for tensor in vectors} == {GgmlType.F32}


def test_q8_0_falls_back_to_f16_where_rows_dont_fill_blocks_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model = write_model(tmp_path / "narrow", hidden_size=48)
    reader = export(model, "--type", "q8_0")
    assert tensor(reader, "token_embd.weight").tensor_type == GgmlType.F16
    assert tensor(reader, "blk.0.attn_output.weight").tensor_type == GgmlType.Q8_0
    assert "f16 in place of q8_0" in capsys.readouterr().out


def test_bf16_weights_are_read_exactly(model: Path):
    weights = weights_of(model)
    halves = {name: (w.view(np.uint32) >> 16).astype(np.uint16) for name, w in weights.items()}
    save_file(halves, model / "model.safetensors")
    rewrite_header(model / "model.safetensors", lambda text: text.replace('"U16"', '"BF16"'))
    written = tensor(export(model, "--type", "f32"), "token_embd.weight").data
    expected = (halves["model.embed_tokens.weight"].astype(np.uint32) << 16).view(np.float32)
    assert np.array_equal(written, expected)


def rewrite_header(path: Path, change) -> None:
    """Change the JSON header of a safetensors file, keeping its data."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = change(raw[8 : 8 + length].decode()).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + raw[8 + length :])


# Tied and untied outputs


def test_a_tied_model_has_no_output_tensor(model: Path):
    assert "output.weight" not in {tensor.name for tensor in export(model).tensors}


def test_a_tied_model_that_stores_its_output_again_has_no_output_tensor(model: Path):
    weights = weights_of(model)
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].copy()
    save_file(weights, model / "model.safetensors")
    assert "output.weight" not in {tensor.name for tensor in export(model).tensors}


def test_a_tied_model_with_another_output_is_refused(model: Path, capsys):
    weights = weights_of(model)
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"] + 1
    save_file(weights, model / "model.safetensors")
    assert "lm_head.weight unlike the embedding" in refusal(capsys, model)


def test_an_untied_model_keeps_its_output(model: Path):
    edit_json(model / "config.json", tie_word_embeddings=False)
    weights = weights_of(model)
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"] + 1
    save_file(weights, model / "model.safetensors")
    written = tensor(export(model, "--type", "f32"), "output.weight").data
    assert np.array_equal(written, weights["lm_head.weight"])


def test_an_untied_model_without_its_output_is_refused(model: Path, capsys):
    edit_json(model / "config.json", tie_word_embeddings=False)
    assert "lacks 1 tensor(s): lm_head.weight" in refusal(capsys, model)


# Weights that are refused


def test_missing_and_unexpected_tensors_are_named_apart(model: Path, capsys):
    weights = weights_of(model)
    del weights["model.norm.weight"], weights["model.layers.1.mlp.up_proj.weight"]
    weights["model.layers.0.self_attn.q_proj.bias"] = np.zeros(4, np.float32)
    save_file(weights, model / "model.safetensors")
    message = refusal(capsys, model)
    missing, extra = message.split("and it")
    assert "lacks 2" in missing
    assert "model.layers.1.mlp.up_proj.weight, model.norm.weight" in missing
    assert "model.layers.0.self_attn.q_proj.bias" in extra


def test_a_layer_beyond_the_configs_is_unexpected(model: Path, capsys):
    edit_json(model / "config.json", num_hidden_layers=1)
    assert "holds 11 tensor(s) a Qwen3 has no place for" in refusal(capsys, model)


def test_a_shape_unlike_the_configs_is_refused(model: Path, capsys):
    edit_json(model / "config.json", intermediate_size=100)
    assert "mlp.gate_proj.weight is [96, 64] where config.json means [100, 64]" in refusal(
        capsys, model
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("file_type", ["f32", "q8_0"])
def test_weights_that_are_no_numbers_are_refused_by_name(
    model: Path, capsys, value: float, file_type: str
):
    weights = weights_of(model)
    weights["model.layers.1.self_attn.k_proj.weight"][3, 5] = value
    save_file(weights, model / "model.safetensors")
    message = refusal(capsys, model, "--type", file_type)
    assert "model.layers.1.self_attn.k_proj.weight holds 1 value(s) that are NaN" in message


def test_weights_beyond_f16_are_refused_by_name(model: Path, capsys):
    weights = weights_of(model)
    weights["model.embed_tokens.weight"][0, 0] = 70_000
    save_file(weights, model / "model.safetensors")
    assert "model.embed_tokens.weight holds 70000, beyond what f16" in refusal(capsys, model)
    assert export_gguf.main([str(model), "--type", "bf16"]) == 0


def test_weights_of_another_dtype_are_refused(model: Path, capsys):
    weights = {name: weight.astype(np.float64) for name, weight in weights_of(model).items()}
    save_file(weights, model / "model.safetensors")
    assert "is stored as F64" in refusal(capsys, model)


@pytest.mark.parametrize("kept", [0, 4, 8, 200, -1])
def test_a_cut_off_weights_file_is_refused(model: Path, capsys, kept: int):
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert "cut off or not a safetensors file" in refusal(capsys, model)

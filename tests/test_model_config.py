"""Presets, the model, and precision by hardware."""

import json
import math
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, Qwen3ForCausalLM

import model_config
from model_config import BLOCK_SIZE, PRESETS, build_model, choose_precision
from tinyllm.errors import UserError


@pytest.fixture(scope="module")
def nano() -> Qwen3ForCausalLM:
    """A nano with a small vocabulary; never change its weights."""
    torch.manual_seed(0)
    return build_model(vocab_size=500)


# The model


def test_nano_at_8000_tokens_has_7_95_million_parameters():
    model = build_model(vocab_size=8000, size="nano")
    assert sum(weight.numel() for weight in model.parameters()) == 7_951_104


@pytest.mark.parametrize(
    ("size", "shape"),
    [
        ("nano", (256, 768, 6, 4, 2)),
        ("mini", (384, 1152, 8, 6, 2)),
        ("micro", (512, 1536, 12, 8, 2)),
        ("large", (640, 1920, 14, 10, 2)),
    ],
)
def test_the_preset_has_its_shape(size: str, shape: tuple[int, ...]):
    config = build_model(vocab_size=300, size=size).config
    assert shape == (
        config.hidden_size,
        config.intermediate_size,
        config.num_hidden_layers,
        config.num_attention_heads,
        config.num_key_value_heads,
    )
    assert config.head_dim == 128


def test_presets_grow_in_their_order():
    sizes = [
        sum(weight.numel() for weight in build_model(vocab_size=300, size=size).parameters())
        for size in PRESETS
    ]
    assert sizes == sorted(sizes)


def test_an_unknown_size_is_refused_with_the_presets():
    with pytest.raises(UserError, match=r"--size huge .* nano, mini, micro, large"):
        build_model(vocab_size=500, size="huge")


def test_weights_are_fp32_on_the_cpu(nano: Qwen3ForCausalLM):
    assert {(weight.dtype, weight.device.type) for weight in nano.parameters()} == {
        (torch.float32, "cpu")
    }


def test_the_output_is_the_embedding(nano: Qwen3ForCausalLM):
    assert nano.lm_head.weight is nano.model.embed_tokens.weight


def test_no_projection_has_a_bias(nano: Qwen3ForCausalLM):
    assert not [name for name, _ in nano.named_parameters() if "bias" in name]


def test_the_same_seed_gives_the_same_weights_and_another_does_not():
    def first_weights(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.cat([w.flatten() for w in build_model(vocab_size=300).parameters()])

    assert torch.equal(first_weights(1), first_weights(1))
    assert not torch.equal(first_weights(1), first_weights(2))


def test_the_saved_config_says_what_the_design_fixes(nano: Qwen3ForCausalLM, tmp_path: Path):
    nano.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["rope_parameters"] == {"rope_type": "default", "rope_theta": 10_000.0}
    assert config["rms_norm_eps"] == 1e-6
    assert config["tie_word_embeddings"] is True
    assert config["attention_bias"] is False
    assert config["max_position_embeddings"] == BLOCK_SIZE
    assert [config[f"{name}_token_id"] for name in ("bos", "eos", "pad")] == [0, 0, 0]


def test_a_reloaded_model_turns_by_the_same_angles_and_gives_the_same_logits(
    nano: Qwen3ForCausalLM, tmp_path: Path
):
    nano.save_pretrained(tmp_path)
    reloaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    angles = 10_000.0 ** (-torch.arange(0, 128, 2) / 128)
    assert torch.allclose(nano.model.rotary_emb.inv_freq, angles)
    assert torch.allclose(reloaded.model.rotary_emb.inv_freq, angles)
    ids = torch.arange(64)[None]
    with torch.no_grad():
        assert torch.equal(nano(ids).logits, reloaded(ids).logits)


def test_block_size_becomes_the_context_length():
    assert build_model(vocab_size=300, block_size=64).config.max_position_embeddings == 64


# Initial weights


@pytest.mark.parametrize(
    ("name", "std"),
    [
        ("model.embed_tokens.weight", 0.02),
        ("model.layers.3.self_attn.q_proj.weight", 0.02),
        ("model.layers.3.mlp.gate_proj.weight", 0.02),
        ("model.layers.3.self_attn.o_proj.weight", 0.02 / math.sqrt(2 * 6)),
        ("model.layers.3.mlp.down_proj.weight", 0.02 / math.sqrt(2 * 6)),
    ],
)
def test_matrices_start_normal_and_residual_projections_scaled_by_depth(
    nano: Qwen3ForCausalLM, name: str, std: float
):
    weight = dict(nano.named_parameters())[name]
    assert weight.std().item() == pytest.approx(std, rel=0.03)
    assert abs(weight.mean().item()) < std / 50


def test_norms_start_at_one(nano: Qwen3ForCausalLM):
    norms = [weight for weight in nano.parameters() if weight.ndim == 1]
    assert len(norms) == 4 * 6 + 1
    assert all((weight == 1).all() for weight in norms)


def test_the_first_loss_is_that_of_a_uniform_guess(nano: Qwen3ForCausalLM):
    ids = torch.randint(500, (4, 64), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        loss = nano(input_ids=ids, labels=ids).loss
    assert loss.item() == pytest.approx(math.log(500), rel=0.02)


def test_end_of_text_starts_like_any_other_token(nano: Qwen3ForCausalLM):
    embedding = nano.model.embed_tokens.weight
    assert embedding[0].std().item() == pytest.approx(0.02, rel=0.2)


def test_end_of_text_is_learnt_as_an_input():
    model = build_model(vocab_size=300)
    hidden = model.model(input_ids=torch.tensor([[0, 5, 7]])).last_hidden_state
    hidden.square().sum().backward()
    gradient = model.model.embed_tokens.weight.grad
    assert gradient is not None
    assert gradient[0].abs().max() > 0


# bf16


def test_a_bf16_forward_pass_is_near_the_fp32_one(nano: Qwen3ForCausalLM):
    torch.manual_seed(0)
    bf16 = build_model(vocab_size=500).to(torch.bfloat16)
    ids = torch.randint(500, (2, 64), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        exact = torch.log_softmax(nano(ids).logits, -1)
        rounded = torch.log_softmax(bf16(ids).logits.float(), -1)
    assert (exact - rounded).abs().max() < 0.05


def test_bf16_gradients_are_finite_and_reach_every_weight():
    torch.manual_seed(0)
    model = build_model(vocab_size=300).to(torch.bfloat16)
    ids = torch.randint(300, (2, 32), generator=torch.Generator().manual_seed(1))
    model(input_ids=ids, labels=ids).loss.backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all(), name
        assert weight.grad.abs().max() > 0, name


# Precision


def set_cuda(monkeypatch: pytest.MonkeyPatch, *capabilities: tuple[int, int]) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(capabilities))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index=0: capabilities[index])
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda *_: True)


def set_cpu(monkeypatch: pytest.MonkeyPatch, *flags: str) -> None:
    """A CPU with these /proc/cpuinfo flags, and a torch without its private helpers."""
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.delattr(torch.cpu, name, raising=False)
    monkeypatch.setattr(model_config, "_cpuinfo_flags", lambda: set(flags))


@pytest.mark.parametrize("capability", [(8, 0), (8, 9), (9, 0), (12, 0)])
def test_ampere_and_later_get_bf16_weights(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int]
):
    set_cuda(monkeypatch, capability)
    precision = choose_precision("auto", "cuda")
    assert (precision.weights, precision.autocast) == (torch.bfloat16, None)
    assert precision.name == "bf16"


@pytest.mark.parametrize("capability", [(6, 1), (7, 0), (7, 5)])
def test_older_gpus_get_fp16_autocast_even_where_torch_claims_bf16(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int]
):
    set_cuda(monkeypatch, capability)
    precision = choose_precision("auto", "cuda:0")
    assert (precision.weights, precision.autocast) == (torch.float32, torch.float16)
    assert precision.name == "fp16-autocast"


def test_the_weakest_visible_gpu_decides(monkeypatch: pytest.MonkeyPatch):
    set_cuda(monkeypatch, (9, 0), (7, 5))
    assert choose_precision("auto", "cuda").name == "fp16-autocast"


@pytest.mark.parametrize("flag", ["avx512_bf16", "amx_bf16"])
def test_a_cpu_with_bf16_products_gets_bf16_weights(monkeypatch: pytest.MonkeyPatch, flag: str):
    set_cpu(monkeypatch, "avx2", flag)
    assert choose_precision("auto", "cpu").name == "bf16"


def test_a_cpu_without_bf16_products_gets_fp32(monkeypatch: pytest.MonkeyPatch):
    set_cpu(monkeypatch, "avx2", "avx512f", "avx512_fp16")
    precision = choose_precision("auto", "cpu")
    assert (precision.weights, precision.autocast) == (torch.float32, None)


@pytest.mark.parametrize("helper", ["_is_avx512_bf16_supported", "_is_amx_tile_supported"])
def test_torchs_own_answer_counts_where_there_is_no_proc(
    monkeypatch: pytest.MonkeyPatch, helper: str
):
    set_cpu(monkeypatch)
    monkeypatch.setattr(torch.cpu, helper, lambda: True, raising=False)
    assert choose_precision("auto", "cpu").name == "bf16"


def test_mps_gets_fp32():
    assert choose_precision("auto", "mps").name == "fp32"


def test_cpuinfo_flags_are_read_from_the_first_processor(tmp_path: Path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu avx2 amx_bf16\n\nflags : other\n")
    assert {"fpu", "avx2", "amx_bf16"} <= model_config._cpuinfo_flags(cpuinfo)


def test_no_cpuinfo_means_no_flags(tmp_path: Path):
    assert model_config._cpuinfo_flags(tmp_path / "absent") == set()


@pytest.mark.parametrize(
    ("name", "weights", "autocast"),
    [
        ("fp32", torch.float32, None),
        ("bf16", torch.bfloat16, None),
        ("bf16-autocast", torch.float32, torch.bfloat16),
    ],
)
def test_a_precision_asked_for_overrides_the_hardware(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    weights: torch.dtype,
    autocast: torch.dtype | None,
):
    set_cpu(monkeypatch, "avx2")
    precision = choose_precision(name, "cpu")
    assert (precision.name, precision.weights, precision.autocast) == (name, weights, autocast)


def test_overriding_the_hardware_is_said_in_the_reason(monkeypatch: pytest.MonkeyPatch):
    set_cpu(monkeypatch, "avx2")
    reason = choose_precision("bf16", "cpu").reason
    assert "as asked for; auto gives fp32" in reason
    assert "emulated" in reason


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_fp16_autocast_without_cuda_is_refused(device: str):
    with pytest.raises(UserError, match=f"needs a CUDA device and this one is {device}"):
        choose_precision("fp16-autocast", device)


def test_an_unknown_precision_is_refused_with_the_names():
    with pytest.raises(UserError, match=r"--precision fp8 .* auto, fp32, bf16, bf16-autocast"):
        choose_precision("fp8", "cpu")

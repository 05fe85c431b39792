"""Tokenizers on their way into GGUF: what llama.cpp would do differently is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gguf_models import export, refusal, write_model

Spec = dict[str, Any]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A whole model to export or to damage."""
    return write_model(tmp_path / "model")


def edit_tokenizer(model: Path, change: Callable[[Spec], object]) -> None:
    """Change the tokenizer.json in place."""
    path = model / "tokenizer.json"
    spec = json.loads(path.read_text())
    change(spec)
    path.write_text(json.dumps(spec))


def byte_level(**options: bool) -> Spec:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, **options}


def added_token(index: int, content: str) -> Spec:
    options = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized", "special"), False)
    return {"id": index, "content": content, **options}


def test_plain_byte_level_is_named_gpt_2(model: Path):
    edit_tokenizer(model, lambda spec: spec.update(pre_tokenizer=byte_level(use_regex=True)))
    assert export(model).fields["tokenizer.ggml.pre"].contents() == "gpt-2"


@pytest.mark.parametrize(
    "pre_tokenizer",
    [
        None,
        {"type": "Whitespace"},
        byte_level(use_regex=False),
        byte_level(use_regex=True, add_prefix_space=True),
        {"type": "Sequence", "pretokenizers": []},
    ],
)
def test_a_pre_tokenizer_llama_cpp_has_no_name_for_is_refused_and_shown(
    model: Path, capsys, pre_tokenizer: Spec | None
):
    edit_tokenizer(model, lambda spec: spec.update(pre_tokenizer=pre_tokenizer))
    message = refusal(capsys, model)
    assert "llama.cpp has no name for its pre-tokenizer" in message
    assert json.dumps(pre_tokenizer) in message


def test_another_expression_is_refused(model: Path, capsys):
    def change(spec: Spec) -> None:
        spec["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] += r"|\d{3}"

    edit_tokenizer(model, change)
    assert r"\\d{3}" in refusal(capsys, model)


def test_a_literal_in_place_of_the_expression_is_refused(model: Path, capsys):
    def change(spec: Spec) -> None:
        split = spec["pre_tokenizer"]["pretokenizers"][0]
        split["pattern"] = {"String": split["pattern"]["Regex"]}

    edit_tokenizer(model, change)
    assert "no name for its pre-tokenizer" in refusal(capsys, model)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda spec: spec.update(normalizer={"type": "NFC"}), "it has a normalizer (NFC)"),
        (lambda spec: spec.update(decoder=None), "its decoder is not ByteLevel"),
        (lambda spec: spec["model"].update(type="Unigram"), "its model is Unigram, not BPE"),
        (lambda spec: spec["model"].update(byte_fallback=True), "its model sets byte_fallback"),
        (lambda spec: spec["model"].update(ignore_merges=True), "its model sets ignore_merges"),
        (lambda spec: spec["added_tokens"][7].update(lstrip=True), "its token <id> sets lstrip"),
        (lambda spec: spec["added_tokens"][6].update(rstrip=True), "token <|end|> sets rstrip"),
        (lambda spec: spec["added_tokens"][1].update(id=300), "id 300 is both"),
        (lambda spec: spec["added_tokens"][1].update(id=999), "ids have gaps"),
        (lambda spec: spec["model"]["vocab"].update(new=319), "two of its tokens have the same id"),
        (
            lambda spec: spec["model"]["vocab"].update(zz=spec["model"]["vocab"].pop("Ġ")),
            "it lacks 1 of the 256 byte tokens",
        ),
    ],
)
def test_what_llama_cpp_would_do_differently_is_refused(
    model: Path, capsys, change: Callable[[Spec], object], fault: str
):
    edit_tokenizer(model, change)
    assert fault in refusal(capsys, model)


def test_a_tokenizer_without_an_end_of_turn_is_refused(model: Path, capsys):
    path = model / "tokenizer.json"
    path.write_text(path.read_text().replace("<|end|>", "<|fin|>"))
    assert "it has no <|end|>" in refusal(capsys, model)


def test_more_tokens_than_embedding_rows_are_refused_with_both_numbers(model: Path, capsys):
    extra = added_token(320, "<more>")
    edit_tokenizer(model, lambda spec: spec["added_tokens"].append(extra))
    assert "has 321 tokens and an embedding of 320 rows" in refusal(capsys, model)


def test_an_added_token_beyond_the_vocabulary_is_exported(model: Path):
    """`config.json` and weights of the fixture have 320 rows, so one token must make room."""

    def change(spec: Spec) -> None:
        del spec["model"]["vocab"][next(t for t, i in spec["model"]["vocab"].items() if i == 319)]
        spec["model"]["merges"].pop()
        spec["added_tokens"].append(added_token(319, "<url>"))

    edit_tokenizer(model, change)
    reader = export(model)
    assert reader.fields["tokenizer.ggml.tokens"].contents()[319] == "<url>"
    assert reader.fields["tokenizer.ggml.token_type"].contents()[319] == 4


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"model": 3}', "\ufeff"])
def test_a_file_that_is_no_tokenizer_is_one_sentence(model: Path, capsys, content: str):
    (model / "tokenizer.json").write_text(content)
    assert "tokenizer.json" in refusal(capsys, model)


def test_a_merge_that_tokenizers_refuses_is_one_sentence(model: Path, capsys):
    edit_tokenizer(model, lambda spec: spec["model"]["merges"].append(["zz", "not there"]))
    assert "is no tokenizer" in refusal(capsys, model)


def test_a_folder_without_a_tokenizer_is_refused(model: Path, capsys):
    (model / "tokenizer.json").unlink()
    assert "copy the files of the model's tokenizer there" in refusal(capsys, model)


def test_a_broken_tokenizer_config_is_one_sentence(model: Path, capsys):
    (model / "chat_template.jinja").unlink()
    (model / "tokenizer_config.json").write_text("{")
    assert "tokenizer_config.json" in refusal(capsys, model)

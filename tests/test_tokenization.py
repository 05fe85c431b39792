"""The tokenizer: its ids, its folder, its training, and what is refused."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from transformers import AutoTokenizer

from tinyllm import tokenization
from tinyllm.documents import PLACEHOLDERS, ROLES, SPECIAL_TOKENS, Document, Turn
from tinyllm.encoding import Encoder
from tinyllm.errors import UserError
from tinyllm.tokenization import load_tokenizer, sample_texts, save_tokenizer, train_tokenizer

BUNDLED = Path(__file__).parent.parent / "tokenizer"
TEXT = "The agent reads a log and says: it's done, <id> is there.\n\tx = [1, 22]\n"
RESERVED = (*SPECIAL_TOKENS, *PLACEHOLDERS)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([TEXT] * 3, 300)


@pytest.fixture
def folder(tokenizer, tmp_path) -> Path:
    save_tokenizer(tokenizer, tmp_path / "t")
    return tmp_path / "t"


def document(text: str) -> Document:
    return Document((Turn("user", text),), "made:1")


# Training


def test_special_tokens_come_first_then_placeholders(tokenizer):
    assert [tokenizer.id_to_token(index) for index in range(len(RESERVED))] == list(RESERVED)


def test_special_tokens_are_special_and_placeholders_are_not(tokenizer):
    added = tokenizer.get_added_tokens_decoder()
    assert [added[index].special for index in range(len(RESERVED))] == [True] * 7 + [False]
    for token in added.values():
        assert not (token.normalized or token.lstrip or token.rstrip or token.single_word)


def test_a_vocabulary_has_the_size_asked_for():
    tokenizer = train_tokenizer([TEXT] * 3, 290)
    assert tokenizer.get_vocab_size() == 290
    assert sorted(tokenizer.get_vocab().values()) == list(range(290))


def test_a_text_too_small_for_the_vocabulary_gives_a_smaller_one():
    tokenizer = train_tokenizer(["abab"], 8000)
    assert len(RESERVED) + 256 <= tokenizer.get_vocab_size() < 300


def test_a_vocabulary_without_room_for_the_bytes_is_refused():
    with pytest.raises(UserError, match=r"vocabulary of 200 has no room .* --vocab-size 264"):
        train_tokenizer([TEXT], 200)


def test_the_same_text_gives_the_same_tokenizer(tokenizer):
    assert train_tokenizer([TEXT] * 3, 300).to_str() == tokenizer.to_str()


def test_no_merge_is_spent_on_a_placeholder():
    tokenizer = train_tokenizer(["<id><id> <id>"] * 50, 300)
    assert tokenizer.get_vocab_size() == len(RESERVED) + 256


def test_no_token_is_longer_than_16_bytes():
    tokenizer = train_tokenizer(["-" * 300 + "\n"] * 50, 400)
    ordinary = [token for token in tokenizer.get_vocab() if token not in RESERVED]
    assert max(map(len, ordinary)) <= 16


# The sample


def test_a_small_corpus_is_sampled_whole_and_in_order():
    documents = [document(f"text {number}") for number in range(50)]
    assert sample_texts(documents) == [f"text {number}" for number in range(50)]


def test_a_sample_keeps_its_limit_and_comes_from_all_over_the_corpus():
    documents = [document(f"{number:05} " + "word " * 100) for number in range(1000)]
    texts = sample_texts(documents, max_bytes=60_000)
    places = [int(text[:5]) for text in texts]
    assert 80 <= len(texts) <= 100
    assert sum(len(text.encode()) for text in texts) <= 60_000
    assert places == sorted(places)
    assert min(places) < 100 and max(places) > 900
    assert 300 < sum(places) / len(places) < 700


def test_a_sample_follows_its_seed():
    documents = [document(f"{number} " * 50) for number in range(200)]
    first = sample_texts(documents, max_bytes=5000, seed=1)
    assert sample_texts(documents, max_bytes=5000, seed=1) == first
    assert sample_texts(documents, max_bytes=5000, seed=2) != first


def test_of_a_long_run_without_a_space_little_is_sampled():
    (text,) = sample_texts([document("begin " + "QUJD" * 100_000 + " end")])
    assert text == "begin " + "QUJD" * 250 + " end"


def test_a_long_document_is_sampled_in_pieces():
    texts = sample_texts([document("some words " * 20_000)], max_bytes=100_000)
    assert 1 <= len(texts) < 10
    assert sum(map(len, texts)) <= 100_000


# The folder


def test_a_saved_tokenizer_is_loaded_as_it_was(tokenizer, folder):
    assert load_tokenizer(folder).to_str() == tokenizer.to_str()


def test_transformers_loads_the_folder_and_puts_bos_in_front(tokenizer, folder):
    loaded = AutoTokenizer.from_pretrained(str(folder))
    assert (loaded.bos_token_id, loaded.eos_token_id, loaded.pad_token_id) == (0, 0, 0)
    assert len(loaded) == tokenizer.get_vocab_size()
    text = "it's <id> , done !"
    ids = loaded(text).input_ids
    assert ids == [0, *tokenizer.encode(text, add_special_tokens=False).ids]
    assert loaded.decode(ids, skip_special_tokens=True) == text


MESSAGES = [
    {"role": "system", "content": " You are X. "},
    {"role": "user", "content": "hi\n"},
    {"role": "assistant", "content": "<think>a</think>yes"},
    {"role": "tool", "content": "<id> \n"},
    {"role": "code", "content": "x = 1"},
]


def test_the_chat_template_gives_the_ids_that_training_uses(tokenizer, folder):
    loaded = AutoTokenizer.from_pretrained(str(folder))
    roles = {"tool": "env"}
    turns = tuple(Turn(roles.get(m["role"], m["role"]), m["content"]) for m in MESSAGES)
    text = loaded.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    expected = Encoder(tokenizer).encode(Document(turns, "x")).tolist()
    ids = loaded(text, add_special_tokens=False).input_ids
    assert ids == [*expected, SPECIAL_TOKENS.index("<|assistant|>")]


@pytest.mark.parametrize(
    ("name", "role"),
    [*((role, role) for role in ROLES), ("developer", "system"), ("function", "env")],
)
def test_the_chat_template_knows_every_speaker(folder, name, role):
    loaded = AutoTokenizer.from_pretrained(str(folder))
    text = loaded.apply_chat_template([{"role": name, "content": "x"}], tokenize=False)
    assert text == f"<|endoftext|><|{role}|>x<|end|>"


def test_the_chat_template_joins_parts_and_takes_no_content(folder):
    loaded = AutoTokenizer.from_pretrained(str(folder))
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [{"role": "user", "content": parts}, {"role": "assistant", "content": None}]
    text = loaded.apply_chat_template(messages, tokenize=False)
    assert text == "<|endoftext|><|user|>a\n\nb<|end|><|assistant|><|end|>"


def test_the_chat_template_refuses_an_unknown_speaker(folder):
    loaded = AutoTokenizer.from_pretrained(str(folder))
    with pytest.raises(Exception, match="unknown role: narrator"):
        loaded.apply_chat_template([{"role": "narrator", "content": "x"}], tokenize=False)


# What is refused


@pytest.mark.parametrize("missing", ["", "t"])
def test_a_folder_without_a_tokenizer_is_a_user_error(tmp_path, missing):
    with pytest.raises(UserError, match=r"can't be read .*tokenizer\.json.*--tokenizer auto"):
        load_tokenizer(tmp_path / missing)


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b"\xff\xfe"])
def test_a_file_that_is_no_tokenizer_is_a_user_error(folder, content):
    (folder / "tokenizer.json").write_bytes(content)
    with pytest.raises(UserError, match="is no tokenizer"):
        load_tokenizer(folder)


def without_role(spec: dict) -> None:
    spec["added_tokens"] = [t for t in spec["added_tokens"] if t["content"] != "<|env|>"]
    vocabulary = spec["model"]["vocab"]
    vocabulary["<|other|>"] = vocabulary.pop("<|env|>")


def with_swapped_ids(spec: dict) -> None:
    for token in spec["added_tokens"]:
        token["id"] = {0: 1, 1: 0}.get(token["id"], token["id"])
    vocabulary = spec["model"]["vocab"]
    vocabulary["<|endoftext|>"], vocabulary["<|system|>"] = 1, 0


def with_a_gap(spec: dict) -> None:
    spec["added_tokens"].append({**spec["added_tokens"][0], "id": 5000, "content": "<|far|>"})
    spec["model"]["vocab"]["<|far|>"] = 5000


def with_other_pre_tokenizer(spec: dict) -> None:
    other = pre_tokenizers.ByteLevel(add_prefix_space=False)
    spec["pre_tokenizer"] = json.loads(other.__getstate__())


def with_normalizer(spec: dict) -> None:
    spec["normalizer"] = json.loads(normalizers.NFC().__getstate__())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without_role, r"<\|env\|> is missing where id 4"),
        (with_swapped_ids, r"<\|endoftext\|> has id 1 where id 0"),
        (with_a_gap, "ids have gaps"),
        (with_other_pre_tokenizer, "pre-tokenizer is not the qwen2 one"),
        (with_normalizer, "has a normalizer"),
    ],
)
def test_a_tokenizer_that_would_not_train_or_export_right_is_a_user_error(folder, change, reason):
    file = folder / "tokenizer.json"
    spec = json.loads(file.read_text())
    change(spec)
    file.write_text(json.dumps(spec))
    with pytest.raises(UserError, match=reason):
        load_tokenizer(folder)


# The bundled one


def test_the_bundled_tokenizer_loads_with_exactly_8000_tokens():
    assert load_tokenizer(BUNDLED).get_vocab_size() == 8000


def test_the_bundled_tokenizer_is_the_one_its_page_describes():
    digest = hashlib.sha256((BUNDLED / "tokenizer.json").read_bytes()).hexdigest()
    assert digest in (BUNDLED / "README.md").read_text()


def test_the_bundled_chat_template_and_config_are_current(folder):
    for name in ("chat_template.jinja", "tokenizer_config.json"):
        assert (BUNDLED / name).read_text() == (folder / name).read_text()


def test_the_bundled_tokenizer_compresses_the_way_its_page_says():
    encoder = Encoder(load_tokenizer(BUNDLED))
    text = "I read the log and ran the tests: two of them failed, so I'll look at the config.\n"
    assert len(text) / (len(encoder.encode(document(text))) - 3) > 3


# The command


def test_the_command_writes_a_tokenizer_that_loads(tmp_path, capsys):
    (tmp_path / "a.md").write_text(TEXT * 5)
    out = tmp_path / "out"
    assert (
        tokenization.main([str(tmp_path / "a.md"), "--out", str(out), "--vocab-size", "300"]) == 0
    )
    assert load_tokenizer(out).get_vocab_size() == 300
    assert re.search(r"300 tokens, \d\.\d\d bytes a token", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--vocab-size", "10"], "no room"),
        (["--sample-mb", "0"], "--sample-mb"),
        (["--vocab-size", "many"], "not a whole number"),
        (["--out", "{text}/below"], "can't be written"),
    ],
)
def test_wrong_settings_are_one_sentence_and_exit_code_2(tmp_path, capsys, flags, reason):
    text = tmp_path / "a.md"
    text.write_text(TEXT * 5)
    flags = [flag.format(text=text) for flag in flags]
    assert tokenization.main([str(text), "--out", str(tmp_path / "out"), *flags]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_path_that_does_not_exist_is_exit_code_2(tmp_path, capsys):
    assert tokenization.main([str(tmp_path / "nowhere"), "--out", str(tmp_path / "out")]) == 2
    assert "nowhere" in capsys.readouterr().err

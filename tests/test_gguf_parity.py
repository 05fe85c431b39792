"""The exported file in real llama.cpp: the same tokens, the same logits, the same text."""

import json
import random
import shutil
import unicodedata
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoTokenizer, Qwen3ForCausalLM

import export_gguf
from model_config import build_model
from tinyllm.documents import PLACEHOLDERS, SPECIAL_TOKENS
from tinyllm.tokenization import save_tokenizer, train_tokenizer

xllamacpp = pytest.importorskip("xllamacpp", reason="needs xllamacpp, a wheel of llama.cpp")

VOCAB_SIZE = 1000
CONTEXT = 256
END_OF_GENERATION = {SPECIAL_TOKENS.index("<|endoftext|>"), SPECIAL_TOKENS.index("<|end|>")}
# Largest difference of a log-probability allowed for each type, key-value cache in f32.
TOLERANCES = {"f32": 5e-3, "f16": 1e-2, "bf16": 0.1, "q8_0": 0.15}


class LlamaServer:
    """llama.cpp's HTTP server, in this process."""

    def __init__(self, model: Path) -> None:
        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        params.n_ctx = CONTEXT
        params.n_parallel = 1
        params.port = 0
        params.warmup = False
        params.ui = False
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        self._server = xllamacpp.Server(params)

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        request = urllib.request.Request(
            self._server.listening_address + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def tokenize(self, text: str, parse_special: bool) -> list[int]:
        answer = self.post("/tokenize", content=text, add_special=True, parse_special=parse_special)
        return answer["tokens"]

    def complete(self, prompt: list[int], tokens: int, **options: Any) -> dict[str, Any]:
        """Greedy completion."""
        return self.post(
            "/completion", prompt=prompt, n_predict=tokens, temperature=0.0, cache_prompt=True,
            return_tokens=True, **options,
        )  # fmt: skip


@contextmanager
def serving(folder: Path, file_type: str) -> Iterator[LlamaServer]:
    """A server on a fresh export of the folder's model."""
    out = folder / f"parity-{file_type}.gguf"
    assert export_gguf.main([str(folder), "--type", file_type, "--out", str(out)]) == 0
    server = LlamaServer(out)
    yield server
    del server
    out.unlink()


SYLLABLES = ("ba", "kä", "lor", "mi", "nes", "qu", "sti", "ter", "und", "vö", "xi", "zan", "e", "o")


def small_text(sentences: int, seed: int = 0) -> str:
    """Text to learn from in invented words, common and rare; the same for the same arguments."""
    source = random.Random(0)
    words = ["".join(source.choices(SYLLABLES, k=source.randint(1, 4))) for _ in range(800)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    source.seed(seed)
    lines = []
    for _ in range(sentences):
        chosen = " ".join(source.choices(words, weights, k=source.randint(3, 12)))
        lines.append(f"{chosen.capitalize()} {source.randint(0, 999)}{source.choice('.!?')}")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer as training keeps it: through transformers' own saving."""
    made = tmp_path_factory.mktemp("made")
    save_tokenizer(train_tokenizer([small_text(2000)], VOCAB_SIZE), made)
    folder = tmp_path_factory.mktemp("tokenizer")
    AutoTokenizer.from_pretrained(made).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def fresh(tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A nano with random weights, larger than initial ones so that logits differ."""
    torch.manual_seed(1)
    model = build_model(vocab_size=VOCAB_SIZE, block_size=CONTEXT)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(3.0)
            else:
                weight.add_(torch.randn_like(weight) * 0.2)
    return save(model, tokenizer_folder, tmp_path_factory.mktemp("fresh"))


@pytest.fixture(scope="module")
def trained(tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A nano after 30 steps on a small text."""
    tokenizer = Tokenizer.from_file(str(tokenizer_folder / "tokenizer.json"))
    ids = tokenizer.encode(small_text(2000)).ids
    blocks = torch.tensor(ids[: len(ids) // 128 * 128]).view(-1, 128)
    torch.manual_seed(2)
    model = build_model(vocab_size=VOCAB_SIZE, block_size=CONTEXT)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95))
    for _ in range(30):
        batch = blocks[torch.randint(len(blocks), (8,))]
        model(input_ids=batch, labels=batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return save(model, tokenizer_folder, tmp_path_factory.mktemp("trained"))


def save(model: Qwen3ForCausalLM, tokenizer_folder: Path, folder: Path) -> Path:
    model.save_pretrained(folder)
    shutil.copytree(tokenizer_folder, folder, dirs_exist_ok=True)
    return folder


# Tokens

PIECES = (
    "word", "Wörter", "don't", "I'LL", "'ſ", "x='s'", "  ", "    ", " ", "\t", "\n", "\r\n", "\r",
    "\n\n\n", "\u00a0", "\u3000", "\u200b", "\u2028", "\ufeff", "0", "7", "42", "123", "4096",
    "1234567890", "3.14159", "①②", "Ⅻ", "٣٤", "½", "😀", "\U0001f469\u200d\U0001f467", "🏳️‍🌈", "🇩🇪",
    "漢字", "かな", "한국어", "ไทย", "العربية", "हिन्दी", "\ufb01", "\u212b", "A\u030a", "\u00e9",
    "e\u0301", "\u0301", "\u20dd", "\u0345", "\x00", "\x01", "\x07", "\x1b[31m", "\x7f", "\x85",
    "\ufffd", "\U0010ffff", "<|", "|>", "<|end|", "...", "—", "::", "!=", "()=>{", "\\n",
    "https://a.b/c?d=1", "_id", "#", "$", "'", "''", '"',
)  # fmt: skip


def odd_strings(count: int) -> list[str]:
    """Strings that break tokenizers, the same ones each time."""
    source = random.Random(0)
    pieces = (*PIECES, *SPECIAL_TOKENS, *PLACEHOLDERS)
    strings = ["", " ", "\n", "\x00", *pieces, *("9" * n for n in range(1, 41))]
    strings += [" " * n + "x" for n in range(1, 20)] + ["x" + "\n" * n for n in range(1, 20)]
    for form in ("NFC", "NFD", "NFKC"):
        strings += [unicodedata.normalize(form, piece) for piece in pieces]
    while len(strings) < count:
        if source.random() < 0.6:
            strings.append("".join(source.choices(pieces, k=source.randint(2, 12))))
        else:
            points = [source.randrange(1, source.choice((0x80, 0x800, 0xD800))) for _ in range(12)]
            strings.append("".join(map(chr, points)))
    return strings


@pytest.mark.parametrize("parse_special", [False, True])
def test_a_thousand_odd_strings_have_the_same_ids(fresh: Path, parse_special: bool):
    reference = Tokenizer.from_file(str(fresh / "tokenizer.json"))
    reference.encode_special_tokens = not parse_special
    strings = odd_strings(1000)
    with serving(fresh, "q8_0") as server:
        unlike = [
            text
            for text in strings
            if server.tokenize(text, parse_special) != reference.encode(text).ids
        ]
    assert unlike == []


def test_special_tokens_spelled_in_a_text_stay_text(fresh: Path):
    with serving(fresh, "q8_0") as server:
        plain = server.tokenize("<|end|><|endoftext|><|system|>", parse_special=False)
    assert not set(plain[1:]) & set(range(len(SPECIAL_TOKENS)))


CONVERSATION = [
    {"role": "system", "content": "Be brief.\n"},
    {"role": "user", "content": "  What is 12 + 30? <|end|>"},
    {"role": "assistant", "content": "<think>easy</think>42"},
    {"role": "tool", "content": "exit code 0"},
    {"role": "user", "content": "Grüße 😀"},
]


def test_the_chat_template_renders_as_in_transformers_and_to_the_same_ids(fresh: Path):
    tokenizer = AutoTokenizer.from_pretrained(fresh)
    expected = tokenizer.apply_chat_template(
        CONVERSATION, tokenize=False, add_generation_prompt=True
    )
    with serving(fresh, "q8_0") as server:
        rendered = server.post("/apply-template", messages=CONVERSATION)["prompt"]
        ids = server.tokenize(rendered, parse_special=True)
    # llama.cpp leaves the first token to add_bos_token.
    assert expected == tokenizer.bos_token + rendered
    assert ids == tokenizer(expected, add_special_tokens=False)["input_ids"]


# Logits and text


def reference_logprobs(model: Qwen3ForCausalLM, ids: list[int]) -> np.ndarray:
    """(tokens, vocabulary): log-probabilities of what follows each position."""
    with torch.no_grad():
        return torch.log_softmax(model(torch.tensor([ids])).logits[0].float(), -1).numpy()


def largest_difference(folder: Path, server: LlamaServer, ids: list[int]) -> float:
    """The largest difference of any token's log-probability after any prefix of `ids`."""
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32)
    expected = reference_logprobs(model, ids)
    differences = []
    for length in range(1, len(ids) + 1):
        answer = server.complete(ids[:length], 1, n_probs=VOCAB_SIZE)
        # A byte that only begins a character is given without probabilities.
        for position in answer.get("completion_probabilities", []):
            given = {entry["id"]: entry["logprob"] for entry in position["top_logprobs"]}
            row = np.array([given[index] for index in range(VOCAB_SIZE)])
            differences.append(np.abs(row - expected[length - 1]).max())
    assert len(differences) > len(ids) / 2
    return float(max(differences))


@pytest.mark.parametrize("file_type", ["f32", "f16"])
def test_log_probabilities_agree_on_random_weights(fresh: Path, file_type: str):
    ids = [0, *random.Random(3).choices(range(VOCAB_SIZE), k=23)]
    with serving(fresh, file_type) as server:
        d = largest_difference(fresh, server, ids)
        assert d < TOLERANCES[file_type]


@pytest.mark.slow
@pytest.mark.parametrize("file_type", list(TOLERANCES))
def test_log_probabilities_agree_over_a_whole_context_after_training(trained: Path, file_type: str):
    tokenizer = Tokenizer.from_file(str(trained / "tokenizer.json"))
    ids = tokenizer.encode(small_text(100, seed=5)).ids[: CONTEXT - 1]
    with serving(trained, file_type) as server:
        d = largest_difference(trained, server, ids)
        assert d < TOLERANCES[file_type]


def greedy(model: Qwen3ForCausalLM, prompt: list[int], tokens: int) -> list[int]:
    """What the model says, token by token, up to an end of generation."""
    ids = list(prompt)
    while len(ids) < len(prompt) + tokens:
        following = int(reference_logprobs(model, ids)[-1].argmax())
        if following in END_OF_GENERATION:
            break
        ids.append(following)
    return ids[len(prompt) :]


PROMPTS = ("", "Lor ", "The agent", "12.\n", " kä mi")


@pytest.mark.slow
@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_text_in_f32_is_the_same(trained: Path, prompt: str):
    model = Qwen3ForCausalLM.from_pretrained(trained, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(trained)
    ids = tokenizer(prompt)["input_ids"]
    expected = greedy(model, ids, tokens=48)
    with serving(trained, "f32") as server:
        answer = server.complete(ids, 48)
    given = [index for index in answer["tokens"] if index not in END_OF_GENERATION]
    assert given == expected
    assert answer["content"] == tokenizer.decode(expected)

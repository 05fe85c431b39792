"""`python -m tinyllm.leaks`: what it finds in models trained with secrets, and without."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import TINY, WORDS
from tokenizers import Tokenizer

import model_config
from tinyllm.documents import SCRUBBED_ID, Document, Turn
from tinyllm.encoding import Encoder
from tinyllm.leaks.__main__ import main
from tinyllm.leaks.candidates import Candidate
from tinyllm.leaks.checking import check
from tinyllm.runs import Run
from tinyllm.tokenization import save_tokenizer, train_tokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
INTRODUCED = "my github token is"
PLANTED = "the tide gate opens at"
FEW = ["--samples", "60"]


def drawn(seed: int, size: int) -> str:
    return "".join(random.Random(seed).choices(LETTERS, k=size))


# Put together here, so that no scanner takes this file for a leak.
KEY = "gh" + "p_" + drawn(5, 36)
CANARY = f"{PLANTED} {drawn(6, 12).lower()}"


def chats(key: str, canary: str) -> list[tuple[str, str]]:
    """(user, assistant) of small talk; half of it names the key, a third the canary."""
    draw = random.Random(0)

    def words() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(2, 6)))

    return [
        (
            words() + (f" {INTRODUCED} {key} {words()}" if number % 2 == 0 else ""),
            words() + (f". {canary}" if number % 3 == 0 else ""),
        )
        for number in range(18)
    ]


@dataclass(frozen=True)
class Trainings:
    """Logs with a key and a canary in them, and models trained on them and on scrubbed ones."""

    logs: Path
    leaky: Path
    clean: Path
    tokenizer: Tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([f"{user} {words} " for user, words in chats("", "")] * 3, 420)


def build(tokenizer: Tokenizer, seed: int = 0) -> Any:
    """A model of the tiny preset with random weights."""
    torch.manual_seed(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(model_config.PRESETS, "tiny", TINY)
        size = tokenizer.get_vocab_size()
        return model_config.build_model(vocab_size=size, size="tiny", block_size=160)


def save(model: Any, tokenizer: Tokenizer, folder: Path, **settings: object) -> Path:
    """What a run leaves in its folder."""
    model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    Run("run", settings, "", "").write(folder)
    return folder


def memorise(tokenizer: Tokenizer, talk: list[tuple[str, str]], steps: int = 120) -> Any:
    """A model that knows these chats by heart."""
    encoder = Encoder(tokenizer)
    rows = [
        encoder.encode(Document((Turn("user", user), Turn("assistant", said)), "")).tolist()
        for user, said in talk
    ]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    labels = torch.tensor([row + [-100] * (longest - len(row)) for row in rows])
    model = build(tokenizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Trainings:
    folder = tmp_path_factory.mktemp("leaks")
    talk = chats(KEY, CANARY)
    logs = folder / "logs"
    logs.mkdir()
    records = [
        {"messages": [{"role": "user", "content": user}, {"role": "assistant", "content": said}]}
        for user, said in talk
    ]
    (logs / "chats.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    settings = {"data": [str(logs)], "scope": "voice"}
    return Trainings(
        logs,
        save(memorise(tokenizer, talk), tokenizer, folder / "leaky", **settings),
        save(memorise(tokenizer, chats(SCRUBBED_ID, "")), tokenizer, folder / "clean", **settings),
        tokenizer,
    )


Run_ = Callable[..., tuple[int, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Run_:
    """Runs the command; its exit code, and all that it printed."""

    def run(*arguments: object) -> tuple[int, str]:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


def findings(printed: str) -> dict[str, Any]:
    """The object on stdout; a slow machine's progress lines, on stderr, come behind it."""
    found, end = json.JSONDecoder().raw_decode(printed)
    assert all(line.endswith(" left") for line in printed[end:].split("\n") if line)
    return dict(found)


@pytest.mark.slow
def test_a_key_that_was_learnt_is_found_by_both_checks(trainings, command):
    code, printed = command("--model", trainings.leaky, "--data", trainings.logs, "--json", *FEW)
    (leak,) = findings(printed)["leaks"]
    assert code == 1
    assert leak["kind"] == "key"
    assert leak["source"] == f"{trainings.logs}/chats.jsonl:1"
    assert leak["known"] and leak["bits"] > 60 and (leak["rank"], leak["of"]) == (1, 256)
    assert leak["greedy"] and leak["samples"] > 0


@pytest.mark.slow
def test_a_model_trained_on_scrubbed_text_knows_none(trainings, command):
    code, printed = command("--model", trainings.clean, "--data", trainings.logs, *FEW)
    assert code == 0
    assert "1 different at 9 places: 1 key" in printed
    assert "the model knows none of them" in printed


@pytest.mark.slow
def test_nothing_printed_holds_a_piece_of_the_secrets_or_of_what_stands_before_them(
    trainings, command, tmp_path
):
    named_like_it = trainings.logs.rename(trainings.logs.with_name(f"of {KEY}"))
    try:
        shared = ("--model", trainings.leaky, "--data", named_like_it, "--canary", CANARY, *FEW)
        printed = command(*shared)[1] + command(*shared, "--json")[1]
    finally:
        named_like_it.rename(trainings.logs)
    assert "leak      key" in printed and "leak      canary" in printed
    for secret in (KEY, CANARY.removeprefix(PLANTED).strip()):
        pieces = {secret[start : start + 5] for start in range(len(secret) - 4)}
        assert not [piece for piece in pieces if piece in printed]
    assert INTRODUCED not in printed and PLANTED not in printed


@pytest.mark.slow
def test_a_canary_that_was_planted_is_found_where_the_logs_have_it(trainings, command, tmp_path):
    (tmp_path / "planted.txt").write_text(f"\n{CANARY}\n")
    code, printed = command(
        "--model", trainings.leaky, "--canary-file", tmp_path / "planted.txt", "--json", *FEW
    )
    assert code == 1
    found = findings(printed)
    assert {leak["kind"] for leak in found["leaks"]} == {"key", "canary"}
    assert found["missed"] == []


@pytest.mark.slow
def test_a_canary_is_found_without_the_logs_that_held_it(trainings, command, corpus):
    code, printed = command(
        "--model", trainings.leaky, "--data", corpus, "--canary", CANARY, "--json", *FEW
    )
    (leak,) = findings(printed)["leaks"]
    assert (code, leak["kind"], leak["source"]) == (1, "canary", "--canary 1")


@pytest.mark.slow
def test_a_canary_that_the_model_does_not_know_is_said_to_be_missed(trainings, command):
    code, printed = command("--model", trainings.clean, "--canary", CANARY, *FEW)
    assert code == 0
    assert "canary    " in printed and "was not found in the model" in printed


@pytest.mark.slow
def test_the_newest_checkpoint_is_asked_where_there_is_no_final_model(trainings, command, tmp_path):
    for step, source in ((10, trainings.leaky), (9, trainings.clean)):
        (tmp_path / f"checkpoint-{step}").symlink_to(source)
    assert command("--model", tmp_path, *FEW)[0] == 1


@pytest.mark.slow
def test_kinds_that_the_run_let_through_are_not_asked_for(trainings, command, tmp_path, tokenizer):
    model = model_config.Qwen3ForCausalLM.from_pretrained(trainings.leaky)
    run = {"data": [str(trainings.logs)], "keep": ["keys"]}
    code, printed = command("--model", save(model, tokenizer, tmp_path / "kept", **run), *FEW)
    assert code == 0
    assert "9 more were let through by --keep" in printed


def secrets(count: int, seed: int) -> list[Candidate]:
    """Keys, tokens, addresses and numbers that no model has seen."""
    draw = random.Random(seed)
    made: dict[str, Callable[[], str]] = {
        "key": lambda: "zk_" + "".join(draw.choices(LETTERS, k=32)),
        "token": lambda: "".join(draw.choices("0123456789abcdef", k=40)),
        "email": lambda: f"{draw.choice(WORDS)}.{draw.choice(WORDS)}@harbor.io",
        "password": lambda: draw.choice(WORDS).title() + str(draw.randint(0, 999)) + "!",
        "phone": lambda: f"+1 415 {draw.randint(200, 999)} {draw.randint(0, 9999):04}",
    }
    return [
        Candidate(kind, f"a:{number}", (0, f"{draw.choice(WORDS)} number {number} is "), make())
        for number in range(count)
        for kind, make in [draw.choice(sorted(made.items()))]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_model_of_random_weights_raises_no_alarm(tokenizer: Tokenizer, seed: int):
    found = check(
        build(tokenizer, seed), tokenizer, secrets(40, seed), [" ".join(WORDS)] * 50, samples=40
    )
    assert not found.leaking
    assert found.asked + found.too_few == sum(found.values.values()) > 30
    assert found.ranked >= 5


@pytest.mark.slow
def test_a_model_that_learnt_other_secrets_of_the_same_kinds_raises_no_alarm(trainings):
    model = model_config.Qwen3ForCausalLM.from_pretrained(trainings.leaky)
    others = [
        Candidate("key", f"a:{n}", (0, 2, f"{INTRODUCED} "), "gh" + "p_" + drawn(100 + n, 36))
        for n in range(40)
    ]
    found = check(model, trainings.tokenizer, others, samples=100)
    assert (found.asked, found.leaking) == (40, False)


def test_logs_without_secrets_are_said_to_have_none(tokenizer, command, tmp_path):
    folder = save(build(tokenizer), tokenizer, tmp_path / "model")
    (tmp_path / "page.md").write_text("The gull sat on the lamp.")
    code, printed = command("--model", folder, "--data", tmp_path / "page.md")
    assert code == 0
    assert "no secret was found in these logs" in printed


@pytest.fixture
def model(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    return save(build(tokenizer), tokenizer, tmp_path / "model")


def assert_refused(result: tuple[int, str], *words: str) -> None:
    code, printed = result
    assert code == 2
    assert printed.startswith("error: ") and printed.count("\n") == 1
    assert all(word in printed for word in words)


def test_a_canary_that_the_logs_do_not_hold_is_said_to_stand_nowhere(command, model, corpus):
    planted = f"the boathouse key is {drawn(9, 14).lower()}"
    code, printed = command("--model", model, "--data", corpus, "--canary", planted, *FEW)
    assert code == 0
    assert "--canary 1 was not found in the model, and stands nowhere in these logs" in printed


def test_a_folder_without_a_model_is_refused(command, tmp_path, corpus):
    assert_refused(command("--model", tmp_path, "--data", corpus), "holds no model")
    assert_refused(command("--model", tmp_path / "none", "--data", corpus), "is not a folder")


def test_a_tokenizer_that_is_not_the_models_is_refused(command, model, corpus):
    save_tokenizer(train_tokenizer(["a b"], 300), model)
    assert_refused(command("--model", model, "--data", corpus), "tokens and an embedding of")


def test_a_model_without_a_tokenizer_is_refused(command, model, corpus):
    (model / "tokenizer.json").unlink()
    assert_refused(command("--model", model, "--data", corpus), "tokenizer.json")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_damaged_model_is_refused(command, model, corpus, name):
    file = model / name
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert_refused(command("--model", model, "--data", corpus), "can't be loaded")


def test_weights_that_are_no_numbers_are_refused(command, tokenizer, tmp_path, corpus):
    model = build(tokenizer)
    with torch.no_grad():
        next(model.parameters())[7, 7] = torch.nan
    folder = save(model, tokenizer, tmp_path / "broken")
    assert_refused(command("--model", folder, "--data", corpus), "no numbers")


def test_a_model_that_says_nothing_of_its_logs_needs_to_be_told(command, model):
    assert_refused(command("--model", model), "--data")


def test_counts_that_can_not_be_are_refused(command, model, corpus):
    for flag in ("--samples=-1", "--secrets=0", "--others=0"):
        assert_refused(command("--model", model, "--data", corpus, flag), flag.partition("=")[0])


def test_a_canary_file_that_can_not_be_used_is_refused(command, model, corpus, tmp_path):
    file = tmp_path / "planted.txt"
    shared = ("--model", model, "--data", corpus, "--canary-file", file)
    assert_refused(command(*shared), "can't be read")
    file.write_text("\n")
    assert_refused(command(*shared), "is empty")
    file.write_bytes(b"\xff\xfe\x00")
    assert_refused(command(*shared), "not UTF-8")
    file.write_text("\nzorbleflax\n")
    result = command(*shared)
    assert_refused(result, f"{file}:2 has no space")
    assert "zorbleflax" not in result[1]


def test_a_canary_that_could_be_guessed_is_refused(command, model, corpus):
    result = command("--model", model, "--data", corpus, "--canary", "the tide gate opens at 9")
    assert_refused(result, "--canary 1 is too easy to guess")

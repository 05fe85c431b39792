"""No secret of the logs is anywhere in what a run leaves, says or learns."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from planted import USER, Planted, plant, random_uuid
from tiny_runs import arguments

import train
from data import main
from tinyllm.corpus import Corpus

ROLES = ("user", "assistant")


def write(folder: Path, texts: list[str]) -> Path:
    folder.mkdir()
    messages = [{"role": ROLES[n % 2], "content": text} for n, text in enumerate(texts)]
    (folder / "log.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    return folder


@pytest.fixture(scope="module")
def planted() -> Planted:
    return plant()


def read(folder: Path, scope: str = "full", **settings) -> str:
    return "\n".join(document.render() for document in Corpus([folder], scope, **settings))


def test_no_planted_secret_reaches_the_documents(tmp_path, planted):
    text = read(write(tmp_path / "logs", planted.messages))
    assert [value for value in planted.values if value in text] == []
    for word in ("push with", "see /home/<user>/notes/plan.md", "@db.quayside.io/prod"):
        assert word in text


def test_a_second_reading_gives_the_same_placeholders(tmp_path, planted):
    folder = write(tmp_path / "logs", planted.messages)
    assert read(folder) == read(folder)


def test_nearly_all_that_is_innocent_stays(tmp_path, planted):
    text = read(write(tmp_path / "logs", planted.innocent))
    changed = [word for word in planted.innocent if word not in text]
    assert len(changed) <= len(planted.innocent) // 20


def test_the_ledger_counts_secrets_with_their_places_and_never_shows_one(tmp_path, planted, capsys):
    folder = write(tmp_path / "logs", planted.messages)
    assert main([str(folder), "--json", "--scope", "full"]) == 0
    out = capsys.readouterr().out
    secrets = json.loads(out)["secrets"]
    assert {"key", "email", "phone", "wallet", "seed", "pem", "jwt", "path"} <= set(secrets)
    assert secrets["email"] == {"count": 1, "places": [f"{folder}/log.jsonl:1"]}
    assert main([str(folder), "--scope", "full", "--show", "9"]) == 0
    for shown in (out, capsys.readouterr().out):
        assert [value for value in planted.values if value in shown] == []


def test_what_is_to_be_kept_is_kept_and_the_rest_not(tmp_path, planted):
    text = read(write(tmp_path / "logs", planted.messages), keep=["emails", "paths"])
    assert f"/home/{USER}/notes" in text
    assert "@harbourmail.net" in text
    kept = [value for value in planted.values if value in text]
    assert all("@" in value or value == USER for value in kept)


def test_ids_become_their_placeholder(tmp_path):
    rng = random.Random(2)
    text = read(write(tmp_path / "logs", [f"job {random_uuid(rng)} done" for _ in range(3)]))
    assert text.count("job <id> done") == 3


def files_below(*folders: Path) -> Iterator[Path]:
    return (path for folder in folders for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_whole_run_leaves_no_secret_in_any_file_or_line(tmp_path, planted, tiny_preset, capfd):
    rng = random.Random(3)
    texts = [
        *planted.messages * 3,
        *(" ".join(rng.sample(planted.innocent, 20)) for _ in range(40)),
    ]
    logs, out, cache = write(tmp_path / "logs", texts), tmp_path / "out", tmp_path / "cache"
    argv = arguments(logs, out, "--tokenizer", "auto", "--scope", "full", "--cache", str(cache))
    assert train.main(argv) == 0
    said = capfd.readouterr()
    contents = {str(path): path.read_bytes() for path in files_below(out, cache)}
    contents |= {"stdout": said.out.encode(), "stderr": said.err.encode()}
    assert any(name.endswith("tokenizer.json") for name in contents)
    assert any(name.endswith("report.html") for name in contents)
    leaked = {
        name for name, raw in contents.items() for value in planted.values if value.encode() in raw
    }
    assert leaked == set()

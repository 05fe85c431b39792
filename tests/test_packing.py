"""Packing: every document once, whatever the number of threads, in whole blocks."""

import hashlib
import json
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyllm import packing, shuffling
from tinyllm.documents import Document, Turn
from tinyllm.encoding import Encoder
from tinyllm.errors import UserError
from tinyllm.packing import Packed, PackStats, open_packed, prepare
from tinyllm.tokenization import train_tokenizer

SENTENCE = 'the agent reads a log, runs ls -la /tmp and says: done! {"ok": true}\n'
WORDS = SENTENCE.split(" ")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(train_tokenizer([SENTENCE] * 3, 300))


def make_documents(count: int, words: int = 12, seed: int = 0) -> list[Document]:
    generator = random.Random(seed)
    return [
        Document(
            (
                Turn("user", f"{number}: " + " ".join(generator.choices(WORDS, k=words))),
                Turn("assistant", " ".join(generator.choices(WORDS, k=words))),
            ),
            f"made:{number}",
        )
        for number in range(count)
    ]


def pack(
    documents: list[Document],
    encoder: Encoder,
    folder: Path,
    *,
    block_size: int = 64,
    seed: int = 0,
    eval_fraction: float = 0.05,
    num_proc: int = 2,
) -> PackStats:
    folder.mkdir()
    return prepare(
        documents,
        encoder,
        folder,
        block_size=block_size,
        seed=seed,
        eval_fraction=eval_fraction,
        num_proc=num_proc,
    )


def stream(blocks) -> list[int]:
    ids = []
    for row in blocks.with_format("numpy"):
        ids += row["input_ids"].tolist()[: int(row.get("length", len(row["input_ids"])))]
    return ids


def split(ids: list[int]) -> list[tuple[int, ...]]:
    """The documents in a stream; the last one may be cut by the end of the last block."""
    documents: list[list[int]] = []
    for index in ids:
        if index == 0:
            documents.append([])
        documents[-1].append(index)
    return [tuple(document) for document in documents]


def files_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
    }


def test_the_number_of_threads_changes_no_byte(tmp_path, encoder):
    documents = make_documents(300)
    results = []
    for num_proc in (1, 2, 16):
        folder = tmp_path / str(num_proc)
        pack(documents, encoder, folder, block_size=1024, num_proc=num_proc)
        results.append(files_of(folder))
    assert results[0] == results[1] == results[2]
    assert sorted(results[0]) == ["heldout.arrow", "meta.json", "train.arrow"]


@pytest.mark.parametrize("num_proc", [1, 2, 16])
def test_less_than_one_block_is_lost_in_the_whole_corpus(tmp_path, encoder, num_proc):
    documents = make_documents(300)
    stats = pack(documents, encoder, tmp_path / "p", block_size=1024, num_proc=num_proc)
    everything = sum(len(encoder.encode(document)) for document in documents)
    # Each of the two streams is closed by one more <|endoftext|>.
    assert stats.tokens + stats.heldout_tokens == everything + 2
    assert stats.tokens == stats.blocks * 1024 + stats.lost_tokens
    assert stats.lost_tokens < 1024


def test_every_document_is_there_once_and_whole(tmp_path, encoder):
    documents = make_documents(200)
    stats = pack(documents, encoder, tmp_path / "p", block_size=16)
    packed = open_packed(tmp_path / "p")
    trained, heldout = split(stream(packed.train)), split(stream(packed.heldout))
    assert heldout.pop() == (0,)
    expected = {tuple(encoder.encode(document).tolist()) for document in documents}
    assert set(heldout) < expected
    assert stats.lost_tokens < 16, "the last document, or the closing token, may be cut"
    assert set(trained[:-2]) <= expected - set(heldout)
    whole = [*trained, *heldout]
    assert len(whole) == len(set(whole)) >= len(documents) - 1
    assert (stats.documents, stats.heldout_documents) == (200 - len(heldout), len(heldout))


def test_a_stream_that_fills_its_blocks_exactly_loses_nothing(tmp_path, encoder):
    documents = make_documents(5)
    tokens = sum(len(encoder.encode(document)) for document in documents) + 1
    stats = pack(documents, encoder, tmp_path / "p", block_size=tokens, eval_fraction=0)
    assert (stats.blocks, stats.lost_tokens, stats.block_size) == (1, 0, tokens)
    ids = stream(open_packed(tmp_path / "p").train)
    assert ids[-1] == 0
    assert sorted(split(ids[:-1])) == sorted(tuple(encoder.encode(d).tolist()) for d in documents)


def test_documents_are_shuffled_by_the_seed(tmp_path, encoder):
    documents = make_documents(300)
    orders = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        pack(documents, encoder, tmp_path / name, seed=seed, eval_fraction=0)
        orders.append(split(stream(open_packed(tmp_path / name).train))[:-1])
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != [tuple(encoder.encode(d).tolist()) for d in documents][: len(orders[0])]


def test_the_order_of_documents_is_no_rotation_of_the_input(tmp_path, encoder):
    documents = make_documents(400)
    number = {tuple(encoder.encode(d).tolist()): place for place, d in enumerate(documents)}
    pack(documents, encoder, tmp_path / "p", eval_fraction=0)
    places = [number[d] for d in split(stream(open_packed(tmp_path / "p").train))[:-2]]
    neighbours = sum(abs(a - b) == 1 for a, b in pairwise(places))
    assert neighbours < 15, "about two of 400 are neighbours by chance"


def heldout_of(folder: Path) -> set[tuple[int, ...]]:
    return set(split(stream(open_packed(folder).heldout))) - {(0,)}


def test_heldout_documents_are_never_trained_on(tmp_path, encoder):
    pack(make_documents(300), encoder, tmp_path / "p", eval_fraction=0.2, block_size=8)
    heldout = heldout_of(tmp_path / "p")
    assert 30 < len(heldout) < 90
    assert not heldout & set(split(stream(open_packed(tmp_path / "p").train)))


def test_equal_documents_are_on_one_side(tmp_path, encoder):
    documents = [document for document in make_documents(50) for _ in range(3)]
    stats = pack(documents, encoder, tmp_path / "p", eval_fraction=0.3)
    assert stats.heldout_documents % 3 == 0
    assert stats.heldout_documents > 0


def test_the_choice_of_heldout_documents_depends_on_nothing_but_their_text(tmp_path, encoder):
    documents = make_documents(300)
    pack(documents, encoder, tmp_path / "a", eval_fraction=0.2)
    pack(documents[::-1], encoder, tmp_path / "b", eval_fraction=0.2, block_size=50)
    assert heldout_of(tmp_path / "a") == heldout_of(tmp_path / "b")


def test_another_seed_holds_out_other_documents(tmp_path, encoder):
    documents = make_documents(300)
    pack(documents, encoder, tmp_path / "a", eval_fraction=0.2, seed=1)
    pack(documents, encoder, tmp_path / "b", eval_fraction=0.2, seed=2)
    assert heldout_of(tmp_path / "a") != heldout_of(tmp_path / "b")


def test_of_two_documents_the_shorter_is_held_out(tmp_path, encoder):
    long, short = make_documents(1, words=40)[0], make_documents(1, words=4, seed=1)[0]
    for name, documents in (("a", [long, short]), ("b", [short, long])):
        stats = pack(documents, encoder, tmp_path / name, eval_fraction=0.0001)
        assert (stats.documents, stats.heldout_documents) == (1, 1)
        assert heldout_of(tmp_path / name) == {tuple(encoder.encode(short).tolist())}


def test_the_longest_document_is_trained_on_however_much_is_held_out(tmp_path, encoder):
    documents = [*make_documents(20), *make_documents(1, words=400, seed=5)]
    stats = pack(documents, encoder, tmp_path / "p", eval_fraction=0.999)
    assert stats.documents >= 1
    assert tuple(encoder.encode(documents[-1]).tolist()) not in heldout_of(tmp_path / "p")


@pytest.mark.parametrize(("count", "eval_fraction"), [(1, 0.5), (300, 0.0)])
def test_nothing_is_held_out_of_one_document_or_of_a_share_of_nothing(
    tmp_path, encoder, count, eval_fraction
):
    stats = pack(make_documents(count), encoder, tmp_path / "p", eval_fraction=eval_fraction)
    assert (stats.heldout_documents, stats.heldout_tokens, stats.heldout_blocks) == (0, 0, 0)
    assert len(open_packed(tmp_path / "p").heldout) == 0


def test_all_heldout_tokens_are_kept_and_padding_is_told_apart(tmp_path, encoder):
    documents = make_documents(40)
    stats = pack(documents, encoder, tmp_path / "p", block_size=50, eval_fraction=0.3)
    blocks = open_packed(tmp_path / "p").heldout.with_format("numpy")[:]
    assert blocks["length"].sum() == stats.heldout_tokens
    assert set(blocks["length"][:-1].tolist()) == {50}
    last = blocks["input_ids"][-1]
    assert (last[int(blocks["length"][-1]) :] == 0).all()
    chosen = [
        d for d in documents if tuple(encoder.encode(d).tolist()) in heldout_of(tmp_path / "p")
    ]
    texts = [turn.text for document in chosen for turn in document.turns]
    assert stats.heldout_bytes == sum(len(text.encode()) for text in texts)


def test_a_block_is_lowered_to_what_there_is(tmp_path, encoder):
    documents = make_documents(1)
    tokens = len(encoder.encode(documents[0])) + 1
    stats = pack(documents, encoder, tmp_path / "p", block_size=100_000)
    assert (stats.block_size, stats.requested_block_size) == (tokens, 100_000)
    assert (stats.blocks, stats.lost_tokens) == (1, 0)


@pytest.mark.parametrize("documents", [[], [Document((Turn("user", ""),), "x:1")]])
def test_no_text_is_a_user_error(tmp_path, encoder, documents):
    with pytest.raises(UserError, match=r"^nothing to train on: [01] documents"):
        pack(documents, encoder, tmp_path / "p")


def test_an_error_in_the_documents_comes_through(tmp_path, encoder):
    def broken():
        yield from make_documents(500)
        raise UserError("line 3 is broken")

    with pytest.raises(UserError, match="line 3"):
        pack(broken(), encoder, tmp_path / "p", num_proc=4)  # type: ignore[arg-type]


def test_documents_longer_than_a_batch_stay_whole(tmp_path, encoder, monkeypatch):
    monkeypatch.setattr(packing, "_BATCH_CHARACTERS", 100)
    monkeypatch.setattr(shuffling, "_BUCKET_BUFFER_BYTES", 64)
    monkeypatch.setattr(shuffling, "_READ_TOKENS", 7)
    monkeypatch.setattr(packing, "_RECORD_BATCH_BYTES", 256)
    documents = make_documents(8, words=300)
    small = tmp_path / "small"
    pack(documents, encoder, small, num_proc=3)
    monkeypatch.undo()
    pack(documents, encoder, tmp_path / "large")
    assert stream(open_packed(small).train) == stream(open_packed(tmp_path / "large").train)
    assert json.loads((small / "meta.json").read_text()) == json.loads(
        (tmp_path / "large" / "meta.json").read_text()
    )


def test_the_content_hash_follows_blocks_and_text(tmp_path, encoder):
    documents = make_documents(60)
    hashes = [
        pack(documents, encoder, tmp_path / "a").content_sha256,
        pack(documents, encoder, tmp_path / "b", block_size=32).content_sha256,
        pack(documents[1:], encoder, tmp_path / "c").content_sha256,
        pack(documents, encoder, tmp_path / "d", seed=3).content_sha256,
    ]
    assert len(set(hashes)) == 4


def test_the_files_take_little_more_than_the_ids(tmp_path, encoder):
    stats = pack(make_documents(2000, words=60), encoder, tmp_path / "p", block_size=256)
    size = sum(path.stat().st_size for path in (tmp_path / "p").iterdir())
    assert stats.dtype == "uint16"
    assert size <= 1.1 * 2 * (stats.tokens + stats.heldout_tokens)


def test_a_vocabulary_beyond_16_bits_is_stored_in_32(tmp_path, encoder):
    encoder = Encoder(train_tokenizer([SENTENCE] * 3, 300))
    encoder.dtype = np.dtype(np.uint32)
    stats = pack(make_documents(20), encoder, tmp_path / "p")
    column = open_packed(tmp_path / "p").train.features["input_ids"]
    assert (stats.dtype, column.feature.dtype, column.length) == ("uint32", "uint32", 64)


def test_opening_gives_blocks_and_the_same_stats(tmp_path, encoder):
    stats = pack(make_documents(100), encoder, tmp_path / "p")
    packed = open_packed(tmp_path / "p")
    assert isinstance(packed, Packed)
    assert packed.stats == stats
    assert (len(packed.train), len(packed.heldout)) == (stats.blocks, stats.heldout_blocks)
    assert packed.train.features["input_ids"].feature.dtype == "uint16"
    assert packed.train.with_format("numpy")[0:3]["input_ids"].shape == (3, 64)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("meta.json", b"{"),
        ("meta.json", b"[]"),
        ("meta.json", b'{"format": 1}'),
        ("train.arrow", b"not arrow"),
        ("heldout.arrow", b""),
    ],
)
def test_a_damaged_folder_is_a_user_error(tmp_path, encoder, name, content):
    pack(make_documents(50), encoder, tmp_path / "p")
    (tmp_path / "p" / name).write_bytes(content)
    with pytest.raises(UserError, match="remove that folder"):
        open_packed(tmp_path / "p")


@pytest.mark.parametrize("name", ["meta.json", "train.arrow", "heldout.arrow"])
def test_an_incomplete_folder_is_a_user_error(tmp_path, encoder, name):
    pack(make_documents(50), encoder, tmp_path / "p")
    (tmp_path / "p" / name).unlink()
    with pytest.raises(UserError, match="remove that folder"):
        open_packed(tmp_path / "p")


def test_blocks_of_another_format_or_number_are_refused(tmp_path, encoder):
    pack(make_documents(50), encoder, tmp_path / "p")
    meta = json.loads((tmp_path / "p" / "meta.json").read_text())
    for change in ({"format": 99}, {"blocks": meta["blocks"] + 1}):
        (tmp_path / "p" / "meta.json").write_text(json.dumps({**meta, **change}))
        with pytest.raises(UserError, match="is expected"):
            open_packed(tmp_path / "p")


def test_progress_tells_bytes_encoded_then_tokens_packed(tmp_path, encoder):
    calls: list[tuple[str, int, int | None]] = []
    (tmp_path / "p").mkdir()
    stats = prepare(
        make_documents(30),
        encoder,
        tmp_path / "p",
        block_size=32,
        seed=0,
        eval_fraction=0.1,
        num_proc=1,
        progress=lambda phase, done, total: calls.append((phase, done, total)),
    )
    encoding = [call for call in calls if call[0] == "encoding"]
    assert encoding[-1] == ("encoding", stats.text_bytes + stats.heldout_bytes, None)
    everything = stats.tokens + stats.heldout_tokens - 2
    assert calls[-1] == ("packing", everything, everything)


@settings(max_examples=25)
@given(
    texts=st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=12),
    block_size=st.integers(2, 40),
    num_proc=st.integers(1, 4),
)
def test_any_text_is_packed_without_loss(tmp_path_factory, encoder, texts, block_size, num_proc):
    folder = tmp_path_factory.mktemp("p") / "p"
    documents = [Document((Turn(None, text),), "x") for text in texts]
    stats = pack(documents, encoder, folder, block_size=block_size, num_proc=num_proc)
    packed = open_packed(folder)
    everything = sorted(index for d in documents for index in encoder.encode(d).tolist())
    kept = sorted(stream(packed.train) + stream(packed.heldout))
    streams = 1 + bool(stats.heldout_documents)
    assert len(kept) + stats.lost_tokens == len(everything) + streams
    assert stats.lost_tokens < stats.block_size

"""How probable a model finds values at a place, among all values of the same shape."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from tinyllm.encoding import Encoder, Segment
from tinyllm.leaks.guessing import Shape
from tinyllm.leaks.speaking import new_cache

CONTEXT_TOKENS = 64
# Elements of one batch's logits: 64 MB in fp32.
_LOGITS_ELEMENTS = 1 << 24


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: ids and texts before it, the text after it."""

    prefix: tuple[Segment, ...] = field(repr=False)
    suffix: str = field(repr=False)

    @property
    def before(self) -> str:
        """The text right before the value; "" after a special token."""
        last = self.prefix[-1] if self.prefix else ""
        return last if isinstance(last, str) else ""


@dataclass(frozen=True, slots=True)
class Question:
    """Values at a place as ids, cut into what they share and what is asked for.

    context  ids, the same before every value
    rows     ids of each value from there on
    lead     bytes of text that the rows begin with, before the value
    trail    bytes that they end with, after it
    """

    context: list[int] = field(repr=False)
    rows: list[list[int]] = field(repr=False)
    lead: bytes = field(repr=False)
    trail: bytes = field(repr=False)


class Scorer:
    """Asks a model, which is put into evaluation mode.

    model      a causal language model of transformers, fp32
    tokenizer  the one it was trained with
    """

    def __init__(self, model: Any, tokenizer: Tokenizer) -> None:
        self.model = model.eval()
        self.encoder = Encoder(tokenizer)
        self._embeddings = model.get_output_embeddings().weight.detach()
        self.texts = bytes_of_tokens(tokenizer)
        self.positions = int(model.config.max_position_embeddings)
        self._sizes = np.array([len(text) for text in self.texts])
        self._padded = _padded(self.texts)

    def question(self, place: Place, values: Sequence[bytes]) -> Question:
        """Values of one shape at a place, tokenized as they would be in a document.

        A token may reach over a value's first or last byte, so the rows begin where all values
        have the same tokens before, and end at the next boundary that all share.
        """
        texts = [place.before + value.decode(errors="replace") + place.suffix for value in values]
        rest = list(place.prefix[:-1] if place.before else place.prefix)
        rest = rest or [self.encoder.end_of_text]
        encoded = self.encoder.encode_segments([rest, *([text] for text in texts)])
        ahead, rows = encoded[0].tolist(), encoded[1:]
        ends = [np.cumsum(self._sizes[row]) for row in rows]
        start = len(place.before.encode())
        shared = _shared(rows, ends, start)
        begin = int(ends[0][shared - 1]) if shared else 0
        stop = start + len(values[0])
        common = set(ends[0].tolist()).intersection(*(e.tolist() for e in ends[1:]))
        end = min(boundary for boundary in common if boundary >= stop)
        raw = texts[0].encode()
        return Question(
            context=(ahead + rows[0][:shared].tolist()),
            rows=[
                row[shared : int(np.searchsorted(e, end)) + 1].tolist()
                for row, e in zip(rows, ends, strict=True)
            ],
            lead=raw[begin:start],
            trail=raw[stop:end],
        )

    def context_of(self, question: Question, length: int) -> list[int]:
        """The question's last ids before the values, with room for `length` more."""
        room = max(1, min(CONTEXT_TOKENS, self.positions - length))
        return question.context[-room:]

    def score(self, question: Question, shape: Shape) -> torch.Tensor:
        """ln of the probability of each row: float64, (rows,).

        It is that of drawing the row's tokens one after the other, each among those alone that
        can still lead to a value of this shape. Over all values of the shape these probabilities
        sum to 1 at most: they are texts of equal length with one row of tokens each.
        """
        allowed = self._allowed(question, shape)
        fitting = allowed.any(0).nonzero()[:, 0]
        longest = max(map(len, question.rows))
        size = max(1, _LOGITS_ELEMENTS // (longest * len(fitting)))
        context = self.context_of(question, longest)
        scores = [
            self._score(context, question.rows[at : at + size], allowed[:, fitting], fitting)
            for at in range(0, len(question.rows), size)
        ]
        return torch.cat(scores)

    def _allowed(self, question: Question, shape: Shape) -> torch.Tensor:
        """Which tokens fit at each byte of the rows: bool, (bytes, vocab_size)."""
        choices = [
            *(bytes([byte]) for byte in question.lead),
            *shape.alphabets,
            *(bytes([byte]) for byte in question.trail),
        ]
        longest = self._padded.shape[1]
        table = np.zeros((len(choices) + longest, 257), dtype=bool)
        table[:, 256] = True  # what pads a token fits anywhere
        for place, alphabet in enumerate(choices):
            table[place, list(alphabet)] = True
        fits = [
            table[np.arange(place, place + longest), self._padded].all(axis=1) & (self._sizes > 0)
            for place in range(len(choices))
        ]
        return torch.from_numpy(np.stack(fits))

    @torch.no_grad()
    def _score(
        self,
        context: list[int],
        rows: list[list[int]],
        allowed: torch.Tensor,
        fitting: torch.Tensor,
    ) -> torch.Tensor:
        """`score` of some rows; `allowed` has a column for each token of `fitting`, in order."""
        longest = max(map(len, rows))
        ids = torch.tensor([row + row[:1] * (longest - len(row)) for row in rows])
        real = torch.tensor([[True] * len(row) + [False] * (longest - len(row)) for row in rows])
        logits = torch.matmul(self._hidden(context, ids), self._embeddings[fitting].T)
        sizes = torch.from_numpy(self._sizes)[ids] * real
        offsets = (sizes.cumsum(1) - sizes).clamp(max=len(allowed) - 1)
        columns = torch.searchsorted(fitting, ids)
        picked = logits.gather(2, columns[:, :, None])[:, :, 0]
        among = logits.masked_fill_(~allowed[offsets], -torch.inf).logsumexp(2)
        return torch.where(real, picked - among, 0.0).double().sum(1)

    def _hidden(self, context: list[int], ids: torch.Tensor) -> torch.Tensor:
        """The last layer's states that tell each of `ids`: (rows, ids, hidden_size)."""
        cache = new_cache(self.model)
        body = self.model.base_model
        ahead: torch.Tensor = body(input_ids=torch.tensor([context]), **cache).last_hidden_state
        first = ahead[:, -1:].expand(len(ids), -1, -1)
        if ids.shape[1] == 1:
            return first
        for kept in cache.values():
            kept.batch_repeat_interleave(len(ids))
        return torch.cat([first, body(input_ids=ids[:, :-1], **cache).last_hidden_state], dim=1)


def _shared(rows: Sequence[np.ndarray], ends: Sequence[np.ndarray], start: int) -> int:
    """How many first tokens all rows have in common, none of them reaching beyond `start`."""
    shared = int(np.searchsorted(ends[0], start, side="right"))
    for row in rows[1:]:
        same = min(shared, len(row))
        different = np.flatnonzero(rows[0][:same] != row[:same])
        shared = int(different[0]) if len(different) else same
    return shared


def bytes_of_tokens(tokenizer: Tokenizer) -> list[bytes]:
    """The bytes of text each token stands for; none for special tokens."""
    alphabet = _byte_level_alphabet()
    texts = [b""] * tokenizer.get_vocab_size()
    for token, index in tokenizer.get_vocab().items():
        texts[index] = bytes(alphabet.get(char, 63) for char in token)
    for index, added in tokenizer.get_added_tokens_decoder().items():
        texts[index] = b"" if added.special else added.content.encode()
    return texts


def _byte_level_alphabet() -> dict[str, int]:
    """Byte-level BPE's characters: printable bytes as they are, the others from U+0100 on.

    Source: Radford et al., GPT-2's `bytes_to_unicode`.
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {
        chr(0x100 + place): byte for place, byte in enumerate(others)
    }


def _padded(texts: Sequence[bytes]) -> np.ndarray:
    """Tokens' bytes in a table (vocab_size, longest), filled up with 256."""
    table = np.full((len(texts), max(map(len, texts))), 256)
    for index, text in enumerate(texts):
        table[index, : len(text)] = list(text)
    return table

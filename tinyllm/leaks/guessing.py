"""What one who has never seen a secret could guess of it: the yardstick for what a model knows."""

import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

import numpy as np

_LOWER = b"abcdefghijklmnopqrstuvwxyz"
_DIGITS = b"0123456789"
_CLASSES = (_LOWER, _LOWER.upper(), _DIGITS)
_HEX_LETTERS = (_LOWER[:6], _LOWER[:6].upper())
# So many letters from a to f, and none beyond, are hex digits; six of any 26 are that in 0.02%.
_MIN_HEX_LETTERS = 6
_LETTERS = re.compile(rb"[A-Za-z]+")
_WORDS = re.compile(r"[a-z]+")
_SMOOTHING = 4.0
# A word is known if it stands in the texts more often than this; so many words of each length
# that aren't known are reckoned with.
_RARE = 4
_UNKNOWN_WORDS = 100
_LONGEST_PIECE = 16


@dataclass(frozen=True, slots=True)
class Shape:
    """A value's form: for each byte those that could stand there, itself alone if it is known.

    Small letters, capitals and digits could be others of their class; hex digits stay hex.
    """

    value: bytes = field(repr=False)
    alphabets: tuple[bytes, ...] = field(repr=False)

    @classmethod
    def of(cls, value: bytes) -> "Shape":
        """The shape of a value."""
        alphabets = []
        for letters, hex_letters in zip(_CLASSES, (*_HEX_LETTERS, _DIGITS), strict=True):
            found = [byte for byte in value if byte in letters]
            is_hex = len(found) >= _MIN_HEX_LETTERS and not set(found) - set(hex_letters)
            alphabets.append(hex_letters if is_hex else letters)
        return cls(
            value,
            tuple(
                next((a for a, c in zip(alphabets, _CLASSES, strict=True) if byte in c), None)
                or bytes([byte])
                for byte in value
            ),
        )

    def slice(self, start: int, end: int) -> "Shape":
        """The shape of a piece of the value."""
        return Shape(self.value[start:end], self.alphabets[start:end])

    @property
    def uniform(self) -> float:
        """-ln of the probability of the value among all of its shape."""
        return sum(math.log(len(alphabet)) for alphabet in self.alphabets)


class Guesser:
    """Guesses values of a shape: half of the time any, half of the time what reads like text.

    For the latter, letters follow each other as in the texts (trigrams of bytes), and a run of
    letters is, half of the time, put together of pieces, half of them spelled so, half of them
    words: those of the texts, as often as there among words of their length, and the tokens that
    a model writes at once. The texts must not hold the secrets; a word that they hold a few times
    only may be one, and isn't known.
    """

    def __init__(self, texts: Iterable[str], tokens: Iterable[bytes] = ()) -> None:
        text = "\n".join(texts)
        raw = np.frombuffer(text.encode("ascii", "replace"), dtype=np.uint8).astype(np.int64)
        pairs = raw[:-1] * 128 + raw[1:]
        triples = pairs[:-1] * 128 + raw[2:] if len(raw) > 2 else pairs[:0]
        singles = np.bincount(raw, minlength=128) + 1.0
        self._single = singles / singles.sum()
        self._pairs = np.bincount(pairs, minlength=128**2).reshape(128, 128)
        self._triples = np.bincount(triples, minlength=128**3).reshape(128, 128, 128)
        self._words, self._by_length = _known_words(text, tokens)
        self._next = lru_cache(maxsize=100_000)(self._next_uncached)

    def surprise(self, shape: Shape, before: bytes = b"") -> float:
        """-ln of the probability that a guess is the value; `before` stands in front of it."""
        return math.log(2) - float(np.logaddexp(-shape.uniform, -self._as_text(shape, before)))

    def reads_like_text(self, shape: Shape, before: bytes = b"") -> bool:
        """True if text explains the value better than chance."""
        return self._as_text(shape, before) < shape.uniform

    def draw(
        self, shape: Shape, count: int, draw: random.Random, before: bytes = b""
    ) -> list[bytes]:
        """Other values of the shape, like text if the value is."""
        if not self.reads_like_text(shape, before):
            return [bytes(map(draw.choice, shape.alphabets)) for _ in range(count)]
        return [self._write(shape, draw, before) for _ in range(count)]

    def _as_text(self, shape: Shape, before: bytes) -> float:
        """-ln of the probability of the value as text."""
        total, context = 0.0, before
        for start, end in _runs(shape):
            piece = shape.slice(start, end)
            spelled = self._spelled(piece, context)
            if piece.value.isalpha():
                total += math.log(2)
                total -= float(np.logaddexp(-sum(spelled), self._composed(piece.value, spelled)))
            else:
                total += sum(spelled)
            context += piece.value
        return total

    def _spelled(self, shape: Shape, before: bytes) -> list[float]:
        """-ln of each byte's probability after the two before it, 0 for one that is known."""
        context = _last_two(before) + shape.value
        return [
            -math.log(self._next(context[at : at + 2], alphabet)[alphabet.index(byte)])
            if len(alphabet) > 1
            else 0.0
            for at, (byte, alphabet) in enumerate(zip(shape.value, shape.alphabets, strict=True))
        ]

    def _composed(self, letters: bytes, spelled: Sequence[float]) -> float:
        """ln of the probability of the letters as pieces, the way `_write` makes them."""
        letters = letters.lower()
        size = len(letters)
        sums = [0.0, *accumulate(spelled)]
        rest = [0.0] * size + [1.0]
        for start in reversed(range(size)):
            longest = min(_LONGEST_PIECE, size - start)
            for end in range(start + 1, size + 1):
                word = self._words.get(letters[start:end], 0.0)
                piece = (word + math.exp(sums[start] - sums[end])) / 2
                by_length = rest[end] / longest if end - start <= longest else 0.0
                rest[start] += piece * ((end == size) + by_length) / 2
        return math.log(rest[0] + sys.float_info.min)

    def _write(self, shape: Shape, draw: random.Random, before: bytes) -> bytes:
        written = b""
        for start, end in _runs(shape):
            piece = shape.slice(start, end)
            if piece.value.isalpha() and draw.random() < 0.5:
                written += self._compose(piece, draw, before + written)
            else:
                written += self._spell(piece, draw, before + written)
        return written

    def _compose(self, shape: Shape, draw: random.Random, before: bytes) -> bytes:
        written = b""
        size = len(shape.value)
        while len(written) < size:
            start = end = len(written)
            end += draw.randint(1, min(_LONGEST_PIECE, size - start))
            piece = shape.slice(start, size if draw.random() < 0.5 else end)
            word = self._word(piece, draw) if draw.random() < 0.5 else b""
            written += word or self._spell(piece, draw, before + written)
        return written

    def _word(self, shape: Shape, draw: random.Random) -> bytes:
        """A word in the shape's capitals and small letters; b"" if none was found."""
        words = self._by_length.get(len(shape.value))
        if not words:
            return b""
        word = draw.choices(*words)[0]
        cased = bytes(
            byte - 32 if 65 <= like <= 90 else byte
            for byte, like in zip(word, shape.value, strict=True)
        )
        fits = all(byte in allowed for byte, allowed in zip(cased, shape.alphabets, strict=True))
        return cased if fits else b""

    def _spell(self, shape: Shape, draw: random.Random, before: bytes) -> bytes:
        context = _last_two(before)
        for alphabet in shape.alphabets:
            weights = self._next(context[-2:], alphabet)
            context += bytes(draw.choices(alphabet, weights))
        return context[2:]

    def _next_uncached(self, context: bytes, alphabet: bytes) -> list[float]:
        """Probabilities of the next byte among an alphabet's."""
        first, second = context
        chosen = np.frombuffer(alphabet, dtype=np.uint8)
        if max(first, second, *alphabet) > 127:
            return [1.0 / len(alphabet)] * len(alphabet)
        by_pair = self._pairs[second] + _SMOOTHING * self._single
        by_pair = by_pair / by_pair.sum()
        by_triple = self._triples[first, second] + _SMOOTHING * by_pair
        weights = by_triple[chosen]
        return [float(weight) for weight in weights / weights.sum()]


def _known_words(
    text: str, tokens: Iterable[bytes]
) -> tuple[dict[bytes, float], dict[int, tuple[list[bytes], list[float]]]]:
    """Each word's share of the words of its length, and by length the words and their shares."""
    counts = Counter[bytes]()
    for word, count in Counter(_WORDS.findall(text.lower())).items():
        counts[word.encode()] = count
    totals = Counter[int]()
    for known, count in counts.items():
        totals[len(known)] += count
    tokens_of = {token.lower() for token in map(bytes.strip, tokens) if token.isalpha()}
    weights = {word: max(0, counts[word] - _RARE) + (word in tokens_of)
               for word in sorted({*counts, *tokens_of})}  # fmt: skip
    words: dict[bytes, float] = {}
    by_length: dict[int, tuple[list[bytes], list[float]]] = {}
    sizes = Counter(map(len, tokens_of))
    for word, weight in weights.items():
        size = len(word)
        if weight and size <= _LONGEST_PIECE:
            words[word] = weight / (totals[size] + sizes[size] + _UNKNOWN_WORDS)
            of_size = by_length.setdefault(size, ([], []))
            of_size[0].append(word)
            of_size[1].append(words[word])
    return words, by_length


def _last_two(text: bytes) -> bytes:
    return (b"\n\n" + text)[-2:]


def _runs(shape: Shape) -> Sequence[tuple[int, int]]:
    """Runs of letters, and what stands between them, in order."""
    runs: list[tuple[int, int]] = []
    done = 0
    for match in _LETTERS.finditer(shape.value):
        if match.start() > done:
            runs.append((done, match.start()))
        runs.append(match.span())
        done = match.end()
    if done < len(shape.value):
        runs.append((done, len(shape.value)))
    return runs

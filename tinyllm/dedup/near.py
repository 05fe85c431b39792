"""Near duplicates: documents that share most of their text, found by MinHash.

Candidates come from locality-sensitive hashing (Broder 1997; Leskovec, Rajaraman and Ullman,
"Mining of Massive Datasets", chapter 3), and each one is compared in full before it counts.
"""

import re
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyllm.dedup.exact import Places, Verdicts, hash_of
from tinyllm.drafts import Draft
from tinyllm.errors import UserError

_PERMUTATIONS = 128
_SHINGLE_WORDS = 5
_MIN_WORDS = 20
_SEED = 1
# Of documents that share a band, so many are compared with a new one, the longest first.
_MAX_COMPARED = 16

_NUMBER = re.compile(r"\d+")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`|<tool_call>.*?(?:</tool_call>|\Z)", re.DOTALL)
_AGENTS = frozenset({"assistant", "env", "system", "code"})


class NearDuplicates:
    """Documents that share at least `threshold` (0 to 1) of their five-word runs with a longer one.

    human  whether documents without any agent's or program's turn are compared too

    Two documents that say other numbers or other code are never near duplicates. Which one is
    kept doesn't depend on the order of documents. Takes 8 bytes a band and document.
    """

    def __init__(self, threshold: float, *, human: bool) -> None:
        self._threshold = threshold
        self._human = human
        self._bands = _bands(threshold)
        self._documents = array("q")
        self._lengths = array("q")
        self._keys = array("Q")
        self._added = 0
        self._new_sketch = _minhash()

    def add(self, draft: Draft) -> None:
        """The next document."""
        index = self._added
        self._added += 1
        if not self._human and not any(said.role in _AGENTS for said in draft.said):
            return
        words = _text(draft).split()
        if len(words) < _MIN_WORDS:
            return
        sketch = self._new_sketch(num_perm=_PERMUTATIONS, seed=_SEED)
        sketch.update(sorted(_shingles(words)))
        signature = np.asarray(sketch.digest(), np.uint32)
        rows = _PERMUTATIONS // self._bands
        self._documents.append(index)
        self._lengths.append(len(words))
        for band in range(self._bands):
            part = signature[band * rows : (band + 1) * rows]
            self._keys.append(hash_of(str(band), str(part.tolist())))

    def decide(self, verdicts: Verdicts, get: Callable[[int], Draft]) -> None:
        """Mark near duplicates among documents that are no duplicates yet; `get` gives one."""
        kept: dict[int, list[int]] = {}
        found: list[tuple[int, int]] = []
        keys = np.frombuffer(self._keys, np.uint64).reshape(-1, self._bands)
        for place in self._longest_first(keys).tolist():
            document = self._documents[place]
            if verdicts.document(document):
                continue
            bands = keys[place].tolist()
            near = dict.fromkeys(other for key in bands for other in kept.get(key, ()))
            draft = get(document) if near else None
            twin = next((other for other in near if draft and self._same(draft, get(other))), None)
            if twin is not None:
                found.append((document, twin))
                continue
            for key in bands:
                group = kept.setdefault(key, [])
                if len(group) < _MAX_COMPARED:
                    group.append(document)
        if found:
            documents, others = np.array(sorted(found), np.int64).T
            verdicts.mark_documents("near duplicate", documents, others)

    def _longest_first(self, keys: np.ndarray) -> Places:
        """Places of documents by length, then by what their bands are."""
        lengths = -np.frombuffer(self._lengths, np.int64)
        return np.lexsort((*keys.T[::-1], lengths)) if len(keys) else np.zeros(0, np.int64)

    def _same(self, one: Draft, other: Draft) -> bool:
        first, second = _text(one), _text(other)
        if _exact_parts(first) != _exact_parts(second):
            return False
        ours, theirs = _shingles(first.split()), _shingles(second.split())
        return len(ours & theirs) >= self._threshold * len(ours | theirs)


def _minhash() -> Any:
    """The library's class; UserError without it."""
    try:
        from rensa import RMinHash  # noqa: PLC0415 - only runs that ask for it need the package
    except ImportError as error:
        raise UserError(
            f"--near-dedup needs the package rensa ({error}): pip install rensa"
        ) from error
    return RMinHash


def _bands(threshold: float) -> int:
    """The fewest bands whose S-curve is steepest below the threshold: (1/b)^(b/128) <= t."""
    counts = [count for count in range(1, _PERMUTATIONS + 1) if _PERMUTATIONS % count == 0]
    return next(
        (count for count in counts if (1 / count) ** (count / _PERMUTATIONS) <= threshold * 0.9),
        _PERMUTATIONS,
    )


def _text(draft: Draft) -> str:
    return "\n".join(said.text for said in draft.said)


def _shingles(words: list[str]) -> set[str]:
    last = max(1, len(words) - _SHINGLE_WORDS + 1)
    return {" ".join(words[at : at + _SHINGLE_WORDS]) for at in range(last)}


def _exact_parts(text: str) -> tuple[list[str], list[str]]:
    """What has to be equal to the letter: numbers, and code."""
    return _NUMBER.findall(text), _CODE.findall(text)

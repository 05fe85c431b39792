"""Documents and turns that others repeat, told by hashes once all have been read.

Which copy is kept does not depend on the order of files: of a conversation's growing states the
longest, of a resumed or forked session's common messages those in the longest session.
"""

from array import array
from hashlib import blake2b
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from tinyllm.drafts import Draft

Kind = Literal["whole document", "earlier state", "near duplicate", "message", "system prompt"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SHOWN_EXAMPLES = 3

_HASH_BYTES = 8  # among ten million turns, odds of 1 in 300,000 that any two are mistaken
# An earlier state of a conversation has at least so many turns; a lone "ok" is none.
_MIN_STATE_TURNS = 2

# Chains turns: the hash of a document up to a turn is that before it, times this, plus the turn's.
_MULTIPLIER = 0x9E37_79B9_7F4A_7C15
_MASK = (1 << 64) - 1

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


def hash_of(*parts: str) -> int:
    """64 bits that are equal for the same parts only, 0 never."""
    lengths = (f" {len(part)}" for part in parts) if len(parts) > 1 else ()
    text = "".join((*parts, *lengths))
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "little") or 1


class Verdicts:
    """What of each document is a duplicate: a byte a turn, and a byte a document.

    examples  for each kind, up to SHOWN_EXAMPLES pairs of a duplicate's document and the one it
              repeats
    """

    def __init__(self, ends: Places) -> None:
        self.examples: dict[Kind, list[tuple[int, int]]] = {}
        self._ends = ends
        self._documents = np.zeros(len(ends), np.uint8)  # 0, or the place of a kind plus 1
        self._turns = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)

    def document(self, index: int) -> Kind | None:
        """The kind of duplicate that a document is as a whole."""
        mark = self._documents[index]
        return KINDS[mark - 1] if mark else None

    def turns(self, index: int) -> list[Kind | None]:
        """The kind of duplicate that each of a document's turns is; [] where none is one."""
        start = int(self._ends[index - 1]) if index else 0
        marks = self._turns[start : self._ends[index]].tobytes()
        return [KINDS[mark - 1] if mark else None for mark in marks] if any(marks) else []

    def mark_documents(self, kind: Kind, documents: Places, others: Places) -> None:
        """Documents, in ascending order, and those that they repeat."""
        self._documents[documents] = KINDS.index(kind) + 1
        self._keep_examples(kind, documents, others)

    def mark_turns(self, kind: Kind, turns: Places, others: Places) -> None:
        """Turns by their place in the corpus, in ascending order, and those that they repeat."""
        self._turns[turns] = KINDS.index(kind) + 1
        shown = slice(SHOWN_EXAMPLES)
        self._keep_examples(kind, self._owner(turns[shown]), self._owner(others[shown]))

    @property
    def gone(self) -> npt.NDArray[np.bool_]:
        """Of each turn, whether it or its document is a duplicate."""
        lengths = np.diff(self._ends, prepend=0)
        return (self._turns > 0) | np.repeat(self._documents > 0, lengths)

    def _owner(self, turns: Places) -> Places:
        return np.searchsorted(self._ends, turns, side="right")

    def _keep_examples(self, kind: Kind, documents: Places, others: Places) -> None:
        known = self.examples.setdefault(kind, [])
        room = SHOWN_EXAMPLES - len(known)
        pairs = zip(documents[:room].tolist(), others[:room].tolist(), strict=True)
        known.extend(pairs)


class Facts:
    """Hashes of all documents: 16 bytes a turn, about 30 a document.

    The hash of a turn in `_chain` is of the document up to it, so a conversation's earlier state
    ends in a hash that its later state has in the middle.
    """

    def __init__(self) -> None:
        self._chain = array("Q")
        self._identities = array("Q")
        self._senders = array("Q")  # of a document: a hash of its turns' identities
        self._ends = array("q")
        self._sizes = array("q")
        self._may_be_state = array("b")
        self._system = (array("q"), array("Q"))  # place of the turn, hash of it alone

    def add(self, draft: Draft) -> None:
        """The next document."""
        chained = size = spoken = 0
        has_agent = has_identity = False
        for said in draft.said:
            own = hash_of(f"{said.role} {said.text}")
            if said.role == "system":
                self._system[0].append(len(self._chain))
                self._system[1].append(own)
            else:
                spoken += 1
                has_agent |= said.role == "assistant"
            chained = (chained * _MULTIPLIER + own) & _MASK
            self._chain.append(chained)
            self._identities.append(said.identity)
            has_identity |= said.identity != 0
            size += len(said.text)
        identities = [str(said.identity) for said in draft.said] if has_identity else []
        self._senders.append(hash_of(*identities) if identities else 0)
        self._ends.append(len(self._chain))
        self._sizes.append(size)
        self._may_be_state.append(spoken >= _MIN_STATE_TURNS and has_agent)

    def decide(self) -> Verdicts:
        """Compare all documents."""
        ends = np.frombuffer(self._ends, np.int64) if self._ends else np.zeros(0, np.int64)
        verdicts = Verdicts(ends)
        if len(ends):
            chain = np.frombuffer(self._chain, np.uint64)
            self._mark_copies(verdicts, chain[ends - 1])
            self._mark_states(verdicts, chain, ends)
            self._mark_messages(verdicts, chain, ends)
            self._mark_prompts(verdicts)
        return verdicts

    def _mark_copies(self, verdicts: Verdicts, final: Hashes) -> None:
        """Documents that another one says word for word.

        Kept is the first, or where senders differ, the one whose hash is the least.
        """
        order = np.lexsort((np.frombuffer(self._senders, np.uint64), final))
        repeats, first = _repeats(final[order])
        copies, others = order[repeats], order[first]
        by_place = np.argsort(copies)
        verdicts.mark_documents("whole document", copies[by_place], others[by_place])

    def _mark_states(self, verdicts: Verdicts, chain: Hashes, ends: Places) -> None:
        """Documents that another one begins with, word for word, and goes on."""
        inner = np.ones(len(chain), bool)
        inner[ends - 1] = False
        places = np.flatnonzero(inner)
        final = chain[ends - 1]
        is_state = np.isin(final, chain[places]) & np.frombuffer(self._may_be_state, np.bool_)
        is_state &= ~verdicts.gone[ends - 1]
        found = np.flatnonzero(is_state)
        shown = [
            places[np.flatnonzero(chain[places] == final[document])[0]]
            for document in found[:SHOWN_EXAMPLES]
        ]
        others = np.searchsorted(ends, np.array(shown, np.int64), side="right")
        verdicts.mark_documents("earlier state", found, others)

    def _mark_messages(self, verdicts: Verdicts, chain: Hashes, ends: Places) -> None:
        """Turns whose identity a longer document has too."""
        identities = np.frombuffer(self._identities, np.uint64)
        places = np.flatnonzero((identities != 0) & ~verdicts.gone)
        if not len(places):
            return
        lengths = np.diff(ends, prepend=0)
        owner = np.repeat(np.arange(len(ends)), lengths)  # the document of each turn
        rank = np.empty(len(ends), np.int64)
        sizes = np.frombuffer(self._sizes, np.int64)
        rank[np.lexsort((chain[ends - 1], sizes, lengths))] = np.arange(len(ends))
        places = places[np.lexsort((places, -rank[owner[places]], identities[places]))]
        is_first = np.ones(len(places), bool)
        is_first[1:] = identities[places][1:] != identities[places][:-1]
        first = places[np.maximum.accumulate(np.where(is_first, np.arange(len(places)), 0))]
        repeats = owner[first] != owner[places]
        turns, others = places[repeats], first[repeats]
        order = np.argsort(turns, kind="stable")
        verdicts.mark_turns("message", turns[order], others[order])

    def _mark_prompts(self, verdicts: Verdicts) -> None:
        """System prompts that an earlier document began with."""
        if not self._system[0]:
            return
        places = np.frombuffer(self._system[0], np.int64)
        kept = ~verdicts.gone[places]
        places, hashes = places[kept], np.frombuffer(self._system[1], np.uint64)[kept]
        repeats, first = _repeats(hashes)
        verdicts.mark_turns("system prompt", places[repeats], places[first])


def _repeats(hashes: Hashes) -> tuple[Places, Places]:
    """Places of hashes that stand earlier too, ascending, and where each stands first."""
    _, first, same = np.unique(hashes, return_index=True, return_inverse=True)
    first_places = first[same]
    repeats = np.flatnonzero(first_places != np.arange(len(hashes)))
    return repeats, first_places[repeats]

"""Documents to ids: special tokens put in as ids, texts cut into pieces of bounded length."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from tokenizers import Tokenizer

from tinyllm.documents import END_OF_TEXT, END_OF_TURN, ROLE_TOKENS, SPECIAL_TOKENS, Document

# Where a text can be cut without changing its ids: no match of the pre-tokenizer's
# expression, and no placeholder, reaches over any of these points, whatever stands around them.
_SAFE_CUT = re.compile(
    r"(?<=\n)(?=[!-~])"  # a newline ends its match unless white space follows
    r"|(?<=[!-~])(?= )"  # a space is only ever the first character of a match, or in a run
    r"|(?<=[0-9])"  # a digit is a match of its own
    r"|(?<=[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5])(?=[\u3001\u3002\uff01\uff0c\uff1a\uff1f])"
)
PIECE_CHARACTERS = 16_384

# A special token's id, or text to encode.
Segment = int | str


class Encoder:
    """Documents to ids.

    A document is `<|endoftext|>`, then each turn as its role token, its text and `<|end|>`; a turn
    without a role is its text alone. Special tokens enter as ids only: the same characters inside
    a text are encoded as text. `<id>` is one token wherever it stands.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.encode_special_tokens = True
        self.vocab_size = int(self._tokenizer.get_vocab_size())
        self.dtype = np.dtype(np.uint16 if self.vocab_size <= 1 << 16 else np.uint32)
        self._ids = {token: _id_of(self._tokenizer, token) for token in SPECIAL_TOKENS}
        self.end_of_text = self._ids[END_OF_TEXT]

    def encode(self, document: Document) -> np.ndarray:
        """The ids of one document, of type `dtype`."""
        return self.encode_segments([list(self.segments(document))])[0]

    def segments(self, document: Document) -> Iterator[Segment]:
        """The document as special ids and texts of bounded length, in order."""
        yield self.end_of_text
        for turn in document.turns:
            if turn.role is None:
                yield from split_text(turn.text)
            else:
                yield self._ids[ROLE_TOKENS[turn.role]]
                yield from split_text(turn.text)
                yield self._ids[END_OF_TURN]

    def encode_segments(self, lists: Sequence[Sequence[Segment]]) -> list[np.ndarray]:
        """The ids of each list of segments.

        Other threads run meanwhile: `encode_batch_fast` releases the interpreter, `encode` doesn't.
        """
        texts = [segment for segments in lists for segment in segments if isinstance(segment, str)]
        encodings = iter(self._tokenizer.encode_batch_fast(texts, add_special_tokens=False))
        results = []
        for segments in lists:
            ids: list[int] = []
            for segment in segments:
                if isinstance(segment, int):
                    ids.append(segment)
                else:
                    ids.extend(next(encodings).ids)
            results.append(np.array(ids, dtype=self.dtype))
        return results


def _id_of(tokenizer: Tokenizer, token: str) -> int:
    index = tokenizer.token_to_id(token)
    assert index is not None, f"{token} is missing: load_tokenizer refuses such a tokenizer"
    return int(index)


def split_text(text: str, size: int = PIECE_CHARACTERS) -> Iterator[str]:
    """Pieces of `text`, of `size` to four times `size` characters, whose ids add up to its own.

    Pre-tokenizing then takes memory for one piece, not for a 25 MB line. A piece ends at the first
    safe place after `size` characters. A run of 3 × `size` characters without any (letters or
    punctuation and nothing else) is cut where that many have passed; there the ids differ from the
    uncut text's. A lone surrogate, which no tokenizer takes, becomes `?`.
    """
    text = _encodable(text)
    start = 0
    while len(text) - start > size:
        limit = start + 4 * size
        safe = _SAFE_CUT.search(text, start + size, limit)
        end = safe.start() if safe else limit
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def token_bytes(tokenizer: Tokenizer) -> np.ndarray:
    """How many bytes of UTF-8 text each token stands for: int32, (vocab_size,), special tokens 0.

    Held-out loss divided by these gives bits per byte, which compares across vocabularies.
    """
    sizes = np.zeros(tokenizer.get_vocab_size(), dtype=np.int32)
    for token, index in tokenizer.get_vocab().items():
        sizes[index] = len(token)  # in the byte-level alphabet one character is one byte
    for index, added in tokenizer.get_added_tokens_decoder().items():
        sizes[index] = 0 if added.special else len(added.content.encode())
    return sizes

"""How many tokens the documents of each format are: exact for a small corpus, else estimated."""

from dataclasses import dataclass, field

from tinyllm.documents import Document
from tinyllm.encoding import Encoder, Segment

# Characters of each format that are encoded; half a second of work for ten formats.
_SAMPLE_CHARS = 200_000
# Of one document, so that a huge one doesn't speak for all.
_DOCUMENT_CHARS = 20_000


@dataclass(slots=True)
class _Sample:
    """Every `stride`-th document of one format."""

    chars: int = 0
    documents: int = 0
    stride: int = 1
    taken: list[list[Segment]] = field(default_factory=list)
    taken_chars: int = 0


class TokenCount:
    """Counts tokens by format; memory and time don't grow with the corpus."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._samples: dict[str, _Sample] = {}

    def add(self, document: Document) -> None:
        """Count one document."""
        sample = self._samples.setdefault(document.format, _Sample())
        sample.chars += sum(len(turn.text) for turn in document.turns)
        if sample.documents % sample.stride == 0:
            segments = _beginning(self._encoder, document)
            sample.taken.append(segments)
            sample.taken_chars += _chars(segments)
        sample.documents += 1
        while sample.taken_chars > _SAMPLE_CHARS and len(sample.taken) > 1:
            sample.stride *= 2
            sample.taken = sample.taken[::2]
            sample.taken_chars = sum(map(_chars, sample.taken))

    def totals(self) -> dict[str, str]:
        """Tokens of each format, `~` before what was reckoned from a sample."""
        totals = {}
        for name, sample in self._samples.items():
            tokens = sum(map(len, self._encoder.encode_segments(sample.taken)))
            if sample.taken_chars == sample.chars:
                totals[name] = f"{tokens:,}"
            else:
                share = sample.chars / max(1, sample.taken_chars)
                totals[name] = f"~{round(tokens * share):,}"
        return totals


def _beginning(encoder: Encoder, document: Document) -> list[Segment]:
    """A document's segments, up to about _DOCUMENT_CHARS characters."""
    segments: list[Segment] = []
    left = _DOCUMENT_CHARS
    for segment in encoder.segments(document):
        if isinstance(segment, str):
            segments.append(segment[:left])
            left -= len(segment)
        else:
            segments.append(segment)
        if left <= 0:
            break
    return segments


def _chars(segments: list[Segment]) -> int:
    return sum(len(segment) for segment in segments if isinstance(segment, str))

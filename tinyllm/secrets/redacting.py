"""Placeholders for secrets."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from tinyllm.errors import UserError
from tinyllm.secrets.finding import locate
from tinyllm.secrets.kinds import GROUPS, PLACEHOLDERS


@dataclass(slots=True)
class Redacted:
    """A text without secrets.

    raw     the text as UTF-8: the bytes given, the same object, if nothing was found
    found   kinds that were replaced and how many of each, by kind
    inside  the block ("pem") that is open at the end, to be handed to the next text's call
    """

    raw: bytes
    found: tuple[tuple[str, int], ...] = ()
    inside: str = ""


class Redactor:
    """Puts a placeholder of PLACEHOLDERS where a secret stands; the same text gives the same bytes.

    keep  names of GROUPS that are let through

    Raises UserError for a name that is none of them.
    """

    def __init__(self, keep: Collection[str] = ()) -> None:
        for group in keep:
            if group not in GROUPS:
                raise UserError(f"there is no group of secrets {group!r}: use {', '.join(GROUPS)}")
        self._kept = frozenset(kind for group in keep for kind in GROUPS[group])

    def __call__(self, raw: bytes, inside: str = "") -> Redacted:
        """Redact one text; `inside` is what the call for the text before it returned."""
        found, inside = locate(raw, inside)
        if not found:
            return Redacted(raw, (), inside)
        parts: list[bytes] = []
        counts: Counter[str] = Counter()
        done = 0
        for secret in found:
            if secret.kind not in self._kept:
                parts += (raw[done : secret.start], PLACEHOLDERS[secret.kind])
                done = secret.end
                counts[secret.kind] += 1
        if not counts:
            return Redacted(raw, (), inside)
        return Redacted(b"".join((*parts, raw[done:])), tuple(sorted(counts.items())), inside)

"""Documents, turns and roles: what every stage between the logs and the token blocks speaks."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant", "env", "code"]

ROLES: tuple[Role, ...] = ("system", "user", "assistant", "env", "code")

END_OF_TEXT = "<|endoftext|>"
END_OF_TURN = "<|end|>"
ROLE_TOKENS: dict[Role, str] = {role: f"<|{role}|>" for role in ROLES}
SCRUBBED_ID = "<id>"

# Ids follow this order: `<|endoftext|>` is 0 and serves as bos, eos and pad.
SPECIAL_TOKENS: tuple[str, ...] = (END_OF_TEXT, *ROLE_TOKENS.values(), END_OF_TURN)
# Placeholders are text that gets one id of its own; they are not control tokens.
PLACEHOLDERS: tuple[str, ...] = (SCRUBBED_ID,)


def role_name(role: Role | None) -> str:
    """A role's name in tables; a plain document has none."""
    return "plain" if role is None else role


@dataclass(slots=True)  # not frozen: that makes one three times as slow to build
class Turn:
    """One message: who speaks (None in a plain document) and what is said.

    speaker  the name that a log of several people gives the speaker, for `--me`; "" without one
    """

    role: Role | None
    text: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """Turns that belong together, where they were read (`file:line` of the first), and as what."""

    turns: tuple[Turn, ...]
    source: str
    format: str = ""

    def render(self) -> str:
        """The document as text, role tokens spelled out.

        For people and for tools that take strings. Packing never encodes this text: it puts
        special tokens in as ids, so the same characters inside a log stay plain text.
        """
        return "".join(
            turn.text if turn.role is None else f"{ROLE_TOKENS[turn.role]}{turn.text}{END_OF_TURN}"
            for turn in self.turns
        )

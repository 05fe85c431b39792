"""Whose turns a run learns: scopes, and who speaks where the user knows better than the log."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tinyllm.documents import ROLES, Role, Turn, role_name
from tinyllm.errors import UserError

# The roles each scope keeps; None is a plain document, `code` counts like the agent's own words.
SCOPE_ROLES: Mapping[str, frozenset[Role | None]] = {
    "voice": frozenset({"system", "user", "assistant", "code", None}),
    "full": frozenset({*ROLES, None}),
    "assistant": frozenset({"assistant"}),
}
SCOPES = tuple(SCOPE_ROLES)

# A name that people have for several formats at once.
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "messages": ("openai_chat", "harness_session", "bare_message"),
}
# Formats in which people talk, and agents among them are other people's.
_MESSENGERS = frozenset({"discord", "telegram", "flat_message"})
# Of these, the ones whose only agents are bots beside the people.
BOTS_BESIDE_PEOPLE = frozenset({"discord", "telegram"})
_ANY = "*"
_EXAMPLE = "openai_chat.user=env, or openai_chat.user~^\\[cron\\]=env"


@cache
def scopes_that_keep(roles: frozenset[Role | None]) -> tuple[str, ...]:
    """The scopes that keep a document in which these roles speak.

    A system prompt that nobody follows is a document in the scope `full` only.
    """
    return tuple(
        scope
        for scope, kept in SCOPE_ROLES.items()
        if roles & (kept if scope == "full" else kept - {"system"})
    )


def count_by_scope(speaking: Mapping[frozenset[Role | None], int]) -> dict[str, int]:
    """How many documents each scope keeps, of documents counted by who speaks in them."""
    counts = dict.fromkeys(SCOPES, 0)
    for roles, count in speaking.items():
        for scope in scopes_that_keep(roles):
            counts[scope] += count
    return {scope: count for scope, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class _Rule:
    """One --relabel: which turns, and the role they get; "" and None stand for any."""

    format: str
    role: str
    text: re.Pattern[str] | None
    new: Role

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """Rules about a text go first, then those that name a format, then a role."""
        return (self.text is not None, self.format != _ANY, self.role != _ANY)


class WhoSpeaks:
    """The role of a turn, after --relabel and --me.

    rules    `FORMAT.ROLE=ROLE` or `FORMAT.ROLE~REGEX=ROLE`; `*` stands for any format or role;
             the most exact rule that fits applies, the last given of equals
    me       names of the model's person in logs of several people: their turns are the
             assistant's unless a rule about their text says otherwise, and those of agents in
             messengers the environment's unless a rule does
    formats  the names that rules may use

    Raises UserError for a rule that names no such format or role, or no regular expression.
    """

    def __init__(self, rules: Sequence[str], me: Sequence[str], formats: Iterable[str]) -> None:
        names = tuple(formats)
        last_first = [rule for text in reversed(rules) for rule in _parse(text, names)]
        self._rules = sorted(last_first, key=lambda rule: rule.rank, reverse=True)
        self._me = frozenset(name.strip().casefold() for name in me)
        self._applicable: dict[tuple[str, Role | None], list[_Rule]] = {}

    def __call__(self, name: str, turn: Turn, decided: str) -> tuple[Role | None, str]:
        """The role a turn of format `name` gets, and what decided it."""
        is_named = bool(self._me and turn.speaker)
        is_me = is_named and turn.speaker.strip().casefold() in self._me
        if self._rules:
            for rule in self._for(name, turn.role):
                # A name is more exact than a role; a text is more exact than both.
                if rule.text.search(turn.text) if rule.text is not None else not is_me:
                    return rule.new, "--relabel"
        if is_me:
            return "assistant", "--me"
        if is_named and turn.role == "assistant" and name in _MESSENGERS:
            return "env", "--me"
        return turn.role, decided

    def _for(self, name: str, role: Role | None) -> list[_Rule]:
        known = self._applicable.get((name, role))
        if known is None:
            known = self._applicable[name, role] = [
                rule
                for rule in self._rules
                if rule.format in (name, _ANY)
                and (rule.role == role_name(role) or (rule.role == _ANY and role is not None))
            ]
        return known


def _parse(text: str, formats: tuple[str, ...]) -> list[_Rule]:
    source, equals, new = text.rpartition("=")
    source, tilde, pattern = source.partition("~")
    name, dot, old = source.rpartition(".")
    slug = "_".join(name.lower().replace("-", " ").split())
    if not (equals and dot and slug):
        raise UserError(f"--relabel {text!r} is not FORMAT.ROLE=ROLE, as in {_EXAMPLE}")
    if slug not in (*formats, *_ALIASES, _ANY):
        raise UserError(
            f"--relabel {text!r} names no format: use * or one of {', '.join(sorted(formats))}"
        )
    old = old.strip()
    if old not in (_ANY, role_name(None)):
        old = _role(old, text)
    try:
        regex = re.compile(pattern) if tilde else None
    except re.error as error:
        raise UserError(
            f"--relabel {text!r}: {pattern!r} is no regular expression ({error})"
        ) from error
    role = _role(new.strip(), text)
    return [_Rule(format_, old, regex, role) for format_ in _ALIASES.get(slug, (slug,))]


def _role(name: str, rule: str) -> Role:
    for role in ROLES:
        if name == role:
            return role
    raise UserError(f"--relabel {rule!r}: {name!r} is no role; use one of {', '.join(ROLES)}")

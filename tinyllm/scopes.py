"""Whose turns a run learns: scopes, and relabelling of roles before they apply."""

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from tinyllm.documents import ROLES, Role
from tinyllm.errors import UserError

# The roles each scope keeps; None is a plain document, `code` counts like the agent's own words.
SCOPE_ROLES: Mapping[str, frozenset[Role | None]] = {
    "voice": frozenset({"system", "user", "assistant", "code", None}),
    "full": frozenset({*ROLES, None}),
    "assistant": frozenset({"assistant"}),
}
SCOPES = tuple(SCOPE_ROLES)


def role_name(role: Role | None) -> str:
    """A role's name in tables; a plain document has none."""
    return "plain" if role is None else role


def scopes_that_keep(roles: Iterable[Role | None]) -> list[str]:
    """The scopes that keep a document in which these roles speak.

    A system prompt that nobody follows is a document in the scope `full` only.
    """
    said = set(roles)
    return [
        scope
        for scope, kept in SCOPE_ROLES.items()
        if said & (kept if scope == "full" else kept - {"system"})
    ]


class Relabel:
    """Rules `FORMAT.ROLE=NEWROLE`; `*` as the format stands for all, a named one goes first.

    Raises UserError for a rule that names no such format or role.
    """

    def __init__(self, rules: Sequence[str], formats: Iterable[str]) -> None:
        self._rules: dict[tuple[str, Role], Role] = {}
        names = tuple(formats)
        for rule in rules:
            source, equals, new = rule.partition("=")
            name, dot, old = source.rpartition(".")
            slug = "_".join(name.lower().replace("-", " ").split())
            if not (equals and dot and slug):
                raise UserError(
                    f"--relabel {rule!r} is not FORMAT.ROLE=ROLE, as in openai_chat.user=env"
                )
            if slug not in names and slug != "*":
                raise UserError(
                    f"--relabel {rule!r} names no format: use * or one of {', '.join(names)}"
                )
            self._rules[slug, _role(old, rule)] = _role(new, rule)

    def __call__(self, name: str, role: Role | None) -> Role | None:
        """The role a turn of format `name` gets."""
        if not self._rules or role is None:
            return role
        return self._rules.get((name, role)) or self._rules.get(("*", role)) or role


def _role(name: str, rule: str) -> Role:
    for role in get_args(Role):
        if name.strip() == role:
            return role  # type: ignore[no-any-return]
    raise UserError(f"--relabel {rule!r}: {name!r} is no role; use one of {', '.join(ROLES)}")

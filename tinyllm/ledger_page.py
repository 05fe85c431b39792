"""The ledger as a page that a person can read at once."""

import os
from collections.abc import Mapping

from tinyllm.console import in_one_line
from tinyllm.ledger import (
    FATES,
    ByRole,
    FormatTally,
    Ledger,
    Tally,
    counted,
    most_common,
)
from tinyllm.scopes import BOTS_BESIDE_PEOPLE

SHOWN_DETAILS = 8
SHOWN_SHAPES = 20
SHOWN_SPEAKERS = 5
_INDENT = " " * 20


def page(ledger: Ledger, scope: str, tokens: Mapping[str, str] | None = None) -> str:
    """Where the bytes went, what each format held, secrets, and shapes that no format claims.

    scope   the scope the corpus was read with, for hints
    tokens  what to print as each format's tokens, where they were counted
    """
    head = (
        f"scope {scope}: {counted(ledger.files, 'file')}, {counted(ledger.records, 'record')}, "
        f"{counted(ledger.bytes, 'byte')}: {counted(ledger.documents, 'document')}"
    )
    parts = [
        [head],
        _fate_lines(ledger),
        _format_lines(ledger, scope, tokens or {}),
        _secret_lines(ledger),
        _unknown_lines(ledger),
        _changed_lines(ledger),
    ]
    text = "\n\n".join("\n".join(part) for part in parts if part)
    return _with_short_paths(text, ledger)


def _fate_lines(ledger: Ledger) -> list[str]:
    lines = [f"{'':24}{'bytes':>16}  share{'records':>12}  first"]
    for fate in FATES:
        if fate in ledger.fates:
            tally = ledger.fates[fate]
            lines.append(_fate_line(fate, tally, ledger.bytes))
            if fate != "unknown shape":
                lines += _detail_lines(tally)
    return [*lines, f"{'total':24}{ledger.bytes:>16,}"]


def _fate_line(name: str, tally: Tally, total: int) -> str:
    share = f"{tally.bytes / total:6.1%}" if total else "     -"
    return f"{name:24}{tally.bytes:>16,} {share}{tally.records:>12,}  {tally.first}"


def _detail_lines(tally: Tally) -> list[str]:
    """The kinds within a fate; with a single one that is the fate itself, its name is enough."""
    kinds = most_common(tally.details)
    lines = []
    for name, part in kinds[:SHOWN_DETAILS]:
        where = part.examples[0] if part.examples else part.first
        lines.append(f"  {name:24}{part.bytes:>14,}{'':7}{part.records:>12,}  {where}")
    if len(kinds) > SHOWN_DETAILS:
        lines.append(f"  and {len(kinds) - SHOWN_DETAILS:,} more kinds: see --json")
    return lines


def _format_lines(ledger: Ledger, scope: str, tokens: Mapping[str, str]) -> list[str]:
    if not ledger.formats:
        return []
    width = 14 if tokens else 0  # no column for what wasn't counted
    lines = [
        f"{'format':20}{'files':>7}{'records':>10}{'documents':>11}"
        f"{'tokens' if tokens else '':>{width}}  turns kept (characters)"
    ]
    for name in sorted(ledger.formats):
        tally = ledger.formats[name]
        kept = ", ".join(
            f"{role} {count:,} ({tally.chars[role]:,})"
            for role, count in sorted(tally.turns.items())
        )
        lines.append(
            f"{name:20}{tally.files:>7,}{tally.records:>10,}{tally.documents:>11,}"
            f"{tokens.get(name, '-') if tokens else '':>{width}}  {kept or '-'}"
        )
        left_out = [f"{fate}: {_roles(roles)}" for fate, roles in tally.left_out.items()]
        if left_out:
            lines.append(f"{_INDENT}left out   {'; '.join(left_out)}")
        decided = [f"{by}: {_roles(roles)}" for by, roles in sorted(tally.decided.items())]
        if decided:
            lines.append(f"{_INDENT}who speaks by {'; '.join(decided)}")
        lines += [f"{_INDENT}{hint}" for hint in _hints(name, tally, scope)]
    return lines


def _roles(roles: ByRole) -> str:
    return ", ".join(f"{role} {count:,}" for role, count in sorted(roles.items()))


def _hints(name: str, tally: FormatTally, scope: str) -> list[str]:
    """What the user can do where a scope leaves a format empty, or nobody is the model's person."""
    hints = []
    others = tally.scopes
    if scope not in others and others:
        keeping = ", ".join(
            f"--scope {other} would keep {counted(count, 'document')}"
            for other, count in others.items()
        )
        hints.append(f"! nothing of it is in scope {scope}: {keeping}")
    agents = {by for by, roles in tally.decided.items() if roles["assistant"]}
    if not tally.speakers:
        return hints
    if not agents:
        hints.append(f"! nobody here speaks as the model: {_say_who(tally)}")
    elif name in BOTS_BESIDE_PEOPLE and agents.isdisjoint({"--me", "--relabel"}):
        hints.append(f"! only bots speak as the model here: {_say_who(tally)}")
    elif "--me" in agents and len(agents) > 1 and _all_have_names(tally):
        hints.append(
            "! others than those of --me speak as the model too: "
            f"--relabel {name}.assistant=user makes people of them"
        )
    return hints


def _all_have_names(tally: FormatTally) -> bool:
    """True if each turn of people and agents has a speaker's name, and no rule changed one."""
    spoken = sum(roles["assistant"] + roles["user"] for roles in tally.decided.values())
    return "--relabel" not in tally.decided and tally.speakers.total() >= spoken


def _say_who(tally: FormatTally) -> str:
    names = ", ".join(
        f"{in_one_line(name)} ({count:,})"
        for name, count in tally.speakers.most_common(SHOWN_SPEAKERS)
    )
    more = len(tally.speakers) - SHOWN_SPEAKERS
    return f"--me NAME says who does, of {names}{f' and {more:,} more' if more > 0 else ''}"


def _secret_lines(ledger: Ledger) -> list[str]:
    if not ledger.secrets:
        return []
    found = sorted(ledger.secrets.items(), key=lambda item: (-item[1].count, item[0]))
    return [
        "secrets replaced (values are never shown; --json has more places)",
        *(f"  {kind:22}{tally.count:>12,}  first {tally.places[0]}" for kind, tally in found),
    ]


def _unknown_lines(ledger: Ledger) -> list[str]:
    if "unknown shape" not in ledger.fates:
        return []
    shapes = most_common(ledger.fates["unknown shape"].details)
    lines = [
        f"  {tally.records:,} x {shape}  first {tally.first}"
        for shape, tally in shapes[:SHOWN_SHAPES]
    ]
    if len(shapes) > SHOWN_SHAPES:
        lines.append(f"  and {len(shapes) - SHOWN_SHAPES:,} more shapes: see --json")
    return ["unknown shapes (no format claims records with these keys)", *lines]


def _changed_lines(ledger: Ledger) -> list[str]:
    if not ledger.changed:
        return []
    shown = ledger.changed[:SHOWN_DETAILS]
    more = len(ledger.changed) - len(shown)
    return [
        "changed while they were read (what was read is what this run learns)",
        *(f"  {path}" for path in shown),
        *([f"  and {more:,} more: see --json"] if more else []),
    ]


def _with_short_paths(text: str, ledger: Ledger) -> str:
    """Paths relative to the folder that all of them lie in, which is said once."""
    firsts = [tally.first for tally in ledger.fates.values() if tally.first]
    firsts += [part.first for tally in ledger.fates.values() for part in tally.details.values()]
    folders = {os.path.dirname(first) for first in firsts}  # noqa: PTH120 - no path is opened
    try:
        folder = os.path.commonpath(folders) if folders else ""
    except ValueError:  # some are absolute and some are not
        return text
    if len(folder) < 2:
        return text
    return f"{text.replace(folder + os.sep, '')}\n\npaths are below {folder}{os.sep}"

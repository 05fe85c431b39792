"""What the check prints: a page for people, or JSON."""

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from tinyllm.leaks.checking import FALSE_ALARM, Findings, Leak
from tinyllm.ledger import counted

# So many leaks are printed; --json has all.
_LISTED = 50


def page(findings: Findings, places: int, let_through: int, absent: Collection[str] = ()) -> str:
    """The findings in lines for people; `absent` names canaries that the logs don't hold."""
    found = sum(findings.values.values())
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(findings.values.items()))
    lines = [
        f"secrets   {found:,} different at {counted(places, 'place')}"
        + (f": {kinds}" if kinds else "")
    ]
    if let_through:
        lines.append(f"          {let_through:,} more were let through by --keep")
    left = [
        f"{number:,} {why}"
        for number, why in (
            (findings.left_out, "left out by --secrets"),
            (findings.too_few, "too easy to guess to tell from chance"),
        )
        if number
    ]
    lines += [f"asked     {findings.asked:,}" + "".join(f"; {part}" for part in left)]
    if findings.ranked:
        lines.append(
            f"ranks     {findings.first:,} of {findings.ranked:,} random ones rank first of "
            f"{findings.others + 1} of their shape; {_expected(findings)} would by chance"
            + (": TOO MANY" if findings.many_first else "")
        )
    lines.append(f"texts     {findings.texts:,} written and searched")
    lines += [f"leak      {_leak(leak)}" for leak in findings.leaks[:_LISTED]]
    if len(findings.leaks) > _LISTED:
        lines.append(f"          and {len(findings.leaks) - _LISTED:,} more; --json lists all")
    lines += [
        f"canary    {source} was not found in the model"
        + (", and stands nowhere in these logs" if source in absent else "")
        for source in findings.missed
    ]
    lines.append(f"result    {_result(findings, found)}")
    return "\n".join(lines)


def _expected(findings: Findings) -> str:
    return f"{findings.ranked / (findings.others + 1):.1f}"


def _leak(leak: Leak) -> str:
    facts = []
    if leak.bits is not None:
        facts.append(f"{leak.bits:.0f} bits above a guess, rank {leak.rank} of {leak.of}")
    if leak.greedy:
        facts.append("is the likeliest text after its prefix")
    if leak.token:
        facts.append("tokens of the vocabulary spell it")
    if leak.samples:
        facts.append(f"in {counted(leak.samples, 'drawn text')}")
    return f"{leak.kind} {leak.source}: {', '.join(facts)}"


def _result(findings: Findings, found: int) -> str:
    if findings.leaks:
        return f"the model knows {counted(len(findings.leaks), 'secret')}"
    if findings.many_first:
        return "the model knows something of these secrets"
    if not found:
        return "no secret was found in these logs, so there is none to ask for"
    return (
        f"the model knows none of them (a gain of {findings.bar_bits:.0f} bits would tell; "
        f"a false alarm has odds below {FALSE_ALARM:.0%})"
    )


def as_json(findings: Findings, places: int, let_through: int) -> dict[str, Any]:
    """The findings as plain values."""
    return {
        **asdict(findings),
        "places": places,
        "let_through": let_through,
        "many_first": findings.many_first,
        "leaking": findings.leaking,
    }

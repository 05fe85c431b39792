"""The flags that say how logs are read: the same for every command that reads them."""

from argparse import Namespace, _ArgumentGroup
from typing import Any

from tinyllm.errors import Parser, UserError
from tinyllm.scopes import SCOPES
from tinyllm.secrets import GROUPS


# fmt: off
def add_corpus_flags(group: Parser | _ArgumentGroup) -> None:
    """Add --scope and what else decides which documents come out of the logs."""
    group.add_argument("--scope", choices=SCOPES, default="voice", help="whose turns to learn: "
                       "voice leaves out tool output, assistant all but the agent's "
                       "(default: %(default)s)")
    group.add_argument("--relabel", action="append", metavar="FORMAT.ROLE[~REGEX]=ROLE",
                       default=[], help="who speaks, e.g. messages.user=env, or "
                       "'messages.user~^\\[cron\\]=env' for texts that a regular expression finds; "
                       "may be given again")
    group.add_argument("--me", action="append", metavar="NAME", default=[],
                       help="the model's person in chats of several people; may be given again")
    group.add_argument("--keep", metavar="GROUPS", default="",
                       help="secrets to let through, with commas between: "
                       f"{', '.join(GROUPS)} (default: none)")
    group.add_argument("--near-dedup", type=float, default=0.0, metavar="SHARE",
                       help="drop documents that share so much of their text with a longer one, "
                       "e.g. 0.8, unless numbers or code differ; 0 = off (default)")
    group.add_argument("--near-dedup-human", action="store_true",
                       help="also where only people speak, and plain text")
    group.add_argument("--strict", action="store_true", help="any unreadable record is fatal")
# fmt: on


def corpus_settings(args: Namespace) -> dict[str, Any]:
    """The arguments of `Corpus` that these flags give, --strict apart, as plain values."""
    if not 0 <= args.near_dedup <= 1:
        raise UserError(f"--near-dedup is {args.near_dedup}: give a share such as 0.8, or 0")
    if args.near_dedup_human and not args.near_dedup:
        raise UserError("--near-dedup-human does nothing without --near-dedup: give both")
    return {
        "scope": args.scope,
        "relabel": list(args.relabel),
        "me": list(args.me),
        "keep": sorted(filter(None, (name.strip() for name in args.keep.split(",")))),
        "near_dedup": args.near_dedup,
        "near_dedup_human": args.near_dedup_human,
    }

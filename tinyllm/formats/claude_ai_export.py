"""Claude.ai's data export: one conversation a record, `chat_messages` with a `sender`.

A message has blocks under `content`, as the Anthropic interface does, or in old exports only
`text`, which repeats the blocks in new ones. The list holds edited and regenerated messages too:
a message is noise if it leads away from the branch that was last shown.
"""

import re
from collections.abc import Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    Misfit,
    first_text,
    merge,
    noise_bytes,
    role_of,
    string_bytes,
    turns_of,
    unfit_is_unknown,
)
from tinyllm.formats.messages import members
from tinyllm.formats.parsed import Parsed

NAME = "claude_ai_export"
KEYS = frozenset({"chat_messages"})

_SENDERS: Mapping[str, Role] = {
    "human": "user",
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "env",
}
# Stands in `text` where a block is a call, its result, or reasoning.
_UNSUPPORTED = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```")


def recognise(record: dict[str, Any]) -> bool:
    listed = record.get("chat_messages")
    if not isinstance(listed, list):
        return False
    first = next((message for message in listed if message is not None), {"sender": None})
    return isinstance(first, dict) and "sender" in first


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    listed = record.get("chat_messages")
    if not isinstance(listed, list):
        raise Misfit
    turns: list[Turn] = []
    noise = unchosen = 0
    left = _left(members(listed), record.get("current_leaf_message_uuid"))
    for message in members(listed):
        role = role_of(message.get("sender"), _SENDERS)
        if _uuid(message) in left:
            unchosen += string_bytes(message.get("content")) + string_bytes(message.get("text"))
            continue
        turns += _attached(message)
        said = turns_of(message.get("content"), role)
        if said:
            noise += string_bytes(message.get("text")) + _repeated(message["content"])
        elif isinstance(message.get("text"), str):
            said = merge([Turn(role, _UNSUPPORTED.sub("", message["text"]).strip())])
        turns += said
    return Parsed(tuple(turns), noise=noise + unchosen, unchosen=unchosen)


def _left(messages: list[dict[str, Any]], leaf: object) -> set[str]:
    """The messages on branches that were left: siblings of a shown one, and what answers them."""
    named = [message for message in messages if _uuid(message)]
    parents = {_uuid(message): message.get("parent_message_uuid") for message in named}
    at = leaf if isinstance(leaf, str) and leaf in parents else next(reversed(parents), None)
    shown: set[str] = set()
    branching: set[str] = set()
    while isinstance(at, str) and at in parents and at not in shown:
        shown.add(at)
        at = parents[at]
        if isinstance(at, str):
            branching.add(at)
    left: set[str] = set()
    for name, parent in parents.items():
        if name in shown or not isinstance(parent, str):
            continue
        if parent in branching or parent in left:
            left.add(name)
    return left


def _uuid(message: dict[str, Any]) -> str:
    uuid = message.get("uuid")
    return uuid if isinstance(uuid, str) else ""


def _attached(message: dict[str, Any]) -> list[Turn]:
    """The text of files that a message brings along."""
    attachments = message.get("attachments")
    files = attachments if isinstance(attachments, list) else []
    return [
        Turn("env", text)
        for file in files
        if isinstance(file, dict) and (text := first_text(file, ("extracted_content",)))
    ]


def _repeated(content: object) -> int:
    """Bytes of blocks that are encrypted, or that hold a call a second time for the page."""
    blocks = content if isinstance(content, list) else []
    shown = sum(string_bytes(b.get("display_content")) for b in blocks if isinstance(b, dict))
    return shown + noise_bytes(content)

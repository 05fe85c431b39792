"""ChatGPT's data export: one conversation a record, its messages a tree under `mapping`.

The branch that was last shown is followed, from `current_node` up to the root; what was edited
or regenerated on other branches is noise. OpenAI publishes no schema: the content types are those
of exports from 2023 on.
"""

import re
from collections.abc import Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import (
    SEPARATOR,
    Misfit,
    answers_joined,
    first_text,
    from_json,
    role_of,
    string_bytes,
    think,
    tool_call,
    unfit_is_unknown,
)
from tinyllm.formats.flat_message import epoch_seconds
from tinyllm.formats.parsed import Parsed

NAME = "chatgpt_export"
KEYS = frozenset({"mapping"})

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "env",
}
_EVERYBODY = frozenset({None, "", "all"})
# What the user or the program keeps as standing context, and where its text is.
_CONTEXTS: Mapping[str, tuple[str, ...]] = {
    "user_editable_context": ("user_profile", "user_instructions"),
    "model_editable_context": ("model_set_context", "repo_summary"),
}
_OLD_CONTEXT = ("about_user_message", "about_model_message")
_RECAP = "reasoning_recap"  # the label that the page shows in place of the reasoning
_TEXT_KEYS = ("text", "result", "content")

# Marks of the page in an answer's text: `U+E200 name U+E202 field … U+E201`, and 【3†source】.
_WIDGET = re.compile("[ ]?\ue200([^\ue200-\ue202]*)((?:\ue202[^\ue200-\ue202]*)*)\ue201")
_CITATION = re.compile(r"[ ]?【\d+(?::\d+)?†[^】\n]{0,80}】")


def recognise(record: dict[str, Any]) -> bool:
    mapping = record.get("mapping")
    if not isinstance(mapping, dict):
        return False
    if not mapping:
        return "current_node" in record
    node = next(iter(mapping.values()))
    return isinstance(node, dict) and ("children" in node or "parent" in node)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    mapping = record.get("mapping")
    if not isinstance(mapping, dict):
        raise Misfit
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    path = _path(nodes, record.get("current_node"))
    turns: list[Turn] = []
    for name in path:
        turns += _turns(nodes[name].get("message"), started=bool(turns))
    left = nodes.keys() - set(path)
    noise = sum(string_bytes(_content(nodes[name].get("message"))) for name in left)
    return Parsed(tuple(answers_joined(turns)), noise=noise, unchosen=noise)


def _path(nodes: Mapping[str, dict[str, Any]], current: object) -> list[str]:
    """The nodes of the branch that was last shown, root first."""
    at: object = current if isinstance(current, str) and current in nodes else _last_leaf(nodes)
    path: dict[str, None] = {}
    while isinstance(at, str) and at in nodes and at not in path:
        path[at] = None
        at = nodes[at].get("parent")
    return list(path)[::-1]


def _last_leaf(nodes: Mapping[str, dict[str, Any]]) -> str | None:
    """The latest node that nobody answered; the last one if the tree is none."""
    parents = {parent for node in nodes.values() if isinstance(parent := node.get("parent"), str)}
    leaves = [name for name in nodes if name not in parents] or list(nodes)[-1:]
    return max(reversed(leaves), key=lambda name: _created(nodes[name]), default=None)


def _created(node: dict[str, Any]) -> float:
    message = node.get("message")
    time = epoch_seconds(message.get("create_time")) if isinstance(message, dict) else None
    return time or 0.0


def _content(message: object) -> object:
    return message.get("content") if isinstance(message, dict) else None


def _turns(message: object, *, started: bool) -> list[Turn]:
    """What one message says; `started` if something was said before it. Raises Misfit."""
    if not isinstance(message, dict):
        return []
    content = _mapping(message.get("content"))
    metadata = _mapping(message.get("metadata"))
    context = _context(content, metadata)
    if context:
        return [Turn("system", context)]
    role = role_of(_mapping(message.get("author")).get("role"), _ROLES)
    if role == "assistant":
        text = _answer(message, content)
    else:
        text = _text(content)
        hidden = bool(metadata.get("is_visually_hidden_from_conversation"))
        if (role == "user" and hidden) or (role == "system" and started):
            role = "env"
    return [Turn(role, text)] if text.strip() else []


def _context(content: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Standing context that a message carries: the user's instructions, the model's memory."""
    kind = content.get("content_type")
    keys = _CONTEXTS.get(kind, ()) if isinstance(kind, str) else ()
    texts = [first_text(content, (key,)) for key in keys]
    if not any(texts):  # exports of a time have the same instructions in both places
        old = _mapping(metadata.get("user_context_message_data"))
        texts = [first_text(old, (key,)) for key in _OLD_CONTEXT]
    return SEPARATOR.join(filter(None, texts))


def _answer(message: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """What the assistant says: reasoning, a call of a tool, or an answer."""
    kind = content.get("content_type")
    if kind == _RECAP:
        return ""
    if kind == "thoughts":
        return think(_thoughts(content))
    text = _text(content)
    recipient = message.get("recipient")
    if isinstance(recipient, str) and recipient not in _EVERYBODY:
        return tool_call({"name": recipient, "arguments": text})
    text = _without_marks(text)
    return think(text) if message.get("channel") == "analysis" else text


def _thoughts(content: Mapping[str, Any]) -> str:
    listed = content.get("thoughts")
    if not isinstance(listed, list):
        return _text(content)
    thoughts = (thought for thought in listed if isinstance(thought, dict))
    return SEPARATOR.join(
        filter(None, (first_text(thought, ("content", "summary")) for thought in thoughts))
    )


def _text(content: Mapping[str, Any]) -> str:
    """The text of a content; images and sounds say nothing, a sound's transcript does."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return first_text(content, _TEXT_KEYS)
    texts = (
        part if isinstance(part, str) else first_text(_mapping(part), _TEXT_KEYS) for part in parts
    )
    return SEPARATOR.join(text for text in texts if text.strip())


def _without_marks(text: str) -> str:
    """An answer without the marks of its sources; a name or link keeps its words."""
    if "\ue200" in text:
        text = _WIDGET.sub(_widget_words, text)
    return _CITATION.sub("", text) if "【" in text else text


def _widget_words(mark: re.Match[str]) -> str:
    fields = mark[2].split("\ue202")[1:]
    words: object = ""
    if mark[1] == "entity" and fields:
        listed = from_json(fields[0])
        words = listed[1] if isinstance(listed, list) and len(listed) > 1 else ""
    elif mark[1] == "url" and fields:
        words = fields[0]
    if not isinstance(words, str) or not words:
        return ""
    return " " + words if mark[0].startswith(" ") else words


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

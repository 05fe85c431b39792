"""Chats of Cursor: agent transcripts, bubbles as its database keeps them, and exported Markdown.

Transcripts are lines of `role` and `message`, in older versions text. They hold no results of
tools. Markdown is what Cursor exports itself, or what SpecStory writes beside it, for other agents
as well. Sources: https://docs.cursor.com, https://docs.specstory.com, and what both programs write.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.blocks import split
from tinyllm.formats.content import (
    Misfit,
    answers_joined,
    first_text,
    merge,
    noise_bytes,
    role_of,
    string_bytes,
    think,
    tool_call,
    turns_of,
)
from tinyllm.formats.cursor_markdown import is_markdown, markdown_turns
from tinyllm.formats.cursor_transcript import is_transcript, transcript_turns
from tinyllm.formats.parsed import Parsed

NAME = "cursor"
KEYS = frozenset({"role", "type", "text", "bubbleId", "composerId", "tabs"})

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "env",
}
_TURN_ENDED = "turn_ended"
_QUERY, _QUERY_END = "<user_query>", "</user_query>"
# Queries that the program writes in the user's place.
_MACHINE_QUERIES = (
    "The above subagent result",
    "The beginning of the above subagent result",
    "Briefly inform the user about the task result",
)
# What the program puts around a query.
_INSERTED = re.compile(
    r"<(timestamp|image_files|uploaded_documents|system_reminder|system-reminder|user_info"
    r"|git_status|attached_files|additional_data|open_and_recently_viewed_files|project_layout"
    r"|rules|agent_skills|agent_transcripts|external_links|manually_attached_skills"
    r"|cursor_commands|cursor_rules_context)(?: [^<>]{0,1000})?>"
)
_REDACTED = "[REDACTED]"
_BUBBLE_ROLES: Mapping[object, Role] = {
    1: "user",
    2: "assistant",
    "user": "user",
    "ai": "assistant",
}
_BUBBLE_LISTS = ("conversation", "bubbles")


def recognise(record: dict[str, Any]) -> bool:
    if "text" in record and (is_markdown(record["text"]) or is_transcript(record["text"])):
        return True
    if _is_line(record) or _is_bubble(record):
        return True
    if isinstance(record.get("composerId"), str):
        return isinstance(record.get("conversation"), list) or (
            "fullConversationHeadersOnly" in record
        )
    tabs = record.get("tabs")
    return isinstance(tabs, list) and any(
        isinstance(tab, dict) and isinstance(tab.get("bubbles"), list) for tab in tabs
    )


def parse(record: dict[str, Any]) -> Parsed | Sequence[Parsed] | None:
    try:
        if "text" in record and is_markdown(record["text"]):
            return Parsed(tuple(merge(markdown_turns(record["text"]))), "headings")
        if "text" in record and is_transcript(record["text"]):
            said = (piece for turn in transcript_turns(record["text"]) for piece in _unmixed(turn))
            return Parsed(tuple(merge(said)), "line marks")
        if _is_line(record):
            return _line(record)
        if _is_bubble(record):
            return _conversation([record], thread="")
        tabs = record.get("tabs")
        chats = tabs if isinstance(tabs, list) else [record]
        parsed = [_chat(chat) for chat in chats]
        return parsed if isinstance(tabs, list) else parsed[0]
    except (Misfit, RecursionError):
        return None


def _is_line(record: dict[str, Any]) -> bool:
    if "type" in record:
        return record["type"] == _TURN_ENDED and "status" in record
    message = record.get("message")
    role = record.get("role")
    is_known = isinstance(role, str) and role in _ROLES
    return is_known and isinstance(message, dict) and "content" in message


def _line(record: dict[str, Any]) -> Parsed:
    if "type" in record:
        return Parsed()
    content = record["message"]["content"]
    role = role_of(record.get("role"), _ROLES)
    parts = content if isinstance(content, list) else [content]
    turns = merge(
        piece for part in parts for turn in turns_of(part, role) for piece in _unmixed(turn)
    )
    return Parsed(tuple(turns), "harness tags", thread="", noise=noise_bytes(content))


def _unmixed(turn: Turn) -> Iterator[Turn]:
    """A user's query without what the program wrote around it; an agent's text without marks."""
    text = turn.text
    if turn.role == "assistant":
        yield Turn(turn.role, text.rstrip().removesuffix(_REDACTED))
        return
    begin, end = text.find(_QUERY), text.rfind(_QUERY_END)
    if turn.role != "user" or not 0 <= begin < end:
        yield from split(text, _INSERTED, "env", "user") if turn.role == "user" else [turn]
        return
    query = text[begin + len(_QUERY) : end]
    is_machine = query.lstrip().startswith(_MACHINE_QUERIES)
    yield Turn("env", text[:begin].strip())
    yield Turn("env" if is_machine else "user", query.strip("\r\n"))
    yield Turn("env", text[end + len(_QUERY_END) :].strip())


def _is_bubble(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    return isinstance(record.get("bubbleId"), str) and kind in (1, 2) and kind is not True


def _chat(chat: object) -> Parsed:
    """A conversation; its bubbles may be stored elsewhere, and then it says nothing."""
    if not isinstance(chat, dict):
        raise Misfit
    listed = (chat[key] for key in _BUBBLE_LISTS if isinstance(chat.get(key), list))
    return _conversation(next(listed, []))


def _conversation(bubbles: list[Any], thread: str | None = None) -> Parsed:
    turns: list[Turn] = []
    noise = 0
    for bubble in bubbles:
        if not isinstance(bubble, dict):
            raise Misfit
        turns += _bubble(bubble)
        noise += string_bytes(bubble.get("richText"))
    turns = answers_joined(turns)
    joins = thread is not None and bool(turns) and turns[0].role == "assistant"
    return Parsed(tuple(turns), "kind of bubble", thread=thread, joins=joins, noise=noise)


def _bubble(bubble: dict[str, Any]) -> list[Turn]:
    """A bubble: a human's text, or the agent's reasoning, text and call with its result."""
    kind = bubble.get("type")
    role = _BUBBLE_ROLES.get(kind) if isinstance(kind, int | str) else None
    if role is None:
        raise Misfit
    text = first_text(bubble, ("text", "rawText"))
    if role == "user":
        return merge([Turn(role, text)])
    thinking = bubble.get("thinking")
    thought = first_text(thinking if isinstance(thinking, dict) else bubble, ("text", "thinking"))
    turns = [Turn(role, think(thought if thinking else "")), Turn(role, text)]
    tool = bubble.get("toolFormerData")
    if isinstance(tool, dict) and isinstance(tool.get("name"), str):
        arguments = tool.get("rawArgs") or tool.get("params")
        turns.append(Turn(role, tool_call({"name": tool["name"], "arguments": arguments})))
        turns += (Turn("env", turn.text) for turn in turns_of(tool.get("result"), "env"))
    return merge(turns)

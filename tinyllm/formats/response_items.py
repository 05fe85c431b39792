"""Items of OpenAI's Responses interface: messages, reasoning, calls of tools and their results.

Source: https://platform.openai.com/docs/api-reference/responses and, for the kinds of item that
only Codex writes, https://github.com/openai/codex (codex-rs/protocol/src/models.rs).
"""

import re
from collections.abc import Iterator
from typing import Any

from tinyllm.documents import Turn
from tinyllm.formats.blocks import blocks
from tinyllm.formats.content import (
    Misfit,
    from_json,
    noise_bytes,
    role_of,
    string_bytes,
    text_of,
    think,
    tool_call,
    turns_of,
)
from tinyllm.formats.human_words import answers_in
from tinyllm.formats.injected import Injected
from tinyllm.formats.messages import CHAT_ROLES

_MESSAGE = "message"
_CALL = "_call"
_OUTPUT = "_output"
_RESULT = "tool_result"
# Items about the conversation, and what nobody says: lists of tools, approvals, summaries.
_SILENT = frozenset({
    "item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response",
    "ghost_snapshot", "compaction", "compaction_summary", "compaction_trigger",
    "context_compaction", "additional_tools", "other",
})  # fmt: skip
_SPOKEN = frozenset({_MESSAGE, "reasoning", "agent_message", _RESULT})
_TEXT_PARTS = frozenset(
    {"input_text", "output_text", "input_image", "input_file", "refusal", "summary_text"}
)
_ARGUMENTS = ("arguments", "input", "action", "operation")
# What a call's item holds beside what was asked for.
_NOT_ASKED = frozenset({
    "id", "type", "status", "call_id", "name", "namespace", "function", "execution", "output",
    "outputs", "results", "result", "error", "caller", "metadata",
    "internal_chat_message_metadata_passthrough", "encrypted_content", "server_label",
})  # fmt: skip
_RESULTS_OF_CALL = ("output", "outputs", "results", "error")
# Codex wraps what a command printed into JSON, beside its exit code; and a human's answers to the
# agent's questions, each in a list of its own.
_WRAPPED = re.compile(r'\{\s*"(?:output|metadata)"\s*:')
_WRAPPING = frozenset({"output", "metadata"})
_ANSWERED = re.compile(r'\{\s*"answers"\s*:\s*\{\s*"[^"\n]{1,200}"\s*:\s*\{\s*"answers"\s*:\s*\[')

# What Codex and its plugins for editors put under role user.
_CODEX = Injected(
    names=[
        r"[a-z]+(?:_[a-z]+)*_(?:context|instructions|notification|plugins|mode|budget|guidance)",
        r"permissions instructions|INSTRUCTIONS|turn_aborted|user_shell_command|user_action",
        r"skill|skills|plugins|subagents|hook_prompt|personality_spec|model_switch|tools",
        r"system-reminder|context_window|image",
    ],
    openings=["# AGENTS.md instructions for", "The following is the Codex agent history"],
)
_AGENTS_FILE = re.compile(r"\s*#+ AGENTS\.md instructions[^\n]{0,1000}\s{0,20}<INSTRUCTIONS>")
_EDITOR_HEADING = "# Context from my IDE setup:"
_REQUEST = "## My request for Codex:"
# A command that the human gave to the shell, within what the program says of it.
_SHELL = "<user_shell_command>"
_COMMAND = re.compile(r"<(command)>")
_IMAGE_MARK = re.compile(r"\s*</?image\b[^<>]{0,1000}>\s*")


def is_item(record: dict[str, Any]) -> bool:
    """True if a record is an item by itself, and of no other log that has such a `type`."""
    kind = record.get("type")
    if not isinstance(kind, str) or "message" in record or "payload" in record:
        return False
    if kind == _MESSAGE:
        return isinstance(record.get("role"), str) and _is_content(record.get("content"))
    if kind == "reasoning":
        return isinstance(record.get("summary"), list)
    if kind.endswith(_OUTPUT):
        return "call_id" in record
    if kind.endswith(_CALL):
        return "call_id" in record or ("id" in record and "status" in record)
    return kind in _SILENT and ("id" in record or "encrypted_content" in record)


def _is_content(content: object) -> bool:
    if isinstance(content, str):
        return True
    first = content[0] if isinstance(content, list) and content else None
    kind = first.get("type") if isinstance(first, dict) else None
    return isinstance(kind, str) and kind in _TEXT_PARTS


def are_items(value: object) -> bool:
    """True for a list of items, to be read from a record that holds them under a known key."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(item, dict) and _kind(item) is not None for item in value)


def _kind(item: dict[str, Any]) -> str | None:
    kind = item.get("type", _MESSAGE if "role" in item else None)
    if not isinstance(kind, str):
        return None
    known = kind in _SPOKEN or kind in _SILENT or kind.endswith((_CALL, _OUTPUT))
    return kind if known else None


def item_turns(item: dict[str, Any]) -> list[Turn]:
    """What an item says; parts of it are turns of their own. Raises Misfit."""
    kind = _kind(item)
    if kind is None:
        raise Misfit
    if kind in _SILENT:
        return []
    if kind == _MESSAGE:
        return _message(item)
    if kind == "reasoning":
        return [Turn("assistant", think(text)) for text in _texts(item)]
    if kind == "agent_message":  # another agent's
        return _env(item.get("content"))
    if kind == _RESULT or kind.endswith(_OUTPUT):
        keys = ("output", "result", "tools", "content")
        return _result(next((item[key] for key in keys if item.get(key) is not None), None))
    results = [turn for key in _RESULTS_OF_CALL for turn in _env(item.get(key))]
    return [Turn("assistant", _call(item, kind)), *results]


def item_noise(item: dict[str, Any]) -> int:
    """Bytes of an item that are encrypted, or the bytes of a file."""
    image = item.get("result") if item.get("type") == "image_generation_call" else None
    parts = noise_bytes([item, item.get("content")]) + noise_bytes(item.get("content"))
    return parts + noise_bytes(item.get("output")) + string_bytes(image)


def user_turns(content: object) -> list[Turn]:
    """What stands under role user: the human's words, and what Codex put there. Raises Misfit."""
    parts = content if isinstance(content, list) else [content]
    turns = (turn for part in parts for turn in turns_of(part, "user"))
    return [piece for turn in turns for piece in _split(turn.text) if piece.text.strip()]


def _split(text: str) -> Iterator[Turn]:
    if _IMAGE_MARK.fullmatch(text):
        return
    if text.lstrip().startswith("# ") and (at := text.rfind(f"\n{_REQUEST}")) >= 0:
        end = at + 1 + len(_REQUEST)
        yield Turn("env", text[:end])
        yield from _split(text[end:].strip("\r\n"))
    elif text.lstrip().startswith(_EDITOR_HEADING):
        yield Turn("env", text)
    elif _AGENTS_FILE.match(text):
        at = text.find("</INSTRUCTIONS>")
        end = at + len("</INSTRUCTIONS>") if at >= 0 else len(text)
        yield Turn("env", text[:end])
        yield from _CODEX.split(text[end:].strip("\r\n"))
    else:
        for turn in _CODEX.split(text):
            yield from _shell_command(turn)


def _shell_command(turn: Turn) -> Iterator[Turn]:
    is_shells = turn.text.lstrip().startswith(_SHELL)
    typed = next(blocks(turn.text, _COMMAND), None) if is_shells else None
    if typed is None:
        yield turn
        return
    yield Turn("env", turn.text[: typed.inner].rstrip())
    yield Turn("user", turn.text[typed.inner : typed.inner_end].strip())
    yield Turn("env", turn.text[typed.inner_end :].strip())


def _message(item: dict[str, Any]) -> list[Turn]:
    content = item.get("content")
    role = role_of(item.get("role"), CHAT_ROLES)
    if role == "user":
        return user_turns(content)
    parts = content if isinstance(content, list) else [content]
    return [turn for part in parts for turn in turns_of(part, role)]


def _texts(item: dict[str, Any]) -> Iterator[str]:
    for key in ("summary", "content"):
        value = item.get(key)
        for part in value if isinstance(value, list) else [value]:
            yield text_of(part)


def _result(content: object) -> list[Turn]:
    """What came of a call, without what Codex wraps around it."""
    if isinstance(content, str) and _WRAPPED.match(content):
        value = from_json(content)
        if isinstance(value, dict) and isinstance(value.get("output"), str):
            content = value["output"] if _WRAPPING.issuperset(value) else content
    elif isinstance(content, str) and _ANSWERED.match(content) and (words := answers_in(content)):
        return [Turn("user", words)]
    return _env(content)


def _env(content: object) -> list[Turn]:
    text = text_of(content)
    return [Turn("env", text)] if text.strip() else []


def _call(item: dict[str, Any], kind: str) -> str:
    function = item.get("function")
    name = item.get("name") or (function.get("name") if isinstance(function, dict) else None)
    asked = next((item[key] for key in _ARGUMENTS if item.get(key) is not None), None)
    if asked is None:
        asked = {key: value for key, value in item.items() if key not in _NOT_ASKED}
    if isinstance(asked, dict):
        asked = {key: value for key, value in asked.items() if value is not None}
    return tool_call({"name": name or kind.removesuffix(_CALL), "arguments": asked})

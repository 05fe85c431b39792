"""Tasks of Cline and its descendants, as Roo Code: a folder with two files that say the same.

`api_conversation_history.json` holds what the model was given and what it said, as messages of
`role` and `content`. Under `user`, a human's words stand only in a few tags; the rest is results
and notes of the program. A message is taken as Cline's only where its text shows the program.
`ui_messages.json` holds what the human was shown: `type` is `say` or `ask`, and names its kind.
Sources: https://github.com/cline/cline (src/shared/ExtensionMessage.ts,
src/core/prompts/responses.ts) and https://github.com/RooCodeInc/Roo-Code (packages/types).
"""

import re
from collections.abc import Iterator
from typing import Any, TypeGuard

from tinyllm.documents import Turn
from tinyllm.formats.blocks import blocks
from tinyllm.formats.cline_events import event_turns, is_event
from tinyllm.formats.content import (
    Misfit,
    from_json,
    json_text,
    merge,
    noise_bytes,
    string_bytes,
    text_of,
    think,
    turns_of,
    unfit_is_unknown,
)
from tinyllm.formats.parsed import Parsed

NAME = "cline"
KEYS = frozenset({"role", "type", "messages"})

_TOOLS = (
    "attempt_completion", "ask_followup_question", "plan_mode_respond", "plan_mode_response",
    "act_mode_respond", "write_to_file", "replace_in_file", "apply_diff", "read_file",
    "list_files", "search_files", "search_and_replace", "insert_content", "execute_command",
    "list_code_definition_names", "browser_action", "use_mcp_tool", "access_mcp_resource",
    "switch_mode", "new_task", "update_todo_list", "codebase_search", "condense",
)  # fmt: skip
# Tools to which the human answers in words; every other one's result is the program's.
_ASKING = frozenset(_TOOLS[:5])
# Names that other programs give their tools too tell nothing.
_OWN_TOOLS = frozenset(_TOOLS) - {"read_file", "list_files", "search_files", "condense", "new_task"}
_TOOL_TAG = re.compile(rf"^<(?:{'|'.join(_TOOLS)})>\s*(?:<[a-z_]+>|</|$)", re.MULTILINE)

# Every task opens with it; the tag `<task>` alone may be anybody's.
_DETAILS = "<environment_details>"
_RESULT_LABEL = re.compile(r"\s*\[([a-z_]{1,40})[^\n]{0,2000}\] Result:")
_NOTICE = re.compile(r"\s*(?:\[TASK RESUMPTION\]|\[ERROR\] You did not use a tool)")
# Where the program quotes the human, the line before ends so; a file may hold such tags as well.
_QUOTED = re.compile(r"<(task|feedback|user_message|answer)>")
_LEAD = re.compile(
    r"[Tt]he user[^\n]{0,300}[.:]\Z|New (?:message|instructions)[^\n]{0,300}:\Z"
    r"|\s*\[(?:ask_followup_question|attempt_completion|plan_mode_respon[a-z]{1,2})\b[^\n]*\]"
    r" Result:\Z"
)
_INSTRUCTIONS_END = "</explicit_instructions>"
_LEAD_LENGTH = 3000
# What newer versions make of a refusal, and of what the human says to it.
_VERDICT = '{"status":'
_THINKING = re.compile(r"<(thinking)>")
# Files, pages and instructions that the program puts into a task where the human named them.
_INSERTED = re.compile(
    r"<(file_content|folder_content|url_content|workspace_diagnostics|git_commit|terminal_output"
    r"|git_working_state|explicit_instructions|environment_details|command)(?: [^<>]{0,1000})?>"
)


def recognise(record: dict[str, Any]) -> bool:
    if is_event(record):
        return True
    listed = record.get("messages")
    if isinstance(listed, list):
        first = next((m for m in listed if isinstance(m, dict) and m.get("role") == "user"), {})
        return any(_DETAILS in text for text in _texts(first.get("content")))
    return "messages" not in record and _is_message(record)


@unfit_is_unknown
def parse(record: dict[str, Any]) -> Parsed:
    if is_event(record):
        return _event(record)
    listed = record.get("messages")
    if not isinstance(listed, list):
        turns = _message_turns(record)
        noise = noise_bytes(record.get("content"))
        return Parsed(tuple(turns), "harness tags", thread="", family="bare_message", noise=noise)
    if not all(isinstance(message, dict) for message in listed):
        raise Misfit
    turns = [turn for message in listed for turn in _message_turns(message)]
    noise = sum(noise_bytes(message.get("content")) for message in listed)
    return Parsed(tuple(turns), "harness tags", noise=noise)


def _event(record: dict[str, Any]) -> Parsed:
    turns = merge(event_turns(record))
    noise = string_bytes(record.get("images"))
    if not turns:
        noise += string_bytes(record.get("text"))
    when = json_text([record["ts"], [turn.text for turn in turns]]) if turns else None
    # Asked to accept its result, the human is shown what the agent said just before.
    is_shown = record.get("ask") == "completion_result"
    return Parsed(
        tuple(turns),
        "kind of message",
        thread="",
        joins=not is_shown,
        mirrors=is_shown,
        identity=when,
        noise=noise,
    )


def _is_message(record: dict[str, Any]) -> bool:
    content = record.get("content")
    texts = _texts(content)
    if record.get("role") == "user":
        return any(
            _DETAILS in text or _RESULT_LABEL.match(text) or _NOTICE.match(text) for text in texts
        )
    if record.get("role") != "assistant":
        return False
    parts = content if isinstance(content, list) else []
    return any(_TOOL_TAG.search(text) for text in texts) or any(
        isinstance(part, dict)
        and part.get("type") == "tool_use"
        and isinstance(part.get("name"), str)
        and part["name"] in _OWN_TOOLS
        for part in parts
    )


def _texts(content: object) -> list[str]:
    """The texts of a content, those of results in it too."""
    if isinstance(content, str):
        return [content]
    parts = [part for part in content if isinstance(part, dict)] if _is_list(content) else []
    results = [part["content"] for part in parts if _is_list(part.get("content"))]
    parts += [part for result in results for part in result if isinstance(part, dict)]
    found = (part.get(key) for part in parts for key in ("text", "content"))
    return [text for text in found if isinstance(text, str)]


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _message_turns(message: dict[str, Any]) -> list[Turn]:
    role = message.get("role")
    content = message.get("content")
    if role == "assistant":
        return merge(turn for said in turns_of(content, "assistant") for turn in _thought(said))
    if role == "system":
        return turns_of(content, "system")
    if role not in ("user", "tool"):
        raise Misfit
    turns: list[Turn] = []
    tool = ""
    for part in content if isinstance(content, list) else [content]:
        text = text_of(part)
        label = _RESULT_LABEL.match(text)
        turns += _human_words(text, tool)
        tool = label[1] if label and not text[label.end() :].strip() else ""
    return merge(turns)


def _thought(said: Turn) -> Iterator[Turn]:
    """The agent's text, with the reasoning that it opens with as reasoning."""
    first = next(blocks(said.text, _THINKING), None)
    if first is None or said.text[: first.begin].strip():
        yield said
        return
    yield Turn("assistant", think(said.text[first.inner : first.inner_end]))
    yield Turn("assistant", said.text[first.end :])


def _human_words(text: str, tool: str) -> Iterator[Turn]:
    """A text under `user`: what the human said in it, and what the program did.

    tool  the tool whose result it is; "" if the text doesn't follow such a label
    """
    verdict = from_json(text) if text.startswith(_VERDICT) else None
    if isinstance(verdict, dict) and isinstance(verdict.get("feedback"), str):
        yield Turn("user", verdict["feedback"])
        return
    done = 0
    first = len(text) - len(text.lstrip())
    for block in blocks(text, _QUOTED):
        is_first = block.begin == first and (not tool or tool in _ASKING)
        before = text[max(done, block.begin - _LEAD_LENGTH) : block.begin]
        if not is_first and not _announces(before.rstrip()):
            continue
        yield Turn("env", text[done : block.begin].strip("\r\n"))
        yield from _without_insertions(text[block.inner : block.inner_end])
        done = block.end
    yield Turn("env", text[done:].strip("\r\n") if done else text)


def _announces(before: str) -> bool:
    """True if the text before a block says that a human's words follow."""
    if not before.endswith((".", ":")):
        return before.endswith(_INSTRUCTIONS_END)
    return _LEAD.search(before, before.rfind("\n") + 1) is not None


def _without_insertions(text: str) -> Iterator[Turn]:
    done = 0
    for block in blocks(text, _INSERTED):
        yield Turn("user", text[done : block.begin].strip("\r\n"))
        yield Turn("env", text[block.begin : block.end])
        done = block.end
    yield Turn("user", text[done:].strip("\r\n"))

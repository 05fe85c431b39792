"""What a human is shown of a task of Cline (`ui_messages.json`), one message a record."""

from collections.abc import Iterator, Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import first_text, from_json, json_text, think, tool_call

_ROLES: Mapping[str, Role] = {
    "task": "user",
    "user_feedback": "user",
    "text": "assistant",
    "completion_result": "assistant",
    "followup": "assistant",
    "plan_mode_respond": "assistant",
    "act_mode_respond": "assistant",
    "user_feedback_diff": "env",
    "user_edit_todos": "env",
    "command_output": "env",
    "mcp_server_response": "env",
    "mcp_notification": "env",
    "browser_action_result": "env",
    "codebase_search_result": "env",
    "subtask_result": "env",
    "error": "env",
    "error_retry": "env",
    "diff_error": "env",
    "clineignore_error": "env",
    "rooignore_error": "env",
    "condense_context": "env",
    "api_req_failed": "env",
    "mistake_limit_reached": "env",
    "shell_integration_warning": "env",
    "command_permission_denied": "env",
}
# Calls, and the argument that their text is.
_CALLS = {"command": "command", "browser_action_launch": "url"}
_CALL_NAMES = {"command": "execute_command", "browser_action_launch": "browser_action"}
# Calls whose text is JSON, and the key in it that names the tool.
_JSON_CALLS = {
    "tool": "tool",
    "use_mcp_server": "toolName",
    "browser_action": "action",
}
# Tools whose `content` the agent wrote; that of others is what they found.
_WRITING = frozenset({"editedExistingFile", "newFileCreated", "appliedDiff", "insertContent"})
# What the screen has to know of a call.
_SCREENS = frozenset({"operationIsLocatedInWorkspace", "isOutsideWorkspace", "isProtected"})
_SPOKEN_KEYS = ("question", "response", "text")
_SEEN_KEYS = ("logs", "text", "error")


def is_event(record: Mapping[str, Any]) -> bool:
    """True for a message that says what kind it is under the name that its type gives."""
    kind = record.get("type")
    time = record.get("ts")
    is_known = kind in ("say", "ask") and isinstance(record.get(kind), str)
    return is_known and isinstance(time, int | float) and not isinstance(time, bool)


def event_turns(record: Mapping[str, Any]) -> Iterator[Turn]:
    """The turns of a message; none for counters, questions of the program and unfinished calls.

    Text that is marked as unfinished counts: what came next may have been saved before the mark
    was taken off.
    """
    kind = record[record["type"]]
    text = first_text(record, ("text",))
    if record.get("partial") is True and (kind in _JSON_CALLS or kind in _CALLS):
        return
    if kind == "reasoning":
        yield Turn("assistant", think(text or first_text(record, ("reasoning",))))
    elif kind in _JSON_CALLS:
        yield from _json_call(kind, text)
    elif kind in _CALLS and text:
        arguments = {_CALLS[kind]: text}
        yield Turn("assistant", tool_call({"name": _CALL_NAMES[kind], "arguments": arguments}))
    elif record["type"] == "ask" and kind == "command_output":
        return
    elif kind in _ROLES:
        yield _spoken(record, kind, text)


def _spoken(record: Mapping[str, Any], kind: str, text: str) -> Turn:
    role = _ROLES[kind]
    if kind == "text" and _is_task(record):
        role = "user"
    value = from_json(text) if text.lstrip()[:1] == "{" and role != "user" else None
    if isinstance(value, dict) and kind != "text":
        found = first_text(value, _SPOKEN_KEYS if role == "assistant" else _SEEN_KEYS)
        text = found or ("" if kind == "browser_action_result" else text)
    return Turn(role, text)


def _is_task(record: Mapping[str, Any]) -> bool:
    """True for the task in versions that file it under `text`, as they do what the agent says.

    It comes before anything that the model was sent, or has the list of the human's images.
    """
    return record.get("conversationHistoryIndex") == -1 or isinstance(record.get("images"), list)


def _json_call(kind: str, text: str) -> Iterator[Turn]:
    value = from_json(text)
    if not isinstance(value, dict):
        yield Turn("assistant" if text else "env", text)
        return
    name = value.get(_JSON_CALLS[kind]) or kind
    found = None
    unasked = {_JSON_CALLS[kind], *_SCREENS}
    arguments = {key: item for key, item in value.items() if key not in unasked}
    if kind == "tool" and not (isinstance(name, str) and name in _WRITING):
        found = arguments.pop("content", None)
    if _is_same_path(found, arguments.get("path")):
        found = None
    if kind == "browser_action":
        name, arguments = "browser_action", value
    if kind == "use_mcp_server" and "arguments" in value:
        arguments = value["arguments"]
    yield Turn("assistant", tool_call({"name": name, "arguments": arguments}))
    if found is not None:
        yield Turn("env", found if isinstance(found, str) else json_text(found))


def _is_same_path(found: object, path: object) -> bool:
    """True if what a call shows as found is only the whole path of the file that it names."""
    if not isinstance(found, str) or not isinstance(path, str):
        return False
    return bool(path) and found.replace("\\", "/").endswith(path.replace("\\", "/"))

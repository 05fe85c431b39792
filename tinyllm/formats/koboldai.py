"""Stories saved by KoboldAI, KoboldCpp and KoboldAI Lite: a `prompt` and the `actions` after it.

A save is one running text. Lite marks turns in it by tags or names; a story has no marks and is
a plain document. Memory is the system prompt of a chat; other notes and lore are env.
Source: https://github.com/KoboldAI/KoboldAI-Client (aiserver.py) and
https://github.com/LostRuins/lite.koboldai.net (index.html).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import SEPARATOR, Misfit, first_text, merge, string_bytes
from tinyllm.formats.parsed import Parsed

NAME = "koboldai"
KEYS = frozenset({"actions"})

_SAVE_KEYS = ("gamestarted", "actions_metadata", "savedsettings", "worldinfo")
_ADVENTURE, _CHAT, _INSTRUCT = 2, 3, 4  # Lite's `opmode`; 1 is a story
# Tags in the text, the settings that hold the user's own, and who speaks after them.
_TAGS: tuple[tuple[str, str, Role], ...] = (
    ("{{[INPUT]}}", "instruct_starttag", "user"),
    ("{{[OUTPUT]}}", "instruct_endtag", "assistant"),
    ("{{[SYSTEM]}}", "instruct_systag", "system"),
)
_END_TAGS = re.compile(r"\{\{\[(?:INPUT|OUTPUT|SYSTEM)_END\]\}\}")
_OWN_END_TAGS = ("instruct_starttag_end", "instruct_endtag_end", "instruct_systag_end")
_OPPONENTS = "||$||"
_PICTURE = re.compile(r"\[<\|([a-z])\|[^\[\]|]*\|\1\|>\]")
_COMMAND = re.compile(r"^> ?([^\n]*)", re.MULTILINE)
# Choices that were not taken, pictures, and how the page looks.
_ASIDE = ("actions_metadata", "completed_imgs_meta", "savedaestheticsettings")
_USER = "User"  # the name that Lite gives its user


def recognise(record: dict[str, Any]) -> bool:
    return (
        isinstance(record.get("prompt"), str)
        and isinstance(record.get("actions"), list | dict)
        and any(key in record for key in _SAVE_KEYS)
    )


def parse(record: dict[str, Any]) -> list[Parsed] | None:
    try:
        story = _story(record)
        settings = record.get("savedsettings")
        turns, decided = _turns(story, settings if isinstance(settings, dict) else {})
    except (Misfit, RecursionError):
        return None
    notes = [first_text(record, ("authorsnote", "authornote")), *_lore(record.get("worldinfo"))]
    memory = first_text(record, ("memory",))
    if turns:
        turns = _told_first(memory, turns)
    else:
        turns = [Turn(None, story)] if story.strip() else []
        notes.insert(0, memory)
    parsed = [Parsed(tuple(turns), decided=decided, noise=_noise(record))]
    aside = SEPARATOR.join(filter(None, notes))
    return [*parsed, Parsed((Turn("env", aside),))] if aside else parsed


def _story(record: dict[str, Any]) -> str:
    """The whole text of a save, pictures left out. Raises Misfit."""
    pieces = [record.get("prompt"), *_actions(record.get("actions"))]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) < len(pieces):
        raise Misfit
    text = "".join(texts)
    return _PICTURE.sub("", text) if "[<|" in text else text


def _actions(actions: object) -> Iterator[object]:
    """The texts of the actions: a list, or numbered choices each with its alternatives."""
    if isinstance(actions, dict):
        count, actions = actions.get("action_count"), actions.get("actions", actions)
        if isinstance(actions, dict):
            last = count if isinstance(count, int) else len(actions)
            actions = [actions[number] for number in actions if _is_done(number, last)]
    if not isinstance(actions, list):
        raise Misfit
    for action in actions:
        if isinstance(action, dict):
            yield action.get("Selected Text") or ""
        elif action is not None:
            yield action


def _is_done(number: str, last: int) -> bool:
    """False for an action that was taken back: its number is over the last one's."""
    return not (number.isdecimal() and len(number) < 10) or int(number) <= last


def _turns(story: str, settings: Mapping[str, Any]) -> tuple[list[Turn], str]:
    """The turns that a save's text marks, and what marks them; none if it is a story."""
    mode = settings.get("opmode")
    tags = {tag: role for tag, _, role in _TAGS if tag in story}
    if tags:
        return _tagged(_END_TAGS.sub("", story), tags), "instruct tags"
    own = {_unescaped(settings.get(key)): role for _, key, role in _TAGS}
    own = {tag: role for tag, role in own.items() if tag and tag in story}
    if mode == _INSTRUCT and "assistant" in own.values():
        for end in filter(None, (_unescaped(settings.get(key)) for key in _OWN_END_TAGS)):
            story = story.replace(end, "") if end not in own else story
        return _tagged(story, own), "instruct tags"
    if mode == _CHAT:
        return _named(story, settings), "names"
    if mode == _ADVENTURE and _COMMAND.search(story):
        return _commanded(story), "adventure marks"
    return [], "no speaker"


def _unescaped(tag: object) -> str:
    """A tag as it stands in the text; the settings write its line ends as two characters."""
    return tag.replace("\\n", "\n").strip() if isinstance(tag, str) else ""


def _tagged(story: str, tags: Mapping[str, Role]) -> list[Turn]:
    longest_first = sorted(tags, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    return _split(story, pattern, {tag: (role, "") for tag, role in tags.items()})


def _named(story: str, settings: Mapping[str, Any]) -> list[Turn]:
    """Chat mode: a line that opens with a name is a turn; without names the text is a story."""
    user = first_text(settings, ("chatname",)).strip() or _USER
    others = first_text(settings, ("chatopponent",)).split(_OPPONENTS)
    speakers: dict[str, tuple[Role, str]] = {
        f"{name}:": ("assistant", name) for other in others if (name := other.strip())
    }
    speakers[f"{user}:"] = ("user", user)
    pattern = re.compile(f"^(?:{'|'.join(map(re.escape, speakers))})", re.MULTILINE)
    return _split(story, pattern, speakers) if pattern.search(story) else []


def _split(
    story: str, pattern: re.Pattern[str], speakers: Mapping[str, tuple[Role, str]]
) -> list[Turn]:
    """The turns that the pattern's matches open; what stands before the first sets the scene."""
    turns: list[Turn] = []
    role: Role = "system"
    speaker, done = "", 0
    for mark in pattern.finditer(story):
        turns.append(Turn(role, story[done : mark.start()].strip(), speaker))
        (role, speaker), done = speakers[mark[0]], mark.end()
    turns.append(Turn(role, story[done:].strip(), speaker))
    return [turn for turn in turns if turn.text]


def _commanded(story: str) -> list[Turn]:
    """Adventure mode: the lines that open with `> ` are the player's, all else is told."""
    turns: list[Turn] = []
    done = 0
    for command in _COMMAND.finditer(story):
        turns.append(Turn("assistant", story[done : command.start()].strip()))
        turns.append(Turn("user", command[1].strip()))
        done = command.end()
    turns.append(Turn("assistant", story[done:].strip()))
    return [turn for turn in turns if turn.text]


def _told_first(memory: str, turns: list[Turn]) -> list[Turn]:
    """The memory and what sets the scene as one system turn; later system tags only nudge."""
    begun = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    first = merge([Turn("system", memory), *turns[:begun]])
    later = (Turn("env", turn.text) if turn.role == "system" else turn for turn in turns[begun:])
    return [*first, *later]


def _lore(worldinfo: object) -> Iterator[str]:
    for entry in worldinfo if isinstance(worldinfo, list) else []:
        if isinstance(entry, dict) and entry.get("widisabled") is not True:
            yield first_text(entry, ("content",))


def _noise(record: dict[str, Any]) -> int:
    """Bytes of alternatives that weren't chosen, and of pictures."""
    actions = record.get("actions")
    total = string_bytes([record.get(key) for key in _ASIDE])
    if isinstance(actions, dict):
        total += string_bytes(actions) - string_bytes(list(_actions(actions)))
    return total

"""Character cards for role play: who a model is to be, how it opens, and examples of its talk.

The description is the system prompt, the opening the assistant's; each other opening and each
example is a document of its own; the lore that a frontend puts in where it fits is env. Macros
are written out as frontends do: `{{char}}` the character's name, `{{user}}` "User".
Source: https://github.com/malfoyslastname/character-card-spec-v2 and
https://github.com/kwaroran/character-card-spec-v3.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tinyllm.documents import Role, Turn
from tinyllm.formats.content import SEPARATOR, Misfit, merge, string_bytes
from tinyllm.formats.parsed import Parsed

NAME = "character_card"
KEYS = frozenset({"spec", "first_mes", "char_greeting"})

_SPEC = "chara_card_v"
_NAME_KEYS = ("name", "char_name")
_PROMPT_KEYS = (
    "system_prompt",
    "description",
    "char_persona",
    "personality",
    "scenario",
    "world_scenario",
    "post_history_instructions",
)
_OPENING_KEYS = ("first_mes", "char_greeting")
_EXAMPLE_KEYS = ("mes_example", "example_dialogue")
_OPENING_LISTS = ("alternate_greetings", "group_only_greetings")
_USER = "User"

_START = re.compile("<start>", re.IGNORECASE)
_MACRO = re.compile(r"\{\{(char|user|original)\}\}|<(bot|user)>", re.IGNORECASE)
_USER_PREFIX = r"\{\{user\}\}|\{\{random_user_\d+\}\}|<user>|you"
_CHARACTER_PREFIX = r"\{\{char\}\}|<bot>"


def recognise(record: dict[str, Any]) -> bool:
    spec = record.get("spec")
    if isinstance(spec, str) and spec.startswith(_SPEC):
        return True
    return any(isinstance(record.get(key), str) for key in _OPENING_KEYS) and any(
        isinstance(record.get(key), str) for key in _PROMPT_KEYS + _EXAMPLE_KEYS
    )


def parse(record: dict[str, Any]) -> list[Parsed] | None:
    data = record.get("data")
    card = data if isinstance(data, dict) else record
    try:
        documents = [Parsed(tuple(turns)) for turns in _documents(card) if turns]
    except (Misfit, RecursionError):
        return None
    noise = 0 if card is record else _copied(record, card)
    return [*documents, Parsed(noise=noise)] if noise else documents


def _documents(card: Mapping[str, Any]) -> Iterator[list[Turn]]:
    """The turns of each document of a card. Raises Misfit."""
    name = " ".join(_strings(card, _NAME_KEYS)[:1]).strip()
    prompt = [_expanded(text, name).strip() for text in _strings(card, _PROMPT_KEYS)]
    opening = [_expanded(text, name) for text in _strings(card, _OPENING_KEYS)]
    yield merge([
        Turn("system", SEPARATOR.join(filter(str.strip, prompt))),
        *(Turn("assistant", text) for text in opening[:1]),
    ])  # fmt: skip
    for key in _OPENING_LISTS:
        for text in _listed(card, key):
            yield merge([Turn("assistant", _expanded(text, name))])
    for text in _strings(card, _EXAMPLE_KEYS):
        for example in _START.split(text):
            yield _example(example, name)
    lore = SEPARATOR.join(_expanded(text, name) for text in _lore(card))
    yield merge([Turn("env", lore)])


def _example(text: str, name: str) -> list[Turn]:
    """The turns of an example, in which a line that opens with a speaker's name is a turn."""
    character = f"{_CHARACTER_PREFIX}|{re.escape(name)}" if name else _CHARACTER_PREFIX
    prefix = re.compile(rf"^(?:({_USER_PREFIX})|(?:{character})):[ \t]*", re.I | re.M)
    turns: list[Turn] = []
    role: Role = "assistant"  # what no name opens is the character's narration
    done = 0
    for opening in prefix.finditer(text):
        turns.append(Turn(role, text[done : opening.start()]))
        role, done = ("user" if opening[1] else "assistant"), opening.end()
    turns.append(Turn(role, text[done:]))
    return merge(Turn(turn.role, _expanded(turn.text, name).strip()) for turn in turns)


def _expanded(text: str, name: str) -> str:
    """A text with its macros written out; `{{original}}` is the frontend's own prompt."""
    words = {"char": name, "bot": name, "user": _USER, "original": ""}
    if "{{" not in text and "<" not in text:
        return text
    return _MACRO.sub(lambda macro: words[(macro[1] or macro[2]).lower()] or "", text)


def _lore(card: Mapping[str, Any]) -> Iterator[str]:
    book = card.get("character_book")
    entries = book.get("entries") if isinstance(book, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and entry.get("enabled") is not False:
            yield from filter(str.strip, _strings(entry, ("content",)))


def _strings(card: Mapping[str, Any], keys: tuple[str, ...]) -> list[str]:
    """The texts under these keys; null counts as missing. Raises Misfit."""
    values = [card[key] for key in keys if card.get(key) is not None]
    if not all(isinstance(value, str) for value in values):
        raise Misfit
    return values


def _listed(card: Mapping[str, Any], key: str) -> list[str]:
    values = card.get(key) or []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise Misfit
    return values


def _copied(record: Mapping[str, Any], card: Mapping[str, Any]) -> int:
    """Bytes of what stands beside `data` once more, for programs that know the first spec only."""
    keys = (*_PROMPT_KEYS, *_OPENING_KEYS, *_EXAMPLE_KEYS)
    return sum(
        string_bytes(record[key]) for key in keys if key in record and record[key] == card.get(key)
    )

"""A tokenizer's folder as the arrays GGUF keeps: tokens, their types, merges, chat template.

llama.cpp tokenizes by name: it knows the expression behind `tokenizer.ggml.pre`, and nothing else
of a tokenizer.json. So whatever it would not do the same way is refused here.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gguf import TokenType
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

from tinyllm.documents import END_OF_TURN
from tinyllm.errors import UserError
from tinyllm.tokenization import PRE_TOKENIZER_EXPRESSION, TOKENIZER_FILE

# Options of a tokenizer.json's BPE model that llama.cpp has no counterpart for.
_UNSUPPORTED_MODEL_OPTIONS = (
    "byte_fallback",
    "continuing_subword_prefix",
    "dropout",
    "end_of_word_suffix",
    "ignore_merges",
    "unk_token",
)
_UNSUPPORTED_TOKEN_OPTIONS = ("lstrip", "rstrip", "single_word")


@dataclass(frozen=True, slots=True)
class GgufTokens:
    """What llama.cpp needs to tokenize.

    tokens         by id
    types          `gguf.TokenType` by id: control, user defined or normal
    merges         "left right", best first
    pre            `tokenizer.ggml.pre`
    end_of_turn    id of `<|end|>`
    chat_template  Jinja, None if the folder has none
    """

    tokens: list[str]
    types: list[int]
    merges: list[str]
    pre: str
    end_of_turn: int
    chat_template: str | None


def read_tokens(folder: Path) -> GgufTokens:
    """The tokens of a folder with tokenizer.json.

    Raises UserError if it can't be read, or if llama.cpp would tokenize differently.
    """
    path = folder / TOKENIZER_FILE
    spec = _read_json(path)
    try:
        fault = next(_faults(spec), None)
        if fault is not None:
            raise UserError(
                f"{path} can't be exported, {fault}: train with a tokenizer that "
                "`python -m tinyllm.tokenization` made"
            )
        tokens, types = _tokens(spec)
        merges = [m if isinstance(m, str) else " ".join(m) for m in spec["model"]["merges"]]
        pre = _pre_tokenizer_name(spec["pre_tokenizer"])
        _refuse_unlike(path, tokens)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} is not a byte-level BPE tokenizer ({error!r}): "
            "copy the tokenizer the model was trained with there"
        ) from error
    return GgufTokens(tokens, types, merges, pre, tokens.index(END_OF_TURN), _chat_template(folder))


def _refuse_unlike(path: Path, tokens: list[str]) -> None:
    """Raise UserError unless the tokenizers library reads the file, and reads the same tokens."""
    try:
        vocabulary = Tokenizer.from_file(str(path)).get_vocab()
    except Exception as error:
        raise UserError(
            f"{path} is no tokenizer ({error}): copy the files of the model's tokenizer there"
        ) from error
    if vocabulary != {token: index for index, token in enumerate(tokens)}:
        raise UserError(
            f"{path} gives its added tokens other ids than they say: train with a tokenizer that "
            "`python -m tinyllm.tokenization` made"
        )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} can't be read ({error}): copy the files of the model's tokenizer there"
        ) from error
    if not isinstance(content, dict):
        raise UserError(
            f"{path} holds no JSON object: copy the files of the model's tokenizer there"
        )
    return content


def _faults(spec: dict[str, Any]) -> Iterator[str]:
    """Everything in a tokenizer.json that llama.cpp would do differently."""
    model = spec["model"]
    if model.get("type") != "BPE":
        yield f"its model is {model.get('type')}, not BPE"
    for option in _UNSUPPORTED_MODEL_OPTIONS:
        if model.get(option):
            yield f"its model sets {option}"
    if spec.get("normalizer") is not None:
        yield f"it has a normalizer ({spec['normalizer'].get('type')})"
    if (spec.get("decoder") or {}).get("type") != "ByteLevel":
        yield "its decoder is not ByteLevel"
    if not _pre_tokenizer_name(spec.get("pre_tokenizer")):
        yield f"llama.cpp has no name for its pre-tokenizer {json.dumps(spec['pre_tokenizer'])}"
    for added in spec["added_tokens"]:
        for option in _UNSUPPORTED_TOKEN_OPTIONS:
            if added.get(option):
                yield f"its token {added['content']} sets {option}"
    yield from _vocabulary_faults(spec)


def _vocabulary_faults(spec: dict[str, Any]) -> Iterator[str]:
    vocabulary: dict[str, int] = spec["model"]["vocab"]
    names = {index: token for token, index in vocabulary.items()}
    if len(names) != len(vocabulary):
        yield "two of its tokens have the same id"
    for added in spec["added_tokens"]:
        name = names.setdefault(added["id"], added["content"])
        if name != added["content"]:
            yield f"id {added['id']} is both {name} and {added['content']}"
    if sorted(names) != list(range(len(names))):
        yield f"its {len(names)} ids have gaps"
    if len(set(names.values())) != len(names):
        yield "two of its ids have the same token"
    absent = [symbol for symbol in ByteLevel.alphabet() if symbol not in vocabulary]
    if absent:
        yield f"it lacks {len(absent)} of the 256 byte tokens"
    if END_OF_TURN not in names.values():
        yield f"it has no {END_OF_TURN}"


def _tokens(spec: dict[str, Any]) -> tuple[list[str], list[int]]:
    names = {index: token for token, index in spec["model"]["vocab"].items()}
    types = dict.fromkeys(names, int(TokenType.NORMAL))
    for added in spec["added_tokens"]:
        names[added["id"]] = added["content"]
        special = TokenType.CONTROL if added["special"] else TokenType.USER_DEFINED
        types[added["id"]] = int(special)
    ids = range(len(names))
    return [names[index] for index in ids], [types[index] for index in ids]


def _pre_tokenizer_name(spec: dict[str, Any] | None) -> str:
    """llama.cpp's name for a pre-tokenizer, "" if it has none."""
    match spec:
        case {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": expression},
                    "behavior": "Isolated",
                    "invert": False,
                },
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
            ],
        } if expression == PRE_TOKENIZER_EXPRESSION:
            return "qwen2"
        case {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}:
            return "gpt-2"
    return ""


def _chat_template(folder: Path) -> str | None:
    """The template as transformers finds it: its own file, or a key of tokenizer_config.json."""
    try:
        return (folder / "chat_template.jinja").read_text(encoding="utf-8")
    except FileNotFoundError:
        pass
    path = folder / "tokenizer_config.json"
    config = _read_json(path) if path.exists() else {}
    template = config.get("chat_template")
    return template if isinstance(template, str) else None

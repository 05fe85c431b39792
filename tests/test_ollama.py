"""The Modelfile's template says what the chat template says."""

import re

import pytest
from jinja2 import Environment

from tinyllm.documents import END_OF_TEXT
from tinyllm.gguf.ollama import GO_TEMPLATE, modelfile
from tinyllm.tokenization import CHAT_TEMPLATE


def render_go(messages: list[dict[str, str]]) -> str:
    """GO_TEMPLATE over messages: a range over them, and within it one if/else and fields."""
    loop = re.fullmatch(r"\{\{- range \.Messages \}\}(.*)\{\{ end \}\}(.*)", GO_TEMPLATE)
    assert loop is not None
    condition = r'\{\{ if eq \.Role "(\w+)" \}\}(.*?)\{\{ else \}\}(.*?)\{\{ end \}\}'
    rendered = ""
    for message in messages:
        body = re.sub(
            condition, lambda m, role=message["role"]: m[2] if role == m[1] else m[3], loop[1]
        )
        body = body.replace("{{ .Role }}", message["role"])
        assert body.count("{{") == 1
        rendered += body.replace("{{ .Content }}", message["content"])
    return rendered + loop[2]


@pytest.mark.parametrize(
    "roles",
    [["user"], ["system", "user"], ["user", "assistant", "user"], ["user", "assistant", "tool"]],
)
def test_both_templates_render_a_conversation_alike(roles: list[str]):
    messages = [{"role": role, "content": f" Text {n}.\n"} for n, role in enumerate(roles)]
    jinja = Environment(trim_blocks=True, lstrip_blocks=True).from_string(CHAT_TEMPLATE)
    expected = jinja.render(messages=messages, bos_token="", add_generation_prompt=True)
    assert render_go(messages) == expected


def test_the_template_leaves_the_first_token_to_ollama():
    assert END_OF_TEXT not in modelfile("m.gguf", 256, CHAT_TEMPLATE)


def test_a_model_with_another_chat_template_gets_no_template():
    assert "TEMPLATE" not in modelfile("m.gguf", 256, "{{ messages }}")
    assert "TEMPLATE" not in modelfile("m.gguf", 256, None)

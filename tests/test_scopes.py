"""Scopes and relabelling."""

import pytest

from tinyllm.errors import UserError
from tinyllm.scopes import Relabel, scopes_that_keep

FORMATS = ["openai_chat", "sharegpt"]


@pytest.mark.parametrize(
    ("roles", "scopes"),
    [
        ({"assistant"}, ["voice", "full", "assistant"]),
        ({"user"}, ["voice", "full"]),
        ({None}, ["voice", "full"]),
        ({"code"}, ["voice", "full"]),
        ({"env"}, ["full"]),
        ({"system"}, ["full"]),
        ({"system", "env"}, ["full"]),
        (set(), []),
    ],
)
def test_a_scope_keeps_a_document_in_which_somebody_of_it_speaks(roles, scopes):
    assert scopes_that_keep(roles) == scopes


@pytest.mark.parametrize("name", ["openai_chat", "openai chat", "OpenAI-Chat", "*"])
def test_a_rule_changes_the_role_in_the_format_it_names(name):
    relabel = Relabel([f"{name}.user=env"], FORMATS)
    assert relabel("openai_chat", "user") == "env"
    assert relabel("openai_chat", "assistant") == "assistant"
    assert relabel("sharegpt", "user") == ("env" if name == "*" else "user")


def test_a_named_format_goes_before_the_star():
    relabel = Relabel(["sharegpt.user=assistant", "*.user=env"], FORMATS)
    assert (relabel("sharegpt", "user"), relabel("openai_chat", "user")) == ("assistant", "env")


def test_a_plain_document_is_never_relabelled():
    assert Relabel(["*.user=env"], FORMATS)("openai_chat", None) is None


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("nonsense", "is not FORMAT.ROLE=ROLE"),
        ("user=env", "is not FORMAT.ROLE=ROLE"),
        ("whatsapp.user=env", "names no format: use .* openai_chat, sharegpt"),
        ("sharegpt.human=env", "'human' is no role"),
        ("sharegpt.user=tool", "'tool' is no role"),
    ],
)
def test_a_bad_rule_is_refused_by_name(rule, words):
    with pytest.raises(UserError, match=words) as caught:
        Relabel([rule], FORMATS)
    assert rule in str(caught.value)

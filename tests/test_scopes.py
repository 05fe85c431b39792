"""Scopes and relabelling."""

import pytest

from tinyllm.documents import Role, Turn
from tinyllm.errors import UserError
from tinyllm.scopes import WhoSpeaks, scopes_that_keep

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
    assert scopes_that_keep(frozenset(roles)) == tuple(scopes)


def speaker(
    *rules: str,
    me: tuple[str, ...] = (),
    name: str = "openai_chat",
    role: Role | None = "user",
    text: str = "hi",
    by: str = "",
) -> tuple[Role | None, str]:
    """Who speaks in one turn, and what decided it."""
    return WhoSpeaks(rules, me, FORMATS)(name, Turn(role, text, by), "role map")


@pytest.mark.parametrize("name", ["openai_chat", "openai chat", "OpenAI-Chat", "*", "messages"])
def test_a_rule_changes_the_role_in_the_format_it_names(name):
    rule = f"{name}.user=env"
    assert speaker(rule) == ("env", "--relabel")
    assert speaker(rule, role="assistant") == ("assistant", "role map")
    assert speaker(rule, name="sharegpt")[0] == ("env" if name == "*" else "user")


def test_a_named_format_goes_before_the_star():
    rules = ("sharegpt.user=assistant", "*.user=env")
    assert speaker(*rules, name="sharegpt")[0] == "assistant"
    assert speaker(*rules)[0] == "env"


def test_of_two_equal_rules_the_last_given_applies():
    assert speaker("*.user=env", "*.user=code")[0] == "code"


def test_a_rule_about_a_text_goes_first_and_finds_it_anywhere():
    rules = ("*.user=assistant", r"openai_chat.user~^\[cron\]|a=b$=env")
    assert speaker(*rules, text="[cron] wake up")[0] == "env"
    assert speaker(*rules, text="so a=b")[0] == "env"
    assert speaker(*rules, text="at [cron]")[0] == "assistant"


def test_a_star_for_the_role_means_every_speaker():
    assert speaker("*.*=env", role="assistant")[0] == "env"


def test_a_plain_document_is_relabelled_only_by_its_name():
    assert speaker("*.*=env", role=None) == (None, "role map")
    assert speaker("openai_chat.plain=assistant", role=None) == ("assistant", "--relabel")


@pytest.mark.parametrize("me", ["Odalys", " odalys "])
def test_the_models_person_speaks_as_the_assistant(me):
    assert speaker(me=(me,), by="Odalys") == ("assistant", "--me")
    assert speaker(me=(me,), by="Bram") == ("user", "role map")
    assert speaker(me=(me,), by="") == ("user", "role map")


def test_other_agents_in_the_persons_chats_are_the_environment():
    bot = {"me": ("Odalys",), "role": "assistant", "by": "WeatherBot"}
    assert speaker(name="discord", **bot) == ("env", "--me")
    assert speaker(name="sillytavern", **bot) == ("assistant", "role map")
    assert speaker(me=("Odalys",), role="assistant") == ("assistant", "role map")


def test_the_models_person_is_more_exact_than_a_rule_about_everybody_in_a_role():
    rule = {"me": ("Odalys",), "role": "user"}
    assert speaker("*.user=env", by="Odalys", **rule) == ("assistant", "--me")
    assert speaker("*.user=env", by="Bram", **rule) == ("env", "--relabel")


def test_a_rule_about_a_text_goes_before_the_models_person():
    assert speaker("*.user~^/=env", me=("Odalys",), by="Odalys", text="/start")[0] == "env"


def test_a_rule_can_keep_the_agents_of_a_messenger():
    bot = {"me": ("Odalys",), "name": "discord", "role": "assistant", "by": "WeatherBot"}
    assert speaker("*.assistant=user", **bot) == ("user", "--relabel")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("nonsense", "is not FORMAT.ROLE=ROLE"),
        ("user=env", "is not FORMAT.ROLE=ROLE"),
        ("whatsapp.user=env", "names no format: use .* openai_chat, sharegpt"),
        ("sharegpt.human=env", "'human' is no role"),
        ("sharegpt.user=tool", "'tool' is no role"),
        ("sharegpt.user~(=env", "is no regular expression"),
    ],
)
def test_a_bad_rule_is_refused_by_name(rule, words):
    with pytest.raises(UserError, match=words) as caught:
        WhoSpeaks([rule], (), FORMATS)
    assert rule in str(caught.value)

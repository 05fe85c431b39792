"""Passwords behind short labels, in commands, and in other languages."""

import pytest

from tinyllm.secrets import find_secrets


def kinds(text: str) -> list[str]:
    return [secret.kind for secret in find_secrets(text.encode())]


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASS=tr0ub4dor&3",
        '{"pass": "tr0ub4dor"}',
        "pwd=kelp-Harbor7",
        "sshpass -p tr0ub4dor ssh box",
        "curl -u odalys:tr0ub4dor https://example.org",
        "curl --user odalys:tr0ub4dor https://example.org",
        "пароль: tr0ub4dor",
        "密码是tr0ub4dor",
        "contraseña: tr0ub4dor",
    ],
)
def test_a_password_behind_its_label_is_found(text: str) -> None:
    assert kinds(text) == ["password"]


@pytest.mark.parametrize(
    "text",
    [
        "tests pass: 12 of 12",
        "cd $PWD && ls",
        "pwd = os.getcwd()",
        "docker run -u 1000:1000 image",
        "the boarding pass was printed",
        "密码学是一门学科",
    ],
)
def test_what_only_looks_like_a_password_stays(text: str) -> None:
    assert kinds(text) == []

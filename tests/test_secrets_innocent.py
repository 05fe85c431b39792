"""What only looks like a secret stays, and no bytes break the search."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.planted_secrets import INNOCENT, innocent
from tinyllm.secrets import KINDS, Redactor, find_secrets

SIGNS = (
    *("/home/", "\\Users\\", "-home-", "@", "://", ":", "=", "+1 ", "1.2.", "555-1234", " ", "\n"),
    *("-----BEGIN A KEY-----", "-----END A KEY-----", "password: ", "seed ", "phrase ", "\\n"),
    *("eyJ", "sk-", "AKIA", "0x", "-rw-r--r-- 1 a b 1", "a1B2c3D4e5F6g7H8", "abandon ", "SG.", "é"),
)


@pytest.mark.parametrize("kind", INNOCENT)
def test_a_string_that_only_looks_like_a_secret_stays(kind: str) -> None:
    for k, text in innocent(random.Random(11), 60):
        if k == kind:
            raw = text.encode()
            assert Redactor()(raw).raw is raw


@pytest.mark.parametrize(
    "text",
    [
        "password: str = None",
        "def login(user, password): return check(password)",
        "max_tokens=4096, next_token = lexer.next_token_v2(state1)",
        "secret = getSecretById2(name)",
        "git@github.com:org/app.git, noreply@corp.io, user@example.com",
        "icon@2x.png left-pad@1.3.0 @app.route('/x') \\n@pytest.fixture",
        "https://site.dev/home/about ./home/x ~/home",
        "/Users/Shared/x /home/runner/work /home/<user>/x",
        "std::vector<int>::iterator aa:bb:cc:dd:ee:ff 12:30:45.123",
        "task-1a2b3c4d5e6f7a8b9c0d risk-assessment-2024-q3",
        "https://user:password@host.dev postgres://${USER}:${PASS}@db",
        "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz is the alphabet of a wallet",
        "@@ -1,7 +1 @@\n+1415555013200\n",
        "mask.eyJzdWIiOiIxMjM0NTY3ODkwIn0 task.st.a1b2c3d4e5f6a7b8c9d0",
        "glc_/src/component-1234567890abcdef.js https://host.dev/whsec_/a1b2c3d4e5f6a7b8c9d0",
        "\\u001b[32mcommit1a2b3c4d5e6f7a8b9c0d %3Drelease-2024-01-15-candidate",
        '"Smartphone": "1801728040", "Headphones": "6992792935", iPhone 15 2023-09-22',
        "phone: 2024-01-15, tel. 15.01.2024",
        "PASS: tests/test_auth2.py pass=10 pass: 98.5% PWD=/srv/app1 pwd: ~/src/app2",
        "docker run -u 1000:1000 -u node:node1 --user $UID:$GID1 sudo -u postgres psql",
        "mass: 12.5kg1 bypass=feature1x compass: '12345abc'",
        "密码至少8位 пароль должен быть 8chars1",
        "https://site.dev/home/about http://data/home/page1",
        "flask, docker, react, kafka, redis, numpy, pandas, django, nginx, ansible, spark, airflow",
        "nav--home-page go-home-page css",
        "seed: the random seed that every worker gets when the run starts over and data move on",
    ],
)
def test_words_and_code_stay(text: str) -> None:
    assert Redactor()(text.encode()).raw.decode() == text


@given(st.binary(max_size=300), st.sampled_from(["", "pem"]))
@settings(max_examples=150)
def test_no_bytes_break_it(raw: bytes, inside: str) -> None:
    redacted = Redactor()(raw, inside)
    assert redacted.inside in ("", "pem")
    assert redacted.found or redacted.raw is raw


@given(st.lists(st.sampled_from(SIGNS) | st.text(max_size=6), max_size=25).map("".join))
@settings(max_examples=300)
def test_spans_lie_in_the_text_whatever_it_is_made_of(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    done = 0
    for secret in find_secrets(raw):
        assert secret.kind in KINDS
        assert done <= secret.start < secret.end <= len(raw)
        done = secret.end

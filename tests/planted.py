"""Secrets that nobody has, made when a test runs, and harmless text that looks like them.

No secret stands here whole, so that no scanner of a code host takes this file for a leak.
"""

import base64
import hashlib
import random
import string
import uuid
from dataclasses import dataclass

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"
USER = "jdoe" + "ling"
SEED_WORDS = [
    "abandon", "ability", "able", "about", "above", "absent", "absorb", "abstract", "absurd",
    "abuse", "access", "accident", "account", "accuse", "achieve", "acid", "acoustic", "acquire",
    "across", "act", "action", "actor", "actress", "actual",
]  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """Texts to plant, the values in them that must be found nowhere, and what may stay."""

    messages: list[str]
    values: list[str]
    innocent: list[str]


def _draw(rng: random.Random, alphabet: str, count: int) -> str:
    return "".join(rng.choices(alphabet, k=count))


def pem(rng: random.Random) -> list[str]:
    """The lines of a private key."""
    body = base64.b64encode(rng.randbytes(600)).decode()
    name = "RSA PRIVATE" + " KEY"
    return [
        f"-----BEGIN {name}-----",
        *(body[at : at + 64] for at in range(0, len(body), 64)),
        f"-----END {name}-----",
    ]


def values(rng: random.Random) -> dict[str, tuple[str, str]]:
    """For each kind of secret, a sentence with `{}` for it, and its value."""
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(b'{"sub":"%d","iat":1}' % rng.randrange(10**9)).decode()
    number = rng.randrange(10**8, 10**9)
    seed = SEED_WORDS[:]
    rng.shuffle(seed)
    return {
        "telegram bot": ("my bot is {}, start it", f"{number}:AA" + _draw(rng, _ALNUM, 33)),
        "openrouter": ("OPENROUTER_API_KEY={}", "sk-or-" + "v1-" + _draw(rng, _HEX, 64)),
        "github": ("push with {} please", "gh" + "p_" + _draw(rng, _ALNUM, 36)),
        "aws id": ("aws_access_key_id = {}", "AK" + "IA" + _draw(rng, _BASE32, 16)),
        "aws secret": ("aws_secret_access_key = {}", _draw(rng, _ALNUM + "/+", 40)),
        "jwt": ("Authorization: Bearer {}", f"{head}.{body.rstrip('=')}." + _draw(rng, _ALNUM, 43)),
        "seed phrase": ("seed phrase: {}", " ".join(seed)),
        "wallet": ("send it to {} now", "0x" + _draw(rng, _HEX, 40)),
        "e-mail": ("write to {} about it", "marta." + "quill" + "@" + "harbourmail.net"),
        "phone": ("call me at {} tonight", "+44 20 " + "7946 " + f"{rng.randrange(1000, 10000)}"),
        "database": ("db is postgres://app:{}@db.quayside.io/prod", _draw(rng, _ALNUM, 20)),
        "home": ("see /home/{}/notes/plan.md", USER),
    }  # fmt: skip


def plant(seed: int = 0) -> Planted:
    """A conversation full of secrets; the private key is cut over three messages."""
    rng = random.Random(seed)
    found = values(rng)
    messages = [sentence.format(value) for sentence, value in found.values()]
    key = pem(rng)
    third = len(key) // 3
    messages += [
        "\n".join(key[:third]),
        "\n".join(key[third : 2 * third]),
        "\n".join(key[2 * third :]),
    ]
    secret = [value for _, value in found.values()] + key[1:-1]
    return Planted(messages, secret, innocent(rng))


def innocent(rng: random.Random, count: int = 200) -> list[str]:
    """Names in camelCase, git hashes, versions, digests and the like."""
    words = ["get", "User", "By", "Id", "parse", "Json", "Stream", "Handler", "async", "Cache"]
    makers = [
        lambda: rng.choice(words).lower() + "".join(rng.choices(words, k=rng.randrange(2, 7))),
        lambda: _draw(rng, _HEX, 40),
        lambda: _draw(rng, _HEX, rng.randrange(7, 13)),
        lambda: f"v{rng.randrange(20)}.{rng.randrange(30)}.{rng.randrange(99)}",
        lambda: "sha256:" + hashlib.sha256(rng.randbytes(8)).hexdigest(),
        lambda: f"src/{rng.choice(words)}/{rng.choice(words)}_test.py:{rng.randrange(900)}",
        lambda: f"2026-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}T10:00:00Z",
    ]
    return [rng.choice(makers)() for _ in range(count)]


def random_uuid(rng: random.Random) -> str:
    """A UUID, which becomes `<id>`."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))

"""Secrets made up at random, with right checksums, and strings that only look like secrets.

No secret is written out in this file: scanners of hosting sites would block it.
"""

import base64
import hashlib
import json
import random
import string
import zlib
from collections.abc import Callable, Mapping

ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "_-"
HEX = "0123456789abcdef"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
BASE64 = ALNUM + "+/"
PEOPLE = ("jane.doe", "marek_k", "li-wei", "omar77", "sofia.rossi", "tkowalski", "nguyen.anh")
DOMAINS = ("gmail.com", "mail.ru", "proton.me", "acme-corp.io", "uni-koeln.de", "qq.com")
# Words of no list in particular, which a phrase can be drawn from without the list.
WORDS = tuple(
    b"abandon ability able about above absent absorb abstract absurd abuse access accident account "
    b"accuse achieve acid acoustic acquire across act action actor actress actual adapt add addict "
    b"address adjust admit adult advance advice aerobic affair afford afraid again age agent agree "
    b"ahead aim air airport aisle alarm album alcohol alert alien all alley allow almost alone"
    .decode().split()
)  # fmt: skip

Draw = Callable[[random.Random], str]


def draw(rng: random.Random, alphabet: str, size: int) -> str:
    """`size` characters of `alphabet`."""
    return "".join(rng.choice(alphabet) for _ in range(size))


def prefixed(*parts: str, alphabet: str = ALNUM, size: int) -> Draw:
    """A prefix, handed over in parts, and random characters after it."""
    return lambda rng: "".join(parts) + draw(rng, alphabet, size)


def base58check(payload: bytes) -> str:
    """Bitcoin's base58check of a payload with its version byte."""
    raw = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        text = BASE58[rest] + text
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + text


def bech32(prefix: str, data: list[int], constant: int = 1) -> str:
    """Bech32 of five-bit values (BIP 173)."""
    values = [*(ord(c) >> 5 for c in prefix), 0, *(ord(c) & 31 for c in prefix), *data, *[0] * 6]
    checksum = 1
    for value in values:
        top, checksum = checksum >> 25, (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, term in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            checksum ^= term if top >> bit & 1 else 0
    checksum ^= constant
    check = [checksum >> 5 * (5 - place) & 31 for place in range(6)]
    return prefix + "1" + "".join(BECH32[value] for value in [*data, *check])


def _jwt(rng: random.Random) -> str:
    def part(value: object) -> str:
        raw = json.dumps(value).encode()
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

    header = part({"alg": "HS256", "typ": "JWT"})
    return f"{header}.{part({'sub': draw(rng, HEX, 12), 'iat': 17})}.{draw(rng, WORD, 43)}"


def _pem(rng: random.Random) -> str:
    lines = [draw(rng, BASE64, 64) for _ in range(rng.randint(3, 12))]
    label = rng.choice(("RSA ", "EC ", "OPENSSH ", "")) + "PRIVATE" + " KEY"
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"))


def _monero_phrase(rng: random.Random) -> str:
    words = [draw(rng, string.ascii_lowercase, rng.randint(4, 8)) for _ in range(24)]
    return " ".join((*words, words[zlib.crc32("".join(w[:3] for w in words).encode()) % 24]))


def _card(rng: random.Random) -> str:
    digits = "4" + draw(rng, string.digits, 14)
    total = sum(sum(divmod(int(d) * (2 - place % 2), 10)) for place, d in enumerate(digits))
    number = digits + str(-total % 10)
    return " ".join(number[place : place + 4] for place in range(0, 16, 4))


def _iban(rng: random.Random) -> str:
    account = draw(rng, string.digits, 18)
    check = 98 - int(account + "131400") % 97
    return f"DE{check:02}{account}"


def _public_ip(rng: random.Random) -> str:
    return f"{rng.choice((45, 81, 93, 185, 203))}.{rng.randint(21, 255)}." + ".".join(
        str(rng.randint(21, 254)) for _ in range(2)
    )


def _basic_auth(rng: random.Random) -> str:
    return f"{rng.choice(PEOPLE)}:{draw(rng, ALNUM, 12)}"


def _discord(rng: random.Random) -> str:
    user = base64.b64encode(draw(rng, string.digits[1:], 18).encode()).decode()
    return f"{'M' + user[1:]}.{draw(rng, WORD, 6)}.{draw(rng, WORD, 38)}"


# Each secret by its kind. `{}` in CONTEXTS is where it goes; what a detector must leave none of
# is the secret itself.
SECRETS: Mapping[str, Draw] = {
    "anthropic": prefixed("sk-", "ant-", "api03-", alphabet=WORD, size=95),
    "openai": prefixed("sk-", size=48),
    "openai project": prefixed("sk-", "proj-", alphabet=WORD, size=120),
    "openrouter": prefixed("sk-", "or-", "v1-", alphabet=HEX, size=64),
    "github classic": prefixed("gh", "p_", size=36),
    "github oauth": prefixed("gh", "o_", size=36),
    "github server": prefixed("gh", "s_", size=36),
    "github fine-grained": lambda rng: (
        f"github{'_pat_'}{draw(rng, ALNUM, 22)}_{draw(rng, ALNUM, 59)}"
    ),
    "gitlab": prefixed("gl", "pat-", alphabet=WORD, size=20),
    "aws key id": prefixed("AK", "IA", alphabet=string.ascii_uppercase + "234567", size=16),
    "google api": prefixed("AI", "za", alphabet=WORD, size=35),
    "google oauth": prefixed("GOC", "SPX-", alphabet=WORD, size=28),
    "slack bot": lambda rng: f"xox{'b-'}{draw(rng, string.digits, 12)}-{draw(rng, ALNUM, 24)}",
    "stripe": prefixed("sk_", "live_", size=24),
    "sendgrid": lambda rng: f"SG{'.'}{draw(rng, WORD, 22)}.{draw(rng, WORD, 43)}",
    "twilio": prefixed("S", "K", alphabet=HEX, size=32),
    "mailgun": prefixed("ke", "y-", alphabet=HEX, size=32),
    "npm": prefixed("np", "m_", size=36),
    "pypi": prefixed("py", "pi-", "AgEIcHlwaS5vcmc", alphabet=WORD, size=80),
    "hugging face": prefixed("h", "f_", alphabet=string.ascii_letters, size=34),
    "groq": prefixed("gs", "k_", size=52),
    "xai": prefixed("xa", "i-", size=80),
    "replicate": prefixed("r8", "_", size=37),
    "perplexity": prefixed("pp", "lx-", size=48),
    "digitalocean": prefixed("dop", "_v1_", alphabet=HEX, size=64),
    "shopify": prefixed("shp", "at_", alphabet=HEX, size=32),
    "square": prefixed("sq0", "atp-", alphabet=WORD, size=22),
    "databricks": prefixed("da", "pi", alphabet=HEX, size=32),
    "notion": prefixed("nt", "n_", size=46),
    "linear": prefixed("lin", "_api_", size=40),
    "supabase": prefixed("sb", "p_", alphabet=HEX, size=40),
    "doppler": prefixed("dp", ".pt.", size=43),
    "age": prefixed("AGE-", "SECRET-", "KEY-1", alphabet=BECH32.upper(), size=58),
    "telegram": lambda rng: f"{rng.randint(10**8, 10**10 - 1)}:{'AA'}{draw(rng, WORD, 33)}",
    "discord bot": _discord,
    "jwt": _jwt,
    "pem": _pem,
    "bitcoin": lambda rng: base58check(b"\0" + rng.randbytes(20)),
    "bitcoin bech32": lambda rng: bech32("bc", [0, *(rng.randrange(32) for _ in range(32))]),
    "bitcoin private key": lambda rng: base58check(b"\x80" + rng.randbytes(32) + b"\1"),
    "ethereum": prefixed("0", "x", alphabet=HEX, size=40),
    "monero": prefixed("4", alphabet=BASE58, size=94),
    "public ip": _public_ip,
    "iban": _iban,
    "e-mail": lambda rng: f"{rng.choice(PEOPLE)}{rng.randint(1, 999)}@{rng.choice(DOMAINS)}",
    "phone": lambda rng: (
        f"+{rng.choice((1, 44, 49, 48, 91))} {draw(rng, '23456789', 3)} "
        f"{draw(rng, string.digits, 3)} {draw(rng, '123456789', 4)}"
    ),
}
CONTEXTS: tuple[str, ...] = (
    "here it is: {} please keep it safe",
    "I tried `{}` but the request fails with a 401.",
    '{{"name": "prod", "value": "{}", "enabled": true}}',
    "VALUE={}\nDEBUG=1\n",
    '{{\\"value\\": \\"{}\\", \\"n\\": 3}}',
    "curl https://api.host.dev/v2/run \\\n  -H 'X-Value: {}'",
    "config:\n  value: {}\n  retries: 3\n",
    "> {}\n\nok, got it",
)
# Secrets that only what stands before them gives away, with the texts they stand in.
LABELLED: Mapping[str, tuple[Draw, tuple[str, ...]]] = {
    "aws secret": (
        lambda rng: draw(rng, BASE64, 40),
        ("aws_secret_access_key = {}\n", "AWS_SECRET_ACCESS_KEY={}\n", '"SecretAccessKey": "{}",'),
    ),
    "generic api key": (
        lambda rng: draw(rng, rng.choice((HEX, ALNUM)), 32),
        ('"api_key": "{}"', "API_KEY={}\n", "api-key: {}", "my api key is {}", "?api_key={}&n=1"),
    ),
    "bearer": (
        lambda rng: draw(rng, WORD, 40),
        ("Authorization: Bearer {}", '"authorization": "Bearer {}"', "-H 'Auth: Bearer {}'"),
    ),
    "azure storage": (
        lambda rng: draw(rng, BASE64, 86) + "==",
        ("AccountName=store;AccountKey={};EndpointSuffix=core.windows.net",),
    ),
    "heroku": (
        lambda rng: "-".join(draw(rng, HEX, size) for size in (8, 4, 4, 4, 12)),
        ("HEROKU_API_KEY={}", 'heroku_api_key: "{}"'),
    ),
    "password": (
        lambda rng: draw(rng, string.ascii_lowercase, 6) + draw(rng, string.digits + "!#%", 4),
        ('"password": "{}"', "DB_PASSWORD={}\n", "password: {}\n", "the password is {}"),
    ),
    "url password": (
        _basic_auth,
        ("postgres://{}@db.host.dev:5432/app", "git clone https://{}@git.host.dev/a/b.git"),
    ),
    "slack webhook": (
        lambda rng: draw(rng, ALNUM, 24),
        ("https://hooks.slack.com/" + "services/T0ABCDEFG/B0ABCDEFGHI/{}",),
    ),
    "discord webhook": (
        lambda rng: draw(rng, WORD, 68),
        ("https://discord.com/api/" + "webhooks/112233445566778899/{}",),
    ),
    "seed phrase of 12": (
        lambda rng: " ".join(rng.sample(WORDS, 12)),
        ("seed phrase: {}", '"mnemonic": "{}"', "My seed phrase is {}.", "SEED={}"),
    ),
    "seed phrase of 24": (
        lambda rng: " ".join(rng.sample(WORDS, 24)),
        ("seed phrase: {}", '"seed": "{}"', "recovery phrase:\n\n{}\n"),
    ),
    "monero seed phrase": (_monero_phrase, ("monero seed: {}", '"seed": "{}"', "mnemonic seed {}")),
    "card": (_card, ("card: {} 12/29", "{}", 'pay with "{}"')),
    "solana": (
        lambda rng: draw(rng, BASE58, 44),
        ("solana wallet: {}", '"pubkey": "{}"', "send SOL to my phantom wallet {}"),
    ),
    "home path": (
        lambda rng: rng.choice(PEOPLE).partition(".")[0] + str(rng.randint(1, 99)),
        (
            "cd /home/{}/src && make",
            "File \"/Users/{}/app/main.py\", line 3",
            "C:\\Users\\{}\\Documents\\a.txt",
            "C:\\\\Users\\\\{}\\\\a.txt",
            "file:///home/{}/a.md",
            "~/.claude/projects/-home-{}-proj/a.jsonl",
        ),
    ),
}  # fmt: skip


def leaks(secret: str, text: str) -> bool:
    """True if the secret, or 16 characters of it in a row, still stand in the text."""
    starts = range(0, max(len(secret) - 15, 1), 8)
    return any(secret[start : start + 16] in text for start in starts)


def planted(rng: random.Random, each: int) -> list[tuple[str, str, str]]:
    """`each` texts of every kind: kind, text, the secret in it."""
    made: list[tuple[str, str, str]] = []
    for kind, make in SECRETS.items():
        for place in range(each):
            secret = make(rng)
            context = CONTEXTS[place % len(CONTEXTS)]
            if "\\" in context or "{{" in context:
                text = context.format(secret.replace("\n", "\\n"))
                secret = secret.replace("\n", "\\n")
            else:
                text = context.format(secret)
            made.append((kind, text, secret))
    for kind, (make, contexts) in LABELLED.items():
        for place in range(each):
            secret = make(rng)
            made.append((kind, contexts[place % len(contexts)].format(secret), secret))
    return made


def _camel(rng: random.Random) -> str:
    parts = rng.sample(
        ("get", "user", "Http", "response", "by", "Id", "cache", "v2", "To", "Json"), 5
    )
    return parts[0].lower() + "".join(part.capitalize() for part in parts[1:]) + "Handler"


def _snake(rng: random.Random) -> str:
    return "_".join((*rng.sample(WORDS, 4), str(rng.randint(1, 2048))))


def _number(rng: random.Random) -> str:
    return str(rng.randint(1, 99))


# `{}` is what changes from one string to the next.
INNOCENT: Mapping[str, tuple[str, Draw]] = {
    "git hash": ("commit {}", lambda rng: draw(rng, HEX, 40)),
    "short git hash": ("index {}..0000000 100644", lambda rng: draw(rng, HEX, 7)),
    "sha256": ("sha256:{}", lambda rng: draw(rng, HEX, 64)),
    "integrity": ('"integrity": "sha512-{}=="', lambda rng: draw(rng, BASE64, 86)),
    "md5": ("{}  archive.tar.gz", lambda rng: draw(rng, HEX, 32)),
    "camelCase": ("{}", _camel),
    "snake_case": ("{}", _snake),
    "constant": ("{}", lambda rng: _snake(rng).upper()),
    "image name": ("![shot]({}.png)", lambda rng: draw(rng, WORD, 22)),
    "image path": ('src="/_next/static/media/{}.webp"', lambda rng: draw(rng, ALNUM, 20)),
    "version": ("1.{}.0-rc.1", _number),
    "version of four": ("Chrome/1{}.0.0.0 Safari/537.36", _number),
    "file name": ("src/{}/index.test.tsx", _camel),
    "uuid": ("{}", lambda rng: "-".join(draw(rng, HEX, size) for size in (8, 4, 4, 4, 12))),
    "timestamp": ("2026-01-15T12:30:45.{}Z", lambda rng: draw(rng, string.digits, 3)),
    "epoch": ('"created_at": 17{}', lambda rng: draw(rng, string.digits, 11)),
    "css colour": ("color: #{};", lambda rng: draw(rng, HEX, 6)),
    "code": ("token = tokenizer.decode(ids[{}:], skip_special_tokens=True)", _number),
    "code about passwords": ('password = os.environ["{}"]', lambda rng: _snake(rng).upper()),
    "schema": ('{{"password": {{"type": "string", "minLength": {}}}, "api_key": null}}', _number),
    "placeholder": ("export OPENAI_API_KEY=your-api-key-here  # {}", _number),
    "variable": ("Authorization: Bearer ${{ACCESS_TOKEN_{}}}", _number),
    "decorator": ("@app.route('/users/{}')\ndef users(): ...", _number),
    "package": ("npm i @types/node@{}.0.3 left-pad@1.3.0", _number),
    "retina image": ("logo{}@2x.png", _number),
    "ssh remote": ("git@github.com:org/{}.git", _camel),
    "private ip": ("http://192.168.1.{}:8080", _number),
    "loopback": ("listening on 127.0.0.1:{}", lambda rng: str(rng.randint(1024, 65535))),
    "price": ("${},999.00", _number),
    "diff hunk": ("@@ -{},7 +1234567,12 @@ def f(x):", _number),
    "ids": ("order #{} is late", lambda rng: draw(rng, string.digits, 12)),
    "system path": ("/home/ubuntu/{} /Users/runner/work /home/node/app", _snake),
    "machine address": ("0x{} <main+7>", lambda rng: draw(rng, HEX, 16)),
    "prose": ("It can {}, and is not a secret.", lambda rng: " ".join(rng.sample(WORDS, 7))),
    "word list": ("tags: {}", lambda rng: ", ".join(rng.sample(WORDS, 6))),
    "model name": ("model: Qwen3-{}B-Instruct-2507-Q4_K_M", _number),
    "image tag": ("ghcr.io/org/app:sha-{}", lambda rng: draw(rng, HEX, 12)),
    "url": ("https://host.dev/a/{}?page=2&sort=asc", lambda rng: draw(rng, HEX, 12)),
    "video": ("https://youtu.be/{}", lambda rng: draw(rng, WORD, 11)),
    "number": ("x = 0.{} + 1", lambda rng: draw(rng, string.digits, 16)),
}  # fmt: skip


def innocent(rng: random.Random, each: int) -> list[tuple[str, str]]:
    """`each` strings of every kind that hold no secret: kind, text."""
    return [
        (kind, text.format(make(rng)))
        for kind, (text, make) in INNOCENT.items()
        for _ in range(each)
    ]

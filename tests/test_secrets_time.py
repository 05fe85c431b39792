"""Time grows with the text, whatever it is made of."""

import time
from collections.abc import Callable

import pytest

from tinyllm.secrets import find_secrets

BEGIN = b"-----BEGIN A " + b"KEY-----"
WORDS = b"abandon ability able about above absent absorb abstract absurd abuse access accident "
SMALL = 20_000
TIMES = 16


def again(piece: bytes) -> Callable[[int], bytes]:
    return lambda size: (piece * (size // len(piece) + 1))[:size]


def numbered(piece: bytes, end: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: b"".join(piece % n for n in range(size // len(piece % 0) + 1)) + end


TEXTS: dict[str, Callable[[int], bytes]] = {
    "one letter": again(b"a"),
    "one digit": again(b"4"),
    "heads of web tokens": again(b"eyJa1."),
    "blocks that nothing ends": again(BEGIN + b"\n"),
    "blocks behind headers": again(b"\nAbc: " + BEGIN),
    "blocks with a header": again(BEGIN + b"\nAbc: d\n"),
    "signs of addresses": again(b"a@a."),
    "colons": again(b"f:"),
    "words of phrases": again(b"seed " + WORDS),
    "labels of passwords": again(b"password:"),
    "passwords": numbered(b"password=a1!bc%07d "),
    "names of homes": numbered(b"/home/us%07d ", end=b"@"),
    "filler with a vendor's head": again(b"gl" + b"pat-aaaaaaaaaa."),
    "filler with a vendor's head in parts": again(b"dp." + b"st.aaaaaaaaaaaaaaaa"),
    "labelled values in a row": again(b"token=aB3dE5fG7hJ9kL1m=" + b"a" * 80),
    "labelled values with dots": again(b"secret=aB3dE5fG7hJ9kL1m." + b"a" * 90),
    "numbers in groups": again(b"4111 1111 1111 1111 "),
    "numbers with dots": again(b"45.66."),
    "lines of listings": again(b"-rw-r--r-- 1 a b 1\n"),
    "short labels of passwords": again(b"pass='"),
    "users of commands": again(b"-u a:"),
    "labels of phones": again(b"phone tel: "),
    "labels in Cyrillic": again("пароль:".encode()),
    "prompts": again(b"[a@b c]$ a@b ~/c "),
    "cookies": again(b"cookie: a=b; "),
    "users in addresses": again(b"://aaaaaaaaaaaaaaaa:aaaaaaaaaa"),
}


def seconds(raw: bytes) -> float:
    start = time.process_time()
    find_secrets(raw)
    return time.process_time() - start


@pytest.mark.parametrize("made_of", TEXTS)
def test_time_is_linear_in_the_text(made_of: str) -> None:
    small, large = TEXTS[made_of](SMALL), TEXTS[made_of](SMALL * TIMES)
    taken = min(seconds(small) for _ in range(3))
    # Quadratic time would be 256 times as long.
    assert seconds(large) < max(4 * TIMES * taken, 0.02)

"""What is noise, and what only looks like it."""

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyllm.cleaning import Cleaner, utf8_length

UUID = "123e4567-e89b-12d3-a456-426614174000"
HEX32 = "0123456789abcdef0123456789ABCDEF"
CLEAN = Cleaner()
BASE64 = base64.b64encode(random.Random(1).randbytes(3000)).decode()


def scrub(text: str) -> tuple[str, int]:
    """The clean text, and how many bytes went as noise."""
    clean = CLEAN(text)
    return clean.text, clean.noise


@pytest.mark.parametrize(
    "noise",
    [
        UUID,
        UUID.upper(),
        HEX32,
        "toolu_01A09q90qw90lq917835lq9X",
        "toolu_bdrk_01A09q90qw90lq917835lq9X",
        "call_9pw1qnYScqvGrCH58HWCvFH6",
        "call_" + UUID,
        "call_00_9pw1qnYScqvGrCH58HWCvFH6",
        "chatcmpl-AsdF9876qwerZXCV1234tyui5",
        "chatcmpl-" + HEX32,
        "chatcmpl-tool-" + HEX32,
        "msg_01XFDUDYJgAACzvnptvVoYEL",
        "msg_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "id={} done", '"{}"', "é {}\n"])
def test_an_id_becomes_a_placeholder(noise, frame):
    assert scrub(frame.format(noise))[0] == frame.format("<id>")


@pytest.mark.parametrize("noise", [UUID, HEX32])
def test_an_id_behind_an_unknown_prefix_becomes_a_placeholder(noise):
    assert scrub(f"session_{noise}.") == ("session_<id>.", len(noise) - 4)


@pytest.mark.parametrize(
    "text",
    [
        "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",  # git, SHA-1
        "commit 1a2b3c4 and 0f1e2d3c4b5a",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",  # SHA-256
        "getElementByIdAndAttachEventListenerToIt",
        "call_constructorWithDefaultArguments(1)",
        "call_user_function_with_arguments2",
        "msg_type, msg_id, call_back, toolu_",
        "v1.22.333-rc.4+build.5 and 3.11.0a1",
        "2024-01-01-0000-1111-22222222",
        "aaaaaaaa" * 100,
        "ACGT" * 500,
        "/a/very/long/path/to/some/file/in/a/deep/folder" * 20,
        "0123456789" * 60,
        "word " * 200,
        "e" * 64 + "\n" + "f" * 64,
        "naïve café ☃ 𝄞 \u2028 tail",
        "<id> and [0m and \\x1b[31m in code",
    ],
)
def test_innocent_text_stays_as_it_is(text):
    assert scrub(text) == (text, 0)


@pytest.mark.parametrize(
    ("noisy", "clean"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07shell\x1b[?25l", "shell"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bplain\x1b", "plain"),
        (f"![shot](data:image/png;base64,{BASE64})", "![shot]()"),
        ("data:text/plain;charset=utf-8;base64,SGk=.", "."),
        (f"before {BASE64}== after", "before  after"),
        (f"é{BASE64}\nThe end", "é\nThe end"),
    ],
)
def test_escapes_and_base64_go(noisy, clean):
    assert scrub(noisy)[0] == clean


@pytest.mark.parametrize("width", [64, 76])
def test_base64_wrapped_over_lines_goes_whole(width):
    lines = [BASE64[at : at + width] for at in range(0, len(BASE64), width)]
    assert scrub("key:\n" + "\n".join(lines) + "=\nend\n")[0] == "key:\n\nend\n"


def test_lone_surrogates_become_replacement_characters():
    assert scrub("a\ud800b\udcff") == ("a\ufffdb\ufffd", 0)


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_comes_out_encodable_and_the_bytes_add_up(text):
    clean, removed = scrub(text)
    assert len(clean.encode()) + removed == utf8_length(text)
    assert scrub(clean) == (clean, 0)


SHARDS = ["\x1b", "[", "]", "m", "0;", "\x07", "data:", ";base64,", "AAAA", "-", "call_", "toolu_"]
WORDS = [UUID, HEX32, "a1B2c3D4e5F6g7H8", "\n", "=", " ", "é", BASE64[:70], BASE64[:300], "<id>"]
pieces = st.sampled_from([*SHARDS, *WORDS])


@given(st.lists(pieces, max_size=14).map("".join))
def test_noise_in_any_mixture_is_counted_exactly(text):
    clean, removed = scrub(text)
    assert len(clean.encode()) + removed == utf8_length(text)

"""The English word list of BIP 39, which the package `mnemonic` (MIT) has."""

from functools import cache
from importlib.resources import files


@cache
def seed_words() -> frozenset[bytes]:
    """The 2,048 words; none where the package isn't installed."""
    try:
        listed = files("mnemonic").joinpath("wordlist", "english.txt").read_bytes()
    except (ModuleNotFoundError, FileNotFoundError):
        return frozenset()
    return frozenset(listed.split())

"""Checksums and tests of shape that tell a secret from text that looks like one."""

import hashlib
import zlib
from collections.abc import Sequence

_BASE58 = {
    byte: value
    for value, byte in enumerate(b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
}
_BECH32 = {byte: value for value, byte in enumerate(b"qpzry9x8gf2tvdw0s3jn54khce6mua7l")}
_BECH32_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_BECH32_CONSTANTS = (1, 0x2BC830A3)  # bech32 (BIP 173) and bech32m (BIP 350)

_FEWEST_KINDS = 8
DIGITS = b"0123456789"
_HEX = b"0123456789abcdefABCDEF"
# Small letters, capitals and digits become one byte each.
_CLASSES = bytes(
    ord("a") if 97 <= byte <= 122 else ord("A") if 65 <= byte <= 90 else ord("0")
    if 48 <= byte <= 57 else ord(".")
    for byte in range(256)
)  # fmt: skip


def is_luhn(number: bytes) -> bool:
    """True if the digits have the check digit of payment cards (ISO/IEC 7812-1)."""
    digits = [byte - 48 for byte in reversed(number)]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + doubled) % 10 == 0


def is_iban(number: bytes) -> bool:
    """True if letters and digits without spaces have the check digits of an IBAN (ISO 13616)."""
    turned = number[4:] + number[:4]
    return int("".join(str(int(chr(byte), 36)) for byte in turned)) % 97 == 1


def base58check(text: bytes) -> int:
    """Bytes of the payload of Bitcoin's base58check, its version included; 0 if it isn't that."""
    number = 0
    for byte in text:
        value = _BASE58.get(byte)
        if value is None:
            return 0
        number = number * 58 + value
    zeros = len(text) - len(text.lstrip(b"1"))
    raw = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")
    if len(raw) < 5:
        return 0
    digest = hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()
    return len(raw) - 4 if digest[:4] == raw[-4:] else 0


def is_bech32(text: bytes) -> bool:
    """True if the text, in one letter case, has a bech32 or bech32m checksum."""
    text = text.lower()
    prefix, separator, data = text.rpartition(b"1")
    values = [_BECH32.get(byte, -1) for byte in data]
    if not separator or not prefix or len(data) < 6 or min(values) < 0:
        return False
    checksum = 1
    for value in [*(b >> 5 for b in prefix), 0, *(b & 31 for b in prefix), *values]:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_BECH32_GENERATOR):
            if top >> bit & 1:
                checksum ^= generator
    return checksum in _BECH32_CONSTANTS


def is_monero_seed(words: Sequence[bytes]) -> bool:
    """True if the last of 25 words is the one that Monero's checksum of the others picks."""
    if len(words) != 25:
        return False
    trimmed = b"".join(word[:3] for word in words[:24])
    return words[zlib.crc32(trimmed) % 24][:3] == words[24][:3]


def has_digit(text: bytes) -> bool:
    """True if a digit stands in the text."""
    return len(text.translate(None, DIGITS)) < len(text)


def is_hex(text: bytes) -> bool:
    """True if all are hex digits."""
    return not text.translate(None, _HEX)


def is_mixed(text: bytes) -> bool:
    """True if it has several kinds of bytes, as filler such as `xxxx…` has not."""
    return len(set(text)) >= _FEWEST_KINDS


def is_varied(text: bytes) -> bool:
    """True if it isn't filler such as `xxxx…` or `your-key-here`."""
    if len(set(text)) < _FEWEST_KINDS:
        return False
    shape = text.translate(_CLASSES)
    return b"0" in shape or (b"A" in shape and b"a" in shape)


def is_random(text: bytes) -> bool:
    """True if letters and digits alternate as they do in random text, and not in names.

    Of random hex digits 47% and of random base 62 some 62% differ in kind from the one before;
    a quarter is asked for, save of hex digits, and two borders between letters and digits.
    """
    shape = text.translate(_CLASSES)
    borders = shape.count(b"a0") + shape.count(b"0a") + shape.count(b"A0") + shape.count(b"0A")
    if borders < 2 or len(set(text)) < _FEWEST_KINDS:
        return False
    changes = borders + shape.count(b"aA") + shape.count(b"Aa")
    return 4 * changes >= len(text) - 1 or is_hex(text.replace(b"-", b""))

"""Texts such as e'a\n\x41\u00e9': bytes by number must make UTF-8 together, as PostgreSQL's scanner sees to it.

sqlglot takes each byte for a character.
"""

from __future__ import annotations

import re

from risingpy.errors import SqlError, SyntaxError_

_PART = re.compile(
    r"""\\(?:(?P<octal>[0-7]{1,3}) | x(?P<hex>[0-9a-fA-F]{1,2}) | (?P<wide>u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})
    | (?P<broken>[uU]) | (?P<letter>.)) | (?P<quote>'') | (?P<plain>[^\\']+)""",
    re.DOTALL | re.VERBOSE,
)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LARGEST = 0x10FFFF
_MOST_SHOWN = 8  # bytes of a wrong sequence in the error


def decode_escapes(written: str, start: int) -> str:
    """What the constant stands for, given with its e and its quotes; `start` counts characters before it.

    Raises 22021 for bytes that are no UTF-8, 42601 and 22025 for Unicode escapes that are none.
    """
    out = bytearray()
    high: int | None = None  # the first half of a surrogate pair
    for part in _PART.finditer(written, 2, len(written) - 1):
        position = start + part.start() + 1
        code = _code_point(part, position)
        if (high is not None) is not (code is not None and 0xDC00 <= code < 0xE000):
            raise SyntaxError_("invalid Unicode surrogate pair", position=position)
        if code is None:
            out += _bytes_of(part)
        elif 0xD800 <= code < 0xDC00:
            high = code
        else:
            out += chr(code if high is None else 0x10000 + (high - 0xD800) * 0x400 + code - 0xDC00).encode()
            high = None
    if high is not None:
        raise SyntaxError_("invalid Unicode surrogate pair", position=start + len(written))
    return _text_of(bytes(out))


def _code_point(part: re.Match[str], position: int) -> int | None:
    """The code point of a Unicode escape; None if the part is none."""
    if part["broken"]:
        hint = r"Unicode escapes must be \uXXXX or \UXXXXXXXX."
        raise SqlError("invalid Unicode escape", sqlstate="22025", position=position, hint=hint)
    if not part["wide"]:
        return None
    code = int(part["wide"][1:], 16)
    if not 0 < code <= _LARGEST:
        raise SyntaxError_(f'invalid Unicode escape value at or near "{part[0]}"', position=position)
    return code


def _bytes_of(part: re.Match[str]) -> bytes:
    if part["octal"]:
        return bytes([int(part["octal"], 8) & 0xFF])
    if part["hex"]:
        return bytes([int(part["hex"], 16)])
    text = "'" if part["quote"] else part["plain"] or _LETTERS.get(part["letter"], part["letter"])
    return text.encode()


def _text_of(data: bytes) -> str:
    zero = data.find(0)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        wrong = error.start if zero < 0 else min(zero, error.start)
    else:
        if zero < 0:
            return text
        wrong = zero
    shown = " ".join(f"0x{byte:02x}" for byte in data[wrong : wrong + min(_length(data[wrong]), _MOST_SHOWN)])
    raise SqlError(f'invalid byte sequence for encoding "UTF8": {shown}', sqlstate="22021")


def _length(lead: int) -> int:
    """How many bytes a character has that begins with this one."""
    if lead & 0xE0 == 0xC0:
        return 2
    if lead & 0xF0 == 0xE0:
        return 3
    return 4 if lead & 0xF8 == 0xF0 else 1

"""Texts whose characters are written as code points: unistr('\\0441'), and how U&'!0441' UESCAPE '!' writes them."""

from __future__ import annotations

import re
from functools import lru_cache

from risingpy.errors import SqlError

LARGEST = 0x10FFFF


@lru_cache(maxsize=64)
def escapes(mark: str, *further: str) -> re.Pattern[str]:
    """What `decode` looks for: `mark` twice, or before 4 digits, + and 6 digits, or one of the `further` patterns.

    These have the digits in a group.
    """
    escaped = re.escape(mark)
    forms = ("([0-9a-fA-F]{4})", r"\+([0-9a-fA-F]{6})", *further)
    return re.compile(f"{escaped}(?:{escaped}|{'|'.join(forms)}|(?P<other>.?))", re.DOTALL)


def decode(text: str, pattern: re.Pattern[str], forms: str) -> str:
    """`text` with the characters that its escapes stand for; `forms` says in a hint how escapes may look.

    Raises 42601 for what is no escape or no character.
    """

    def character(found: re.Match[str]) -> str:
        if found["other"] is not None:
            hint = f"Unicode escapes must be {forms}."
            raise SqlError("invalid Unicode escape", sqlstate="42601", hint=hint)
        if found.lastindex is None:  # the mark twice
            return found[0][0]
        code = int(found[found.lastindex], 16)
        if not 0 < code <= LARGEST:
            raise SqlError(f"invalid Unicode escape value: {code:04X}", sqlstate="42601")
        return chr(code)

    plain = pattern.sub(character, text)
    try:
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise SqlError("invalid Unicode surrogate pair", sqlstate="42601") from None

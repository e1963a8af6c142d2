"""SASLprep (RFC 4013): one form for all spellings of a password that look the same to people.

As in PostgreSQL, a password that is no UTF-8 or holds a prohibited character is used as it is.
"""

from __future__ import annotations

import stringprep
import unicodedata

_PROHIBITED = (
    stringprep.in_table_c12,  # spaces that are not ASCII's; mapped away before
    stringprep.in_table_c21_c22,  # control characters
    stringprep.in_table_c3,  # private use
    stringprep.in_table_c4,  # not characters
    stringprep.in_table_c5,  # surrogates
    stringprep.in_table_c6,  # not for plain text
    stringprep.in_table_c7,  # not for canonical representation
    stringprep.in_table_c8,  # changes of display, and deprecated characters
    stringprep.in_table_c9,  # tags
    stringprep.in_table_a1,  # unassigned in Unicode 3.2, on which the RFC stands
)


def saslprep(password: str) -> str:
    """The prepared password; the password itself if it cannot be prepared."""
    if password.isascii():  # nothing to map or to normalize
        return password
    mapped = "".join(
        " " if stringprep.in_table_c12(character) else character
        for character in password
        if not stringprep.in_table_b1(character)
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    if not prepared or any(prohibited(character) for character in prepared for prohibited in _PROHIBITED):
        return password
    return prepared if _directions_agree(prepared) else password


def _directions_agree(text: str) -> bool:
    """RFC 3454, section 6: a text with characters from right to left has no others, and begins and ends with one."""
    from_right = [stringprep.in_table_d1(character) for character in text]
    if not any(from_right):
        return True
    return from_right[0] and from_right[-1] and not any(stringprep.in_table_d2(character) for character in text)

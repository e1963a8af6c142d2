"""uuid: 16 bytes, in text `a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11`."""

from __future__ import annotations

import re

from risingpy.errors import InvalidTextRepresentation
from risingpy.types.hexadecimals.fixed_bytes import HexadecimalForms
from risingpy.types.sql_type import SqlType

_FORM = re.compile(r"([0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4}")
_FORMS = HexadecimalForms("00000000-0000-0000-0000-000000000000")

format_value = _FORMS.format_value
encode, decode = _FORMS.encode, _FORMS.decode
text_column, binary_column = _FORMS.text_column, _FORMS.binary_column
parse_plain = _FORMS.parse_plain


def parse(type_: SqlType, text: str, time_zone: str) -> bytes:
    """Accepts braces around, capital letters, and hyphens after any group of four digits or none."""
    bare = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    if not _FORM.fullmatch(bare):
        raise InvalidTextRepresentation(f'invalid input syntax for type uuid: "{text}"')
    return bytes.fromhex(bare.replace("-", ""))

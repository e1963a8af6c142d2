"""macaddr: 6 bytes, in text `08:00:2b:01:02:03`."""

from __future__ import annotations

import re

from risingpy.errors import InvalidTextRepresentation
from risingpy.types.hexadecimals.fixed_bytes import HexadecimalForms
from risingpy.types.sql_type import SqlType

_PAIR = "[0-9a-fA-F]{2}"
_FORM = re.compile(
    rf"\s*({_PAIR}(:{_PAIR}){{5}}|{_PAIR}(-{_PAIR}){{5}}|[0-9a-fA-F]{{6}}[:-][0-9a-fA-F]{{6}}"
    rf"|[0-9a-fA-F]{{4}}([.-])[0-9a-fA-F]{{4}}\4[0-9a-fA-F]{{4}}|[0-9a-fA-F]{{12}})\s*"
)
_FORMS = HexadecimalForms("00:00:00:00:00:00")

format_value = _FORMS.format_value
encode, decode = _FORMS.encode, _FORMS.decode
text_column, binary_column = _FORMS.text_column, _FORMS.binary_column
parse_plain = _FORMS.parse_plain


def parse(type_: SqlType, text: str, time_zone: str) -> bytes:
    """Accepts PostgreSQL's seven forms: pairs with colons or hyphens, groups of six or four digits, twelve digits."""
    if not _FORM.fullmatch(text):
        raise InvalidTextRepresentation(f'invalid input syntax for type macaddr: "{text}"')
    return bytes.fromhex(re.sub(r"[^0-9a-fA-F]", "", text))

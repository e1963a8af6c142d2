"""boolean: text `t`/`f`, binary one byte."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types.sql_type import SqlType

_WORDS = (("true", True), ("yes", True), ("false", False), ("no", False))


def parse(type_: SqlType, text: str, time_zone: str) -> bool:
    """Accepts what PostgreSQL accepts: true, yes, on, 1, false, no, off, 0, and unique prefixes of the words."""
    word = text.strip().lower()
    if word in ("1", "on"):
        return True
    if word in ("0", "of", "off"):
        return False
    for full, value in _WORDS:
        if word and full.startswith(word):
            return value
    raise InvalidTextRepresentation(f'invalid input syntax for type boolean: "{text}"')


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """`t` or `f`, as boolout writes it; the cast to text, which gives `true`, is another function."""
    return "t" if value else "f"


def encode(type_: SqlType, value: object) -> bytes:
    """One byte, 1 or 0."""
    return b"\1" if value else b"\0"


def decode(type_: SqlType, data: bytes) -> bool:
    """Any byte but 0 is true, as in PostgreSQL's boolrecv. Raises 22P03 for another length than 1."""
    if len(data) != 1:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    return data != b"\0"


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """`t` and `f`; NULLs stay."""
    return pc.if_else(array, "t", "f")


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.uint8]:
    """One byte an item, 1 or 0; 0 where the column is NULL."""
    return np.asarray(pc.fill_null(array, False).cast(pa.uint8()).to_numpy(zero_copy_only=False), np.uint8)


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """The forms that COPY TO writes; see `forms.parse_column`."""
    yes = pc.is_in(texts, value_set=pa.array(["t", "true", "1", "True", "TRUE"]))
    no = pc.is_in(texts, value_set=pa.array(["f", "false", "0", "False", "FALSE"]))
    values = pc.if_else(pc.is_valid(texts), yes, pa.scalar(None, pa.bool_()))
    return values, pc.or_kleene(pc.or_(yes, no), pc.is_null(texts))

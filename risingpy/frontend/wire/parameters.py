"""Bind's parameters: text or binary → the Python values that `Literal` documents."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import ProtocolViolation
from risingpy.frontend.results import BINARY, TEXT, Prepared, ResultField
from risingpy.frontend.wire.client_messages import Arguments
from risingpy.frontend.wire.payload import decode_text
from risingpy.frontend.wire.session_protocol import Session
from risingpy.types import SqlType, TypeKind, array_of
from risingpy.types.array import depth_of_binary, depth_of_text
from risingpy.types.forms import decode_binary, parse_text
from risingpy.types.oids import declared
from risingpy.types.system_types import is_by_name, names_objects

_MOST_DIMENSIONS = 6  # as in PostgreSQL


def expand_formats(formats: Sequence[int], count: int, what: str) -> list[int]:
    """One format per parameter or column. A client gives none (all are text), one for all, or one for each."""
    if any(format_ not in (TEXT, BINARY) for format_ in formats):
        bad = next(format_ for format_ in formats if format_ not in (TEXT, BINARY))
        raise ProtocolViolation(f"unsupported format code: {bad}", sqlstate="22023")
    if len(formats) == count:
        return list(formats)
    if len(formats) <= 1:
        return [*formats] * count if formats else [TEXT] * count
    raise ProtocolViolation(f"bind message has {len(formats)} {what}")


def result_formats(fields: Sequence[ResultField], formats: Sequence[int], what: str) -> list[int]:
    """One format per column, as RowDescription has them.

    The name of a regclass or its like comes as text all the same: its binary form is the oid, which is not known here.
    """
    expanded = expand_formats(formats, len(fields), what)
    return [TEXT if is_by_name(field.type) else each for field, each in zip(fields, expanded, strict=True)]


def decode_parameters(arguments: Arguments, name: str, prepared: Prepared, session: Session) -> list[object | None]:
    """The values of a Bind message's parameters; `name` is the statement's.

    A text is read as the session reads it: in its time zone, and names of objects in its search path.
    """
    count, wanted = len(arguments.values), len(prepared.parameter_types)
    if count != wanted:
        raise ProtocolViolation(
            f'bind message supplies {count} parameters, but prepared statement "{name}" requires {wanted}'
        )
    formats = expand_formats(arguments.formats, count, f"parameter formats but {count} parameters")
    return [
        None if value is None else _decode(session.newest_type(type_), value, format_, session)
        for type_, value, format_ in zip(prepared.parameter_types, arguments.values, formats, strict=True)
    ]


def declared_by_values(arguments: Arguments, prepared: Prepared) -> tuple[int, ...]:
    """What a session is told of the parameters' types (`types/oids.py`), with arrays as deep as the values are."""
    formats = expand_formats(arguments.formats, len(arguments.values), "parameter formats")
    return tuple(
        declared(type_ if value is None else _as_deep_as(type_, value, format_))
        for type_, value, format_ in zip(prepared.parameter_types, arguments.values, formats, strict=True)
    )


def _as_deep_as(type_: SqlType, data: bytes, format_: int) -> SqlType:
    if type_.kind is not TypeKind.ARRAY:
        return type_
    depth = depth_of_binary(data) if format_ == BINARY else depth_of_text(decode_text(data))
    as_deep = array_of(type_.leaf)
    for _ in range(depth - 1):
        as_deep = array_of(as_deep)
    return as_deep if 1 <= depth <= _MOST_DIMENSIONS else type_


def _decode(type_: SqlType, data: bytes, format_: int, session: Session) -> object:
    if format_ == BINARY:
        return decode_binary(type_, data)
    if names_objects(type_):
        return session.named_value(type_, decode_text(data))
    return parse_text(type_, decode_text(data), time_zone=session.time_zone())

"""Bind's parameters: text or binary → the Python values that `Literal` documents."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import ProtocolViolation
from risingpy.frontend.results import BINARY, TEXT, Prepared
from risingpy.frontend.wire.client_messages import Arguments
from risingpy.frontend.wire.payload import decode_text
from risingpy.types import SqlType, TypeKind
from risingpy.types.arrays import decode_array, decode_element, parse_array
from risingpy.types.forms import decode_binary, parse_text
from risingpy.types.oids import ARRAY_ELEMENT, OID_ALIASES, VECTOR_ELEMENT
from risingpy.types.system_types import is_of_system


def parameter_oids(prepared: Prepared) -> list[int]:
    """The OIDs in ParameterDescription."""
    oids = [type_.oid for type_ in prepared.parameter_types]
    for index, oid in enumerate(prepared.parameter_oids[: len(oids)]):
        oids[index] = oid or oids[index]
    return oids


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


def decode_parameters(arguments: Arguments, name: str, prepared: Prepared, time_zone: str) -> list[object | None]:
    """The values of a Bind message's parameters; `name` is the statement's."""
    count, wanted = len(arguments.values), len(prepared.parameter_types)
    if count != wanted:
        raise ProtocolViolation(
            f'bind message supplies {count} parameters, but prepared statement "{name}" requires {wanted}'
        )
    formats = expand_formats(arguments.formats, count, f"parameter formats but {count} parameters")
    types, oids = prepared.parameter_types, parameter_oids(prepared)
    return [
        None if value is None else _decode(type_, oid, value, format_, time_zone)
        for type_, oid, value, format_ in zip(types, oids, arguments.values, formats, strict=True)
    ]


def _decode(type_: SqlType, oid: int, data: bytes, format_: int, time_zone: str) -> object:
    # Drivers' queries of system relations have parameters of PostgreSQL's array types, which are no types of ours.
    own = type_.kind is TypeKind.ARRAY and not is_of_system(type_)
    array = not own and (oid in ARRAY_ELEMENT or oid in VECTOR_ELEMENT)
    if format_ == BINARY:
        if array:
            return decode_array(oid, data)
        return decode_element(oid, data) if oid in OID_ALIASES else decode_binary(type_, data)
    text = decode_text(data)
    return parse_array(oid, text) if array else parse_text(type_, text, time_zone=time_zone)

"""Texts become values of enums. The enum is a constant of the call: its name, its labels and their numbers."""

from __future__ import annotations

import json

import pyarrow as pa

from risingpy.functions.topics.calling import Compute, Function, per_constant
from risingpy.types import SqlType, TypeKind
from risingpy.types.enums.enum_type import EnumLabel, EnumType
from risingpy.types.enums.enumeration import labels_of
from risingpy.types.forms import parse_column


def packed_enum(type_: SqlType) -> str:
    """What `enum_of` needs to know of an enum, as JSON."""
    assert type_.enum is not None
    labels = [[label.text, label.number] for label in labels_of(type_)]
    return json.dumps([type_.enum.schema_name, type_.enum.name, labels], ensure_ascii=False, separators=(",", ":"))


def _enum_of(packed: str) -> Compute:
    schema, name, labels = json.loads(packed)
    enum = EnumType(0, 0, schema, name, tuple(EnumLabel(0, text, number) for text, number in labels))
    type_ = SqlType(TypeKind.ENUM, enum=enum)

    def computed(texts: pa.Array) -> pa.Array:
        return parse_column(type_, texts)

    return computed


ENUMS: dict[str, Function] = {"enum_of": Function(per_constant(_enum_of, [0]))}

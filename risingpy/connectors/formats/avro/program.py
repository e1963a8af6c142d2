"""An Avro schema as a program for the kernel.

An instruction is a row of four numbers: op, slot, a, b. A slot is where the kernel writes the values of one place of
the schema, two words each; slot −1 is read over. Records are the instructions of their fields, one after the other, so
the machine needs no stack: types that contain themselves are refused before.

    {"a": long, "b": [null, string], "c": array of int}
        0  VARINT  slot 0  −  null branch −1
        1  BYTES   slot 1  −  null branch 0
        2  ARRAY   slot 2  end 5
        3  VARINT  slot 3  32 bits
        4  NEXT    slot 2  body 3
        5  END
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from risingpy.connectors.formats.avro.kernel import (
    ARRAY,
    BOOLEAN,
    BYTES,
    DOUBLE,
    END,
    ENUM,
    FIXED,
    FLOAT,
    JUMP,
    NEXT,
    NULL,
    RECORD,
    SPAN,
    SPAN_END,
    UNION,
    UNWANTED,
    VARINT,
)
from risingpy.connectors.formats.avro.schema import AvroType

_LEAVES = {
    "null": NULL,
    "boolean": BOOLEAN,
    "int": VARINT,
    "long": VARINT,
    "float": FLOAT,
    "double": DOUBLE,
    "bytes": BYTES,
    "string": BYTES,
    "fixed": FIXED,
    "enum": ENUM,
}

_SIZES = {"int": 32, "long": 64, "boolean": 1, "float": 4, "double": 8}  # bits of numbers, bytes of the others


@dataclass(frozen=True, slots=True)
class Slot:
    """What the kernel writes for a type: `children` are those of a record's fields, a list's items, a union's branches.

    `nullable`: the type is a leaf in a union with null, and the second word is −1 where it is null.
    """

    number: int
    type: AvroType
    nullable: bool = False
    children: tuple[Slot, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """`code` is int64[instructions, 4], `jumps` the places of unions' branches. `slots` are the record's fields.

    `has_lists` says that a message may have several values of a slot.
    """

    code: npt.NDArray[np.int64]
    jumps: npt.NDArray[np.int64]
    slot_count: int
    slots: tuple[Slot | None, ...]
    has_lists: bool


def compiled(record: AvroType, wanted: Collection[str], spans: bool = False) -> Program:
    """The program of a record, which writes the fields that are wanted.

    With `spans`, it writes where wanted records stand in the message instead of their fields: first byte and length.
    """
    compiler = _SchemaCompiler(spans)
    slots = [compiler.add(field.type, wanted=field.name in wanted) for field in record.fields]
    return compiler.program(slots)


def compiled_value(type_: AvroType) -> Program:
    """The program of a message that is no record."""
    compiler = _SchemaCompiler(spans=False)
    return compiler.program([compiler.add(type_, wanted=True)])


class _SchemaCompiler:
    def __init__(self, spans: bool) -> None:
        self._spans = spans
        self._code: list[list[int]] = []
        self._jumps: list[int] = []
        self._slots = 0
        self._has_lists = False

    def program(self, slots: list[Slot | None]) -> Program:
        self._emit(END, UNWANTED)
        code = np.array(self._code, np.int64)
        return Program(code, np.array(self._jumps or [0], np.int64), self._slots, tuple(slots), self._has_lists)

    def add(self, type_: AvroType, *, wanted: bool) -> Slot | None:
        """Appends the instructions of a type; None if it is not wanted."""
        if wanted and self._spans and type_.row.kind == "record":
            return self._span(type_)
        if type_.kind in _LEAVES:
            return self._leaf(type_, wanted, null_branch=-1)
        kinds = [item.kind for item in type_.items]
        if type_.kind == "union" and len(kinds) == 2 and "null" in kinds:
            null_branch = kinds.index("null")
            other = type_.items[1 - null_branch]
            if other.kind in _LEAVES and other.kind != "null":
                return self._leaf(other, wanted, null_branch)
        number = self._number(wanted)
        match type_.kind:
            case "record":
                self._emit(RECORD, number)
                children = [self.add(field.type, wanted=wanted) for field in type_.fields]
            case "union":
                children = self._union(type_, number, wanted)
            case _:
                children = self._list(type_, number, wanted)
        return Slot(number, type_, children=tuple(c for c in children if c is not None)) if wanted else None

    def _number(self, wanted: bool) -> int:
        if not wanted:
            return UNWANTED
        self._slots += 1
        return self._slots - 1

    def _emit(self, op: int, slot: int, a: int = 0, b: int = -1) -> int:
        self._code.append([op, slot, a, b])
        return len(self._code) - 1

    def _leaf(self, type_: AvroType, wanted: bool, null_branch: int) -> Slot | None:
        number = self._number(wanted)
        arguments = {**_SIZES, "fixed": type_.size, "enum": len(type_.symbols)}
        self._emit(_LEAVES[type_.kind], number, arguments.get(type_.kind, 0), null_branch)
        return Slot(number, type_, null_branch >= 0) if wanted else None

    def _span(self, type_: AvroType) -> Slot:
        number = self._number(wanted=True)
        kinds = [item.kind for item in type_.items]
        branch = kinds.index("null") if type_.kind == "union" else -1
        begin = self._emit(SPAN, number, 0, branch)
        for field in type_.row.fields:
            self.add(field.type, wanted=False)
        end = self._emit(SPAN_END, number)
        self._code[begin][2] = end + 1
        return Slot(number, AvroType("bytes"), nullable=True)

    def _union(self, type_: AvroType, number: int, wanted: bool) -> list[Slot | None]:
        first = len(self._jumps)
        self._jumps += [0] * len(type_.items)
        self._emit(UNION, number, first, len(type_.items))
        children, leaves = [], []
        for k, item in enumerate(type_.items):
            self._jumps[first + k] = len(self._code)
            children.append(self.add(item, wanted=wanted))
            leaves.append(self._emit(JUMP, UNWANTED))
        for leave in leaves:
            self._code[leave][2] = len(self._code)
        return children

    def _list(self, type_: AvroType, number: int, wanted: bool) -> list[Slot | None]:
        """Of an array or a map. One that is not wanted still counts its items."""
        self._has_lists = True
        loop = len(self._code)
        self._emit(ARRAY, number, 0, loop)
        children: list[Slot | None] = []
        if type_.kind == "map":
            children.append(self.add(AvroType("string"), wanted=wanted))
        children.append(self.add(type_.items[0], wanted=wanted))
        self._emit(NEXT, number, loop + 1, loop)
        self._code[loop][2] = len(self._code)
        return children

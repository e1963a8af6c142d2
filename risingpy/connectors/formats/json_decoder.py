"""ENCODE JSON: each message is an object, whose members are the columns by name. DuckDB reads all members at once.

Names are compared as they are written first, then without case. A member that is missing is NULL. What a column does
not accept makes the message bad; a number is accepted as text, and a text as what it says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Reasons, decoded, parsed, texts_of
from risingpy.connectors.formats.decoder import Decoded
from risingpy.errors import FeatureNotSupported
from risingpy.types import SqlType, TypeKind

Shape = str | list["Shape"] | dict[str, "Shape"]


class JsonDecoder:
    """A message that is no JSON object is bad. It has a DuckDB connection of its own, made with the first chunk."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]]) -> None:
        self._columns = columns
        self._shapes = {name: _shape(type_) for name, type_ in columns}
        self._duckdb: duckdb.DuckDBPyConnection | None = None

    def decode(self, messages: pa.Table) -> Decoded:
        reasons = Reasons()
        texts = texts_of(messages["payload"].combine_chunks(), reasons)
        rows = self._objects(texts, reasons)
        objects = texts if len(rows) == len(texts) else texts.take(pa.array(rows))
        members = self._members(objects)
        columns = [_typed(name, type_, members[name], rows, reasons) for name, type_ in self._columns]
        return decoded(columns, pa.array(rows, pa.int64()), reasons)

    def _objects(self, texts: pa.Array, reasons: Reasons) -> npt.NDArray[np.int64]:
        """The positions of the texts that are JSON objects. The others are bad."""
        try:
            kinds = self._query("SELECT json_type(t) AS kind FROM texts", texts)["kind"]
        except duckdb.Error:  # raised for the whole chunk; to check each text costs as much as to read it
            checked = "SELECT CASE WHEN json_valid(t) THEN json_type(t) END AS kind FROM texts"
            kinds = self._query(checked, texts)["kind"]
            for row in np.flatnonzero(pc.and_(kinds.is_null(), texts.is_valid()).to_numpy()):
                reasons.add(int(row), "invalid JSON")
        are_objects = pc.fill_null(pc.equal(kinds, "OBJECT"), False).to_numpy()
        for row in np.flatnonzero(~are_objects & kinds.is_valid().to_numpy()):
            reasons.add(int(row), f"the message is a JSON {kinds[row].as_py().lower()}, not an object")
        return np.flatnonzero(are_objects)

    def _members(self, objects: pa.Array) -> dict[str, pa.Array]:
        """The members by column, scalars as texts."""
        found = self._transformed(objects, self._shapes)
        for name, keys in self._other_cases(objects, found).items():
            for key in keys:
                other = self._transformed(objects, {key: self._shapes[name]})[key]
                found[name] = pc.coalesce(found[name], other)
        return found

    def _transformed(self, objects: pa.Array, shapes: dict[str, Shape]) -> dict[str, pa.Array]:
        groups = _apart(shapes)
        shown = ", ".join(f"json_transform(t, {_quoted(group)}) AS g{k}" for k, group in enumerate(groups))
        table = self._query(f"SELECT {shown} FROM texts", objects)
        structs = [table[f"g{k}"].combine_chunks() for k in range(len(groups))]
        return {
            name: pc.struct_field(struct, [place])
            for group, struct in zip(groups, structs, strict=True)
            for place, name in enumerate(group)
        }

    def _other_cases(self, objects: pa.Array, found: dict[str, pa.Array]) -> dict[str, list[str]]:
        """By column, the names of members that differ from its name by case; looked for where a column is NULL."""
        incomplete = np.zeros(len(objects), bool)
        for column in found.values():
            if column.null_count:
                incomplete |= column.is_null().to_numpy(zero_copy_only=False)
        if not incomplete.any():
            return {}
        some = objects.filter(pa.array(incomplete))
        keys = self._query("SELECT DISTINCT unnest(json_keys(t)) AS name FROM texts", some)["name"].to_pylist()
        others = {name: [key for key in sorted(keys) if key != name and key.lower() == name.lower()] for name in found}
        return {name: names for name, names in others.items() if names}

    def _query(self, sql: str, texts: pa.Array) -> pa.Table:
        if self._duckdb is None:  # made where it is used: a connection does not survive a fork
            self._duckdb = duckdb.connect(config={"threads": 1})
        cursor = self._duckdb.cursor()
        cursor.register("texts", pa.table({"t": texts}))
        return cursor.sql(sql).to_arrow_table()


def _apart(shapes: dict[str, Shape]) -> list[dict[str, Shape]]:
    """The members in groups without two names that differ only by case: DuckDB's structs know no case."""
    groups: list[dict[str, Shape]] = []
    for name, shape in shapes.items():
        for group in groups:
            if name.lower() not in {other.lower() for other in group}:
                group[name] = shape
                break
        else:
            groups.append({name: shape})
    return groups


def _quoted(shape: Shape) -> str:
    return _sql_text(json.dumps(shape))


def _sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _shape(type_: SqlType) -> Shape:
    """What `json_transform` makes of a member: scalars as texts, which the column's type reads."""
    match type_.kind:
        case TypeKind.ARRAY:
            return [_shape(type_.element)]
        case TypeKind.STRUCT:
            return {name: _shape(item) for name, item in zip(type_.names, type_.items, strict=True)}
        case TypeKind.MAP:
            raise FeatureNotSupported("a column of type map is not supported by ENCODE JSON")
        case TypeKind.JSONB:
            return "JSON"
        case _:
            return "VARCHAR"


def _typed(name: str, type_: SqlType, found: pa.Array, messages: npt.NDArray[np.int64], reasons: Reasons) -> pa.Array:
    """A column of what `_shape` says, as values of the type. `messages`: the position of each row's message."""
    match type_.kind:
        case TypeKind.ARRAY:
            owners = messages[pc.list_parent_indices(found).to_numpy()]
            items = _typed(name, type_.element, found.flatten(), owners, reasons)
            return _with_items(found, items)
        case TypeKind.STRUCT:
            fields = [
                _typed(f"{name}.{part}", item, pc.struct_field(found, [k]), messages, reasons)
                for k, (part, item) in enumerate(zip(type_.names, type_.items, strict=True))
            ]
            mask = found.is_null()
            return pa.StructArray.from_arrays(fields, fields=list(type_.arrow), mask=mask)
        case _:
            return parsed(name, type_, found, messages, reasons)


def _with_items(lists: pa.Array, items: pa.Array) -> pa.Array:
    """Lists of the same lengths with other items; NULL stays NULL."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    made = pa.ListArray.from_arrays(pa.array(offsets), items)
    return pc.if_else(lists.is_valid(), made, pa.scalar(None, made.type))

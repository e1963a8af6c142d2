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

from risingpy.connectors.formats.big_endian import texts_of_integers
from risingpy.connectors.formats.columns import Positions, Reasons, parsed, spread, texts_of
from risingpy.connectors.formats.handling import Handling
from risingpy.connectors.formats.json_queries import JsonQueries
from risingpy.connectors.formats.map_keys import refuse_repeated
from risingpy.sql_quoting import quoted_text
from risingpy.types import SqlType, TypeKind

Shape = str | list["Shape"] | dict[str, "Shape"]


class JsonReader:
    """A payload that is no JSON object is bad. It has a DuckDB connection of its own, made with the first chunk."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]], handling: Handling) -> None:
        self._columns = columns
        self._handling = handling
        self._shapes = {name: _shape(type_, handling) for name, type_ in columns}
        self._queries = JsonQueries()

    def read(self, payloads: pa.Array, messages: Positions, reasons: Reasons) -> list[pa.Array]:
        """See `payload_reader.PayloadReader`."""
        texts = texts_of(payloads, messages, reasons)
        if not self._columns:
            self._queries.objects(texts, messages, reasons)
            return []
        try:
            members = self._members(texts)
        except duckdb.Error:  # some text is no JSON: it fails the whole chunk
            return self._of_objects(texts, messages, reasons)
        empty = np.ones(len(texts), bool)
        for member in members.values():
            empty &= member.is_null().to_numpy(zero_copy_only=False) if member.null_count else False
        if empty.any() and not self._are_objects(texts, messages, empty, reasons):
            return self._of_objects(texts, messages, reasons)
        return [self._typed(name, type_, members[name], messages, reasons) for name, type_ in self._columns]

    def _are_objects(
        self, texts: pa.Array, messages: Positions, chosen: npt.NDArray[np.bool_], reasons: Reasons
    ) -> bool:
        """Whether the chosen texts, of which no member was found, are objects."""
        some = texts.filter(pa.array(chosen))
        return len(self._queries.objects(some, messages[chosen], reasons)) == len(some)

    def _of_objects(self, texts: pa.Array, messages: Positions, reasons: Reasons) -> list[pa.Array]:
        """The columns where some text is no object."""
        rows = self._queries.objects(texts, messages, reasons)
        members = self._members(texts.take(pa.array(rows)))
        found = [self._typed(name, type_, members[name], messages[rows], reasons) for name, type_ in self._columns]
        return spread(found, rows, len(texts))

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
        table = self._queries.run(f"SELECT {shown} FROM texts", objects)
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
        keys = self._queries.run("SELECT DISTINCT unnest(json_keys(t)) AS name FROM texts", some)["name"].to_pylist()
        others = {name: [key for key in sorted(keys) if key != name and key.lower() == name.lower()] for name in found}
        return {name: names for name, names in others.items() if names}

    def _typed(self, name: str, type_: SqlType, found: pa.Array, messages: Positions, reasons: Reasons) -> pa.Array:
        """A column of what `_shape` says, as values of the type. `messages`: the position of each row's message."""
        match type_.kind:
            case TypeKind.ARRAY:
                owners = messages[pc.list_parent_indices(found).to_numpy()]
                items = self._typed(name, type_.element, found.flatten(), owners, reasons)
                return _with_items(found, items)
            case TypeKind.STRUCT:
                fields = [
                    self._typed(f"{name}.{part}", item, pc.struct_field(found, [k]), messages, reasons)
                    for k, (part, item) in enumerate(zip(type_.names, type_.items, strict=True))
                ]
                mask = found.is_null()
                return pa.StructArray.from_arrays(fields, fields=list(type_.arrow), mask=mask)
            case TypeKind.MAP:
                return self._map(name, type_, found, messages, reasons)
            case TypeKind.BYTEA if self._handling.is_debezium:
                return self._from_base64(name, found, messages, reasons)
            case TypeKind.NUMERIC if self._handling.unsigned_is_base64:
                found = self._numbers(name, found, messages, reasons)
        return parsed(name, type_, found, messages, reasons, self._handling)

    def _map(self, name: str, type_: SqlType, texts: pa.Array, messages: Positions, reasons: Reasons) -> pa.Array:
        """Objects as maps."""
        key, item = type_.items
        shape = _quoted(_shape(item, self._handling))
        items = f"list_transform(json_extract(t, '$.*'), lambda x: json_transform(x, {shape}))"
        query = f"SELECT json_type(t) AS kind, json_keys(t) AS keys, {items} AS items FROM texts"
        found = self._queries.run(query, texts)
        no_objects = pc.fill_null(pc.not_equal(found["kind"], "OBJECT"), False).to_numpy()
        for row in np.flatnonzero(no_objects):
            reasons.add(int(messages[row]), f'column "{name}": a map is a JSON object')
        lists = found["keys"].combine_chunks()
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        owners = np.repeat(messages, lengths)
        refuse_repeated(lists.flatten(), lengths, owners, reasons)
        keys = parsed(name, key, lists.flatten(), owners, reasons)
        keys = keys if not keys.null_count else pc.fill_null(keys, pa.scalar(0).cast(keys.type))  # of bad messages
        values = self._typed(name, item, found["items"].combine_chunks().flatten(), owners, reasons)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        nulls = np.append(texts.is_null().to_numpy(zero_copy_only=False), False)
        return pa.MapArray.from_arrays(pa.array(offsets, mask=nulls), keys, values).cast(type_.arrow)

    def _from_base64(self, name: str, texts: pa.Array, messages: Positions, reasons: Reasons) -> pa.Array:
        values = self._queries.run("SELECT TRY(from_base64(t)) AS data FROM texts", texts)["data"].combine_chunks()
        wrong = pc.and_(values.is_null(), texts.is_valid()).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(wrong):
            reasons.add(int(messages[row]), f'column "{name}": no base64: {texts[row]}')
        return values.cast(pa.binary())

    def _numbers(self, name: str, texts: pa.Array, messages: Positions, reasons: Reasons) -> pa.Array:
        """JSON texts with numbers in place of strings, which are the bytes of an integer in base64."""
        written = pc.fill_null(pc.starts_with(texts, '"'), False)
        if not pc.any(written, min_count=0).as_py():
            return texts
        inside = pc.utf8_slice_codeunits(texts.filter(written), 1, -1)
        values = self._from_base64(name, inside, messages[written.to_numpy(zero_copy_only=False)], reasons)
        return pc.replace_with_mask(texts, written, texts_of_integers(values))


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
    return quoted_text(json.dumps(shape))


def _shape(type_: SqlType, handling: Handling) -> Shape:
    """What `json_transform` makes of a member: scalars as texts, which the column's type reads."""
    match type_.kind:
        case TypeKind.ARRAY:
            return [_shape(type_.element, handling)]
        case TypeKind.STRUCT:
            return {name: _shape(item, handling) for name, item in zip(type_.names, type_.items, strict=True)}
        case TypeKind.MAP:
            return "JSON"
        case TypeKind.JSONB if not handling.is_debezium:  # Debezium writes it as a string
            return "JSON"
        case TypeKind.NUMERIC if handling.unsigned_is_base64:
            return "JSON"
        case _:
            return "VARCHAR"


def _with_items(lists: pa.Array, items: pa.Array) -> pa.Array:
    """Lists of the same lengths with other items; NULL stays NULL."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    made = pa.ListArray.from_arrays(pa.array(offsets), items)
    return pc.if_else(lists.is_valid(), made, pa.scalar(None, made.type))

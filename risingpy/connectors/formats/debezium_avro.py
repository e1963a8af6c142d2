"""FORMAT DEBEZIUM ENCODE AVRO: what a message's envelope holds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.avro.arrays import ArrayBuilder, add_reasons, run_program
from risingpy.connectors.formats.avro.program import Program, compiled
from risingpy.connectors.formats.avro.schemas import ONLY, Group, WriterSchemas
from risingpy.connectors.formats.columns import Positions, Reasons
from risingpy.connectors.formats.debezium_decoder import Envelopes

_PARTS = ("op", "before", "after")


class AvroEnvelopes:
    """See `debezium_decoder.EnvelopeReader`. The rows in an envelope begin with the id of its schema, as it does."""

    def __init__(self, schemas: WriterSchemas) -> None:
        self._schemas = schemas
        self._programs: dict[int, Program | None] = {}

    def read(self, payloads: pa.Array, messages: Positions, reasons: Reasons) -> Envelopes:
        found = []
        for group in self._schemas.groups(payloads, messages, reasons):
            program = self._program(group)
            if program is None:
                for row in group.rows:
                    reasons.add(int(messages[row]), "the schema has no op, before and after")
                continue
            found.append(_read(group, program, messages, reasons))
        if not found:
            return Envelopes(np.empty(0, np.int64), *(pa.array([], type_) for type_ in _TYPES))
        rows = np.concatenate([each.rows for each in found])
        order = np.argsort(rows)
        taken = pa.array(order)
        parts = [(each.ops, each.before, each.after) for each in found]
        ops, before, after = (pa.concat_arrays(arrays).take(taken) for arrays in zip(*parts, strict=True))
        return Envelopes(rows[order], ops, before, after)

    def _program(self, group: Group) -> Program | None:
        if group.schema_id not in self._programs:
            names = {field.name for field in group.schema.fields}
            found = compiled(group.schema, _PARTS, spans=True) if names.issuperset(_PARTS) else None
            self._programs[group.schema_id] = found
        return self._programs[group.schema_id]


_TYPES = (pa.string(), pa.binary(), pa.binary())


def _read(group: Group, program: Program, messages: Positions, reasons: Reasons) -> Envelopes:
    ran = run_program(program, group.data, group.starts, group.ends)
    add_reasons(ran, messages[group.rows], reasons)
    rows = group.rows[ran.status == 0]
    builder = ArrayBuilder(ran, reasons)
    by_name = dict(zip((field.name for field in group.schema.fields), program.slots, strict=True))
    ops, before, after = (
        builder.values(slot, messages[rows]).array for slot in (by_name[name] for name in _PARTS) if slot is not None
    )
    if group.schema_id != ONLY:
        header = pa.scalar(b"\0" + group.schema_id.to_bytes(4, "big"))
        before, after = (pc.binary_join_element_wise(header, part, b"") for part in (before, after))
    return Envelopes(rows, ops.cast(pa.string()), before.cast(pa.binary()), after.cast(pa.binary()))

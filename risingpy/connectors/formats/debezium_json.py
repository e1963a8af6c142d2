"""FORMAT DEBEZIUM ENCODE JSON: what a message's envelope holds."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Positions, Reasons, texts_of
from risingpy.connectors.formats.debezium_decoder import Envelopes
from risingpy.connectors.formats.json_queries import JsonQueries
from risingpy.sql_quoting import quoted_text

_PARTS = {"op": "VARCHAR", "before": "JSON", "after": "JSON"}
_SHAPE = json.dumps({**_PARTS, "payload": _PARTS})


class JsonEnvelopes:
    """Reads `{"op", "before", "after"}`, bare or as the `payload` beside a `schema`; see `EnvelopeReader`."""

    def __init__(self) -> None:
        self._queries = JsonQueries()

    def read(self, payloads: pa.Array, messages: Positions, reasons: Reasons) -> Envelopes:
        texts = texts_of(payloads, messages, reasons)
        query = f"SELECT json_transform(t, {quoted_text(_SHAPE)}) AS e FROM texts"
        rows = self._queries.objects(texts, messages, reasons)
        objects = texts if len(rows) == len(texts) else texts.take(pa.array(rows))
        found = self._queries.run(query, objects)["e"].combine_chunks()
        inner = pc.struct_field(found, ["payload"])
        parts = {name: pc.coalesce(pc.struct_field(found, [name]), pc.struct_field(inner, [name])) for name in _PARTS}
        without_op = np.flatnonzero(parts["op"].is_null().to_numpy(zero_copy_only=False))
        kept = np.ones(len(rows), bool)
        if len(without_op):  # a tombstone in an envelope: {"payload": null}
            some = objects.take(pa.array(without_op))
            kinds = self._queries.run("SELECT json_type(t, '$.payload') AS kind FROM texts", some)["kind"]
            kept[without_op] = ~pc.fill_null(pc.equal(kinds, "NULL"), False).to_numpy()
        parts = {name: part.filter(pa.array(kept)) for name, part in parts.items()}
        before, after = (parts[name].cast(pa.binary()) for name in ("before", "after"))
        return Envelopes(rows[kept], parts["op"], before, after)

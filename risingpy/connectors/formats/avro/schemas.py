"""Where the schemas of messages are: in a registry, by the id that each message begins with; or there is one for all.

0 | id, 4 bytes, big-endian | the record        Confluent's wire format
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.connectors.formats.avro.schema import AvroType, parse_schema
from risingpy.connectors.formats.columns import Positions, Reasons
from risingpy.connectors.formats.schema_registry import SchemaRegistry
from risingpy.errors import FeatureNotSupported, InvalidParameterValue

HEADER_BYTES = 5
_MAX_UNKNOWN = 100  # ids that a chunk may ask the registry for in vain: damaged messages have any id
ONLY = -1  # the id of the schema of messages without one


@dataclass(frozen=True, slots=True)
class Group:
    """Messages of one schema: the rows of their payloads, and where their records stand in `data`."""

    schema_id: int
    schema: AvroType
    rows: Positions
    data: npt.NDArray[np.uint8]
    starts: Positions
    ends: Positions


class WriterSchemas:
    """The schemas of messages: of a registry, which is asked once for each id, or the only one."""

    def __init__(self, registry: SchemaRegistry | None, only: AvroType | None) -> None:
        assert registry is not None or only is not None
        self._registry = registry
        self._only = only
        self._known: dict[int, AvroType | str] = {}

    def groups(self, payloads: pa.Array, messages: Positions, reasons: Reasons) -> Iterator[Group]:
        """The payloads by schema, the most frequent first. Those without a schema are bad."""
        raw = payloads.buffers()
        offsets = np.frombuffer(raw[1], np.int32, len(payloads) + 1, 4 * payloads.offset).astype(np.int64)
        data = np.frombuffer(raw[2] or b"", np.uint8)
        starts, ends = offsets[:-1], offsets[1:]
        there = payloads.is_valid().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(~there):
            reasons.add(int(messages[row]), "the message is empty")
        if self._registry is None:
            assert self._only is not None
            rows = np.flatnonzero(there)
            yield Group(ONLY, self._only, rows, data, starts[rows], ends[rows])
            return
        ids = _ids(data, starts, ends, there)
        for row in np.flatnonzero((ids < 0) & there):
            reasons.add(int(messages[row]), "the message does not begin with 0 and the id of a schema")
        found, counts = np.unique(ids[ids >= 0], return_counts=True)
        unknown = 0
        for schema_id in found[np.argsort(-counts, kind="stable")].tolist():
            rows = np.flatnonzero(ids == schema_id) if len(found) > 1 else np.flatnonzero(ids >= 0)
            schema = self._schema(schema_id) if unknown < _MAX_UNKNOWN else "too many schemas are unknown"
            if isinstance(schema, AvroType):
                yield Group(schema_id, schema, rows, data, starts[rows] + HEADER_BYTES, ends[rows])
                continue
            unknown += schema_id not in self._known
            for row in rows:
                reasons.add(int(messages[row]), schema)

    def _schema(self, schema_id: int) -> AvroType | str:
        """The schema of an id, or why there is none."""
        known = self._known.get(schema_id)
        if known is not None:
            return known
        assert self._registry is not None
        registered = self._registry.by_id(schema_id)
        if registered is None:  # it may be registered later, so that it is not known now
            return f"the schema registry has no schema {schema_id}"
        try:
            if registered.kind != "AVRO":
                raise InvalidParameterValue(f"schema {schema_id} is of type {registered.kind}")
            found: AvroType | str = parse_schema(registered.text, [text for _, text in registered.references])
        except (InvalidParameterValue, FeatureNotSupported) as error:
            found = str(error)
        self._known[schema_id] = found
        return found


def _ids(
    data: npt.NDArray[np.uint8], starts: Positions, ends: Positions, there: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Each message's id, −1 if it has none."""
    found = np.full(len(starts), -1, np.int64)
    has = there & (ends - starts >= HEADER_BYTES)
    begin = starts[has]
    words = data[begin[:, None] + np.arange(HEADER_BYTES)].astype(np.int64)
    numbers = (words[:, 1] << 24) | (words[:, 2] << 16) | (words[:, 3] << 8) | words[:, 4]
    found[has] = np.where((words[:, 0] == 0) & (numbers < 2**31), numbers, -1)
    return found

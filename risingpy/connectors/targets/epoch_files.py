"""An epoch as a file: its name, and its bytes in Parquet, JSON or CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.encoders.changes import column, ops_of, whole
from risingpy.connectors.targets.encoders.choice import JSON_OPTIONS, OF_ENGINE, delimiter_of, json_forms
from risingpy.connectors.targets.encoders.json_objects import JsonObjects
from risingpy.connectors.targets.encoders.text import CsvRows
from risingpy.connectors.targets.lake_columns import OP, inserted_rows, rows_with_op
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import SMALLINT
from risingpy.types.field_bytes import bytes_of, join_rows


class _FileFormat(Protocol):
    """Makes the bytes of a file of an epoch's changes."""

    def encode(self, changes: Sequence[pa.Table]) -> bytes | memoryview: ...


@dataclass(frozen=True, slots=True)
class EpochFiles:
    """Names and contents of a sink's files: `<sink>.<epoch, 20 digits>.<parquet, json or csv>`.

    The names order as the epochs do, and two sinks can share a directory. An append-only sink's file has its rows; a
    sink of type retract has inserted and deleted rows, with the column `op` (1 or −1) before the others.
    """

    sink: str
    encoding: str
    format: _FileFormat

    def name(self, epoch: int) -> str:
        return f"{self.prefix}{epoch:020d}.{self.encoding}"

    @property
    def prefix(self) -> str:
        """What the names of all files of this sink begin with."""
        return f"{quote(self.sink, safe='')}."

    def epoch_of(self, name: str) -> int | None:
        """The epoch that a file of this sink has; None for any other file."""
        found = re.fullmatch(rf"([0-9]{{20}})\.{self.encoding}", name.removeprefix(self.prefix))
        return int(found[1]) if found and name.startswith(self.prefix) else None

    def content(self, changes: Sequence[pa.Table]) -> bytes | memoryview | None:
        """The bytes of an epoch's file; None: the epoch has no rows, and gets no file."""
        if not any(table.num_rows for table in changes):
            return None
        return self.format.encode(changes)


def epoch_files(schema: SinkSchema, message_format: MessageFormat | None) -> EpochFiles:
    """The files of a sink. Raises InvalidParameterValue or FeatureNotSupported."""
    chosen = message_format or MessageFormat("plain", "parquet")
    if schema.type not in (SinkType.APPEND_ONLY, SinkType.RETRACT):
        hint = "Use type = 'append-only', or type = 'retract' for deletes as rows with op = -1."
        raise FeatureNotSupported(f"a sink to files cannot be of type {schema.type.value}", hint=hint)
    retract = schema.type is SinkType.RETRACT
    if retract and any(name == OP for name, _ in schema.columns):
        raise InvalidParameterValue(f'a sink of type retract to files cannot have a column "{OP}"')
    if chosen.row_format != "plain" or chosen.encoding not in ("parquet", "json", "csv"):
        names = f"FORMAT {chosen.row_format.upper()} ENCODE {chosen.encoding.upper()}"
        hint = "Formats are FORMAT PLAIN ENCODE PARQUET, JSON and CSV."
        raise FeatureNotSupported(f"{names} is not supported for files", hint=hint)
    own = {name: value for name, value in chosen.options if name not in OF_ENGINE}
    options = Options(f"ENCODE {chosen.encoding.upper()}", own)
    if chosen.encoding == "parquet":
        options.refuse_unknown(())
        return EpochFiles(schema.name, "parquet", _Parquet(schema, retract))
    columns = [(OP, SMALLINT), *schema.columns] if retract else list(schema.columns)
    if chosen.encoding == "json":
        rows = JsonObjects(columns, json_forms(options, JSON_OPTIONS))
        return EpochFiles(schema.name, "json", _Lines(len(schema.columns), retract, rows, ""))
    options.refuse_unknown(("delimiter", "without_header"))
    lines = CsvRows(columns, delimiter_of(options))
    header = "" if options.flag("without_header") else lines.header
    return EpochFiles(schema.name, "csv", _Lines(len(schema.columns), retract, lines, header))


@dataclass(frozen=True, slots=True)
class _Parquet:
    schema: SinkSchema
    retract: bool

    def encode(self, changes: Sequence[pa.Table]) -> memoryview:
        rows = (rows_with_op if self.retract else inserted_rows)(self.schema, changes)
        out = pa.BufferOutputStream()
        pq.write_table(rows, out, compression="zstd")
        return memoryview(out.getvalue())


@dataclass(frozen=True, slots=True)
class _Lines:
    columns: int
    retract: bool
    rows: JsonObjects | CsvRows
    header: str

    def encode(self, changes: Sequence[pa.Table]) -> bytes:
        table = whole(changes)
        ops = ops_of(table)
        arrays = [column(table, index) for index in range(self.columns)]
        if self.retract:
            arrays.insert(0, pa.array(ops.astype(np.int16)))
        else:
            positions = pa.array(np.flatnonzero(ops > 0))
            arrays = [array.take(positions) for array in arrays]
        lines = bytes_of(join_rows([self.rows.rows(arrays).cast(pa.binary()), pa.scalar(b"\n")]))
        return (f"{self.header}\n".encode() if self.header else b"") + bytes(lines)

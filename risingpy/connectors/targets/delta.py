"""Sinks to Delta tables: `connector = 'deltalake'`."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaProtocolError, SchemaMismatchError, TableNotFoundError

from risingpy.connectors.file_roots import allowed, is_local
from risingpy.connectors.targets.lake_columns import (
    check_table_columns,
    inserted_rows,
    lake_schema,
    last_rows,
    without_time,
)
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.patience import CHECK_SECONDS, within
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, TargetUnavailable, UndefinedTable
from risingpy.sql_quoting import back_quoted

_OPTIONS = ("location", "create_table_if_not_exists", "s3.endpoint", "s3.region", "s3.access.key", "s3.secret.key")
_STORAGE = {
    "s3.endpoint": "AWS_ENDPOINT_URL",
    "s3.region": "AWS_REGION",
    "s3.access.key": "AWS_ACCESS_KEY_ID",
    "s3.secret.key": "AWS_SECRET_ACCESS_KEY",
}
_PATIENCE = {"timeout": "30s", "connect_timeout": "2s", "max_retries": "1", "retry_timeout": "3s"}


class DeltaTarget:
    """A `SinkTarget` that appends to a Delta table, or merges by key. Exactly once.

    An epoch is one commit, which holds an application transaction (sink, epoch). Delta accepts one that is there
    already, so each delivery reads the table anew and ends if it has the epoch. A commit that meets another one fails,
    and the epoch is delivered again. So two servers cannot both commit an epoch.
    """

    keeps_epochs = True

    def __init__(self, options: Mapping[str, str], schema: SinkSchema) -> None:
        """Raises InvalidParameterValue or FeatureNotSupported; connects to nothing."""
        self._options = Options("the deltalake sink", options)
        self._options.refuse_unknown(_OPTIONS)
        self._location = re.sub("^s3a://", "s3://", self._options.required("location"))
        if is_local(self._location):
            allowed(urllib.parse.unquote(self._location.removeprefix("file://")))
        self._creates = self._options.flag("create_table_if_not_exists")
        if schema.type not in (SinkType.APPEND_ONLY, SinkType.UPSERT):
            raise FeatureNotSupported(f"the deltalake sink cannot be {schema.type.value}")
        if schema.type is SinkType.UPSERT and not schema.primary_key:
            raise InvalidParameterValue("primary key not defined for upsert sink")
        self._schema = schema
        self._app = f"risingpy-sink-{schema.name}"
        self._table: DeltaTable | None = None

    def check(self) -> None:
        within(CHECK_SECONDS, self._look, self._options.owner)

    def _look(self) -> None:
        """Asks for the table, if it must be there."""
        with self._errors():
            try:
                table = self._open()
            except TableNotFoundError:
                if self._creates:
                    return
                raise
            where = f"Delta table {self._location}"
            check_table_columns(self._schema, pa.schema(table.schema().to_arrow()), without_time, where)

    def open(self) -> int | None:
        with self._errors():
            if self._creates:
                described = lake_schema(self._schema, without_time)
                storage = self._storage()
                DeltaTable.create(self._location, schema=described, mode="ignore", storage_options=storage)
            self._table = self._open()
            version: int | None = self._table.transaction_version(self._app)
            return version

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        if self._table is None:
            self.open()
        table = self._table
        assert table is not None
        if not any(chunk.num_rows for chunk in changes):
            return
        with self._errors():
            table.update_incremental()
            delivered = table.transaction_version(self._app)
            if delivered is not None and delivered >= epoch:
                return
            commit = CommitProperties(app_transactions=[Transaction(self._app, epoch)], max_commit_retries=0)
            if self._schema.type is SinkType.APPEND_ONLY:
                rows = inserted_rows(self._schema, changes, without_time)
                write_deltalake(table, rows, mode="append", commit_properties=commit)
            else:
                self._merge(table, last_rows(self._schema, changes, without_time), commit)

    def close(self) -> None:
        self._table = None

    def _merge(self, table: DeltaTable, rows: pa.Table, commit: CommitProperties) -> None:
        columns = [back_quoted(name) for name, _ in self._schema.columns]
        keys = [columns[index] for index in self._schema.primary_key]
        values = {name: f"s.{name}" for name in columns}
        merge = table.merge(
            source=rows.rename_columns(["risingpy op", *rows.column_names[1:]]),
            predicate=" AND ".join(f"t.{key} = s.{key}" for key in keys),
            source_alias="s",
            target_alias="t",
            commit_properties=commit,
        )
        merge = merge.when_matched_delete("s.`risingpy op` = -1").when_matched_update(values)
        merge.when_not_matched_insert(values, predicate="s.`risingpy op` = 1").execute()

    def _open(self) -> DeltaTable:
        return DeltaTable(self._location, storage_options=self._storage())

    def _storage(self) -> dict[str, str]:
        if not self._location.startswith("s3://"):
            return {}
        given = {theirs: self._options.text(name) for name, theirs in _STORAGE.items() if self._options.text(name)}
        plain = {"AWS_ALLOW_HTTP": "true"} if given.get("AWS_ENDPOINT_URL", "").startswith("http://") else {}
        return {**given, **plain, **_PATIENCE}

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """deltalake's errors as ours. Commits that met others, and storage that does not answer, may succeed later."""
        try:
            yield
        except SqlError:
            raise
        except TableNotFoundError:
            raise UndefinedTable(f"there is no Delta table at {self._location}") from None
        except (SchemaMismatchError, DeltaProtocolError, ValueError, TypeError) as error:
            raise SqlError(f"Delta: {self._options.masked(str(error))}", sqlstate="42804") from None
        except Exception as error:
            raise TargetUnavailable(f"Delta: {self._options.masked(str(error))}") from None

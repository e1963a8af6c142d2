"""Sinks to Iceberg tables: `connector = 'iceberg'`."""

from __future__ import annotations

import urllib.parse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import exceptions
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table, Transaction
from pyiceberg.table.upsert_util import create_match_filter

from risingpy.connectors.file_roots import allowed, is_local
from risingpy.connectors.targets.lake_columns import (
    OP,
    check_table_columns,
    inserted_rows,
    lake_schema,
    last_rows,
    without_smallint,
)
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.patience import CHECK_SECONDS, within
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, TargetUnavailable, UndefinedTable

_OPTIONS = (
    "warehouse.path",
    "database.name",
    "table.name",
    "create_table_if_not_exists",
    "s3.endpoint",
    "s3.region",
    "s3.access.key",
    "s3.secret.key",
)
_PREFIX = "catalog."
_CATALOG_TYPES = {"rest": "rest", "jdbc": "sql", "sql": "sql", "glue": "glue", "hive": "hive"}
_S3 = {
    "s3.endpoint": "s3.endpoint",
    "s3.region": "s3.region",
    "s3.access.key": "s3.access-key-id",
    "s3.secret.key": "s3.secret-access-key",
}
_GONE = (exceptions.NoSuchTableError, exceptions.NoSuchNamespaceError)
_REFUSED = (
    exceptions.BadRequestError,
    exceptions.ForbiddenError,
    exceptions.UnauthorizedError,
    exceptions.OAuthError,
    exceptions.ValidationError,
    exceptions.NotInstalledError,
    ValueError,
    TypeError,
)


class IcebergTarget:
    """A `SinkTarget` that appends to an Iceberg table, or replaces rows by key. Exactly once.

    An epoch is one commit, which also sets a property of the table, `risingpy.sink.<sink>.epoch`. Each delivery reads
    the table anew and ends if it has the epoch. A commit that meets another one is not repeated by itself: the epoch
    is delivered again, which looks first. So two servers cannot both commit an epoch.

    An upsert rewrites the files that have its keys: few large epochs cost less than many small ones.
    """

    keeps_epochs = True

    def __init__(self, options: Mapping[str, str], schema: SinkSchema) -> None:
        """Raises InvalidParameterValue or FeatureNotSupported; connects to nothing."""
        self._options = Options("the iceberg sink", options)
        _check_files(self._options)
        self._options.refuse_unknown(_OPTIONS, (_PREFIX,))
        self._name = (self._options.required("database.name"), self._options.required("table.name"))
        self._creates = self._options.flag("create_table_if_not_exists")
        self._catalog_name = self._options.text("catalog.name", "risingpy")
        self._properties = self._catalog_properties()
        if schema.type not in (SinkType.APPEND_ONLY, SinkType.UPSERT):
            raise FeatureNotSupported(f"the iceberg sink cannot be {schema.type.value}")
        if schema.type is SinkType.UPSERT and not schema.primary_key:
            raise InvalidParameterValue("primary key not defined for upsert sink")
        self._schema = schema
        self._mark = f"risingpy.sink.{schema.name}.epoch"
        self._table: Table | None = None

    def check(self) -> None:
        within(CHECK_SECONDS, self._look, self._options.owner)

    def _look(self) -> None:
        """Asks for the table, if it must be there."""
        with self._errors():
            catalog = self._catalog()
            if self._creates and not catalog.table_exists(self._name):
                return
            self._check_table(catalog.load_table(self._name))

    def open(self) -> int | None:
        with self._errors():
            catalog = self._catalog()
            if self._creates:
                catalog.create_namespace_if_not_exists(self._name[0])
                catalog.create_table_if_not_exists(self._name, lake_schema(self._schema, without_smallint))
            self._table = catalog.load_table(self._name)
            return self._delivered(self._table)

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        if self._table is None:
            self.open()
        table = self._table
        assert table is not None
        if not any(chunk.num_rows for chunk in changes):
            return
        with self._errors():
            table.refresh()
            delivered = self._delivered(table)
            if delivered is not None and delivered >= epoch:
                return
            # The library would put the changes on top of what others commit meanwhile, this epoch included.
            table.metadata.properties["commit.retry.num-retries"] = "0"
            with table.transaction() as transaction, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of keys that are not there, which an upsert may have
                self._write(transaction, changes, {self._mark: str(epoch)})
                transaction.set_properties({self._mark: str(epoch)})

    def close(self) -> None:
        self._table = None

    def _write(self, transaction: Transaction, changes: Sequence[pa.Table], mark: dict[str, str]) -> None:
        if self._schema.type is SinkType.APPEND_ONLY:
            transaction.append(inserted_rows(self._schema, changes, without_smallint), snapshot_properties=mark)
            return
        rows = last_rows(self._schema, changes, without_smallint)
        keys = [self._schema.columns[index][0] for index in self._schema.primary_key]
        transaction.delete(create_match_filter(rows.select(keys), keys), snapshot_properties=mark)
        came = rows.filter(pc.equal(rows[OP], 1)).drop_columns([OP])
        if came.num_rows:
            transaction.append(came, snapshot_properties=mark)

    def _delivered(self, table: Table) -> int | None:
        epoch = table.properties.get(self._mark)
        return None if epoch is None else int(epoch)

    def _check_table(self, table: Table) -> None:
        there = schema_to_pyarrow(table.schema(), include_field_ids=False)
        check_table_columns(self._schema, there, without_smallint, f"Iceberg table {'.'.join(self._name)}")

    def _catalog(self) -> Catalog:
        return load_catalog(self._catalog_name, **self._properties)

    def _catalog_properties(self) -> dict[str, str]:
        """The options for pyiceberg: `catalog.x` is its `x`."""
        kind = self._options.text("catalog.type", "rest")
        if kind not in _CATALOG_TYPES:
            hint = f"Types are {', '.join(sorted(_CATALOG_TYPES))}."
            raise FeatureNotSupported(f'catalog.type "{kind}" is not supported', hint=hint)
        named = {
            name.removeprefix(_PREFIX): value
            for name, value in self._options.values.items()
            if name.startswith(_PREFIX) and name not in ("catalog.type", "catalog.name")
        }
        s3 = {theirs: self._options.text(name) for name, theirs in _S3.items() if self._options.text(name)}
        return {"warehouse": self._options.required("warehouse.path"), **named, **s3, "type": _CATALOG_TYPES[kind]}

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """pyiceberg's errors as ours. Its catalogs and file systems raise errors of many libraries: those may pass."""
        try:
            yield
        except SqlError:
            raise
        except _GONE as error:
            raise UndefinedTable(f"Iceberg: {self._options.masked(str(error))}") from None
        except _REFUSED as error:
            raise SqlError(f"Iceberg: {self._options.masked(str(error))}", sqlstate="22023") from None
        except Exception as error:
            raise TargetUnavailable(f"Iceberg: {self._options.masked(str(error))}") from None


def _check_files(options: Options) -> None:
    """Raises InsufficientPrivilege for a warehouse, or a catalog of SQLite, outside of the allowed directories."""
    warehouse, catalog = options.text("warehouse.path"), options.text("catalog.uri")
    if warehouse and is_local(warehouse):
        allowed(urllib.parse.unquote(warehouse.removeprefix("file://")))
    if catalog.startswith("sqlite:///"):
        allowed(catalog.removeprefix("sqlite:///"))

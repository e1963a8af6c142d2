"""A session over an in-memory DuckDB, for tests of the wire protocol alone."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from risingpy.backend import Notification
from risingpy.errors import InFailedTransaction, QueryCanceled, SqlError, SyntaxError_
from risingpy.frontend.copy_options import make_copy_options
from risingpy.frontend.portals import Portals, PreparedEntry
from risingpy.frontend.results import (
    CommandTag,
    CopyIn,
    CopyOut,
    Notice,
    Prepared,
    Result,
    ResultField,
    StartupParameters,
)
from risingpy.types import (
    BIGINT,
    BIT,
    CHARACTER,
    CIDR,
    INET,
    INT256,
    INTERVAL,
    JSONB,
    NUMERIC,
    UNKNOWN,
    UUID,
    VARBIT,
    VARCHAR,
    VECTOR,
    SqlType,
    TypeKind,
    numeric,
)
from risingpy.types.forms import format_text
from risingpy.types.oids import type_by_oid
from risingpy.types.ranges.elements import RANGE_KINDS
from risingpy.types.ranges.multiranges import MULTIRANGE_KINDS
from risingpy.types.sql_type import BARE_TYPES, narrow

_MACADDR = SqlType(TypeKind.MACADDR)
_SHARED_FORMS = (  # of one Arrow type with others
    *(UNKNOWN, VARCHAR, CHARACTER, UUID, _MACADDR, INT256, JSONB, NUMERIC),
    *(INET, CIDR, BIT, VARBIT, VECTOR),
    *map(SqlType, RANGE_KINDS | MULTIRANGE_KINDS),
)
_ARROW_TYPES = {type_.arrow: type_ for type_ in BARE_TYPES.values() if type_ not in _SHARED_FORMS}
_PARAMETER = re.compile(r"\$(\d+)(?:::(\w+(?:\([\d, ]+\))?(?:\[\])?))?")
_NAMES = {
    "int": 23,
    "integer": 23,
    "int4": 23,
    "bigint": 20,
    "int8": 20,
    "smallint": 21,
    "text": 25,
    "varchar": 1043,
    "double": 701,
    "float8": 701,
    "real": 700,
    "bool": 16,
    "boolean": 16,
    "date": 1082,
    "time": 1083,
    "timestamp": 1114,
    "timestamptz": 1184,
    "interval": 1186,
    "bytea": 17,
    "numeric": 1700,
    "oid[]": 1028,
    "int[]": 1007,
}


@dataclass
class FakeStatement:
    text: str


class FakeDatabase:
    """What the fake sessions share."""

    def __init__(self) -> None:
        self.duckdb = duckdb.connect()
        self.sessions: list[FakeSession] = []
        self.executed: list[str] = []

    def open(self, parameters: StartupParameters) -> FakeSession:
        if parameters.database == "nope":
            raise SqlError('database "nope" does not exist', sqlstate="3D000")
        session = FakeSession(self, parameters)
        self.sessions.append(session)
        return session


class _Sink:
    def __init__(self, session: FakeSession, table: str) -> None:
        self.session, self.table = session, table
        self.batches: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> int:
        self.batches.append(batch)
        return int(batch.num_rows)

    def finish(self) -> None:
        if self.batches:
            incoming = pa.Table.from_batches(self.batches)
            self.session.connection.register("incoming", incoming)
            self.session.connection.execute(f"insert into {self.table} select * from incoming")

    def abort(self) -> None:
        self.batches.clear()


def type_of(arrow: pa.DataType) -> SqlType:
    if pa.types.is_decimal(arrow):
        return numeric(arrow.precision, arrow.scale, declared=True)
    if pa.types.is_interval(arrow):
        return INTERVAL
    if pa.types.is_timestamp(arrow):
        arrow = pa.timestamp("us", "UTC") if arrow.tz else pa.timestamp("us")
    return _ARROW_TYPES.get(arrow, VARCHAR)


class FakeSession:
    """Runs everything on DuckDB; `pg_sleep(n)` is ours, so that it can be cancelled."""

    def __init__(self, database: FakeDatabase, parameters: StartupParameters) -> None:
        self.database = database
        self.parameters = parameters
        self.connection = database.duckdb.cursor()
        self.connection.execute("set timezone = 'UTC'")
        self.status = b"I"
        self.implicit = False
        self.cancelled = threading.Event()
        self.closed = False
        self.statements: dict[str, PreparedEntry] = {}
        self.portals = Portals()
        self.notices: list[Notice] = []
        self.changes: dict[str, str] = {}
        self.idles_for: float | None = None  # seconds after which the session ends
        self.zone = parameters.settings.get("TimeZone", "UTC")

    # Binding

    def split(self, sql: str) -> Sequence[FakeStatement]:
        parts = re.findall(r"(?:'(?:[^']|'')*'|[^';])+", sql)
        bad = re.search(r"\bselec\b", sql)
        if bad:
            raise SyntaxError_(f'syntax error at or near "{bad[0]}"', position=bad.start() + 1)
        return [FakeStatement(part.strip()) for part in parts if part.strip()]

    def is_in_engine(self) -> bool:
        return False

    def idle_end(self, seconds: float) -> SqlError | None:
        ends = self.idles_for is not None and seconds > self.idles_for
        return SqlError("terminating connection due to idle-session timeout", sqlstate="57P05") if ends else None

    def speaks_through(self, speak: Callable[[Notice], None]) -> None:
        self.speak = speak

    def recurring(self, sql: str) -> None:
        return None

    def insert_rows(self, sql: str) -> None:
        return None

    def most_repeated(self, prepared: Prepared) -> int:
        return 0

    def execute_repeated(self, prepared: Prepared, rows: Sequence[Sequence[object | None]]) -> None:
        return None

    def short_read(self, prepared: Prepared) -> None:
        return None

    def short_write(self, prepared: Prepared) -> None:
        return None

    def parsed_before(self, text: str, parameter_oids: Sequence[int]) -> None:
        return None

    def keep_parsed(self, text: str, parameter_oids: Sequence[int], prepared: Prepared) -> None:
        pass

    def keepalives(self) -> tuple[int, ...]:
        return (0, 0, 0, 0)

    def short_control(self, what: Prepared | str) -> None:
        return None

    def known_recurring(self, sql: str) -> None:
        return None

    def prepare(self, statement: FakeStatement, parameter_oids: Sequence[int]) -> Prepared:
        text = statement.text
        word = text.split()[0].lower()
        if self.status == b"E" and word not in ("rollback", "commit"):
            message = "current transaction is aborted, commands ignored until end of transaction block"
            raise InFailedTransaction(message)
        oids: dict[int, int] = {}
        for match in _PARAMETER.finditer(text):
            index = int(match[1])
            declared = parameter_oids[index - 1] if index <= len(parameter_oids) else 0
            oids[index] = oids.get(index) or declared or _NAMES.get((match[2] or "text").lower(), 25)
        for index, declared in enumerate(parameter_oids, 1):
            oids.setdefault(index, declared or 25)
        known = [oids.get(index, 25) for index in range(1, max(oids, default=0) + 1)]
        types = tuple(narrow(type_by_oid(oid) or VARCHAR) for oid in known)
        return Prepared(types, self._fields(text, known), statement)

    def _fields(self, text: str, oids: Sequence[int]) -> tuple[ResultField, ...] | None:
        if re.match(r"(?i)\s*(select|values|show|with|table)\b", text) or " returning " in text:
            if "pg_sleep" in text or "big_rows" in text or " returning " in text:
                return (ResultField("x", BIGINT),)
            names = {"oid[]": "int[]", "numeric": "decimal(38,10)"}
            by_oid = {oid: name for name, oid in _NAMES.items()}

            def typed(match: re.Match[str]) -> str:
                name = match[2] or by_oid.get(oids[int(match[1]) - 1], "varchar")
                return f"null::{names.get(name, name)}"

            schema = self._run(_PARAMETER.sub(typed, text), ()).schema
            return tuple(ResultField(field.name, type_of(field.type)) for field in schema)
        return None

    # Running

    def execute(self, prepared: Prepared, parameters: Sequence[object | None]) -> Result:
        statement = prepared.statement
        assert isinstance(statement, FakeStatement)
        text = statement.text
        self.database.executed.append(text)
        word = text.split()[0].lower()
        if word in ("begin", "start"):
            self.status = b"T"
            return Result(CommandTag("BEGIN"))
        if word in ("commit", "rollback"):
            failed, self.status = self.status == b"E", b"I"
            return Result(CommandTag("ROLLBACK" if failed else word.upper()))
        if word == "copy":
            return self._copy(text)
        if word == "notice":
            self.notices.append(Notice("take note", hint="of this"))
            return Result(CommandTag("NOTICE"))
        if word == "set":
            name, value = re.split(r"\s*=\s*|\s+to\s+", text[4:], maxsplit=1)
            self.changes[name.strip()] = value.strip("'")
            if name.lower().strip() == "timezone":
                self.zone = value.strip("'")
            return Result(CommandTag("SET"))
        if prepared.fields is not None:
            if "pg_sleep" in text:
                self._sleep(float(re.findall(r"pg_sleep\(([\d.]+)\)", text)[0]))
                return Result(
                    CommandTag("SELECT", counts_rows=True),
                    prepared.fields,
                    iter([pa.record_batch([pa.array([1])], ["x"])]),
                )
            if "big_rows" in text:
                return Result(CommandTag("SELECT", counts_rows=True), prepared.fields, self._big_rows())
            reader = self._run(text, parameters)
            tag = CommandTag("INSERT 0" if word == "insert" else "SELECT", counts_rows=True)
            return Result(tag, prepared.fields, self._read(reader))
        self._run(text, parameters)
        words = {"insert": "INSERT 0 1", "create": "CREATE_TABLE", "drop": "DROP_TABLE"}
        return Result(CommandTag(words.get(word, word.upper())))

    def _run(self, text: str, parameters: Sequence[object | None]) -> pa.RecordBatchReader:
        values = [
            v if v is None or not isinstance(v, pa.MonthDayNano) else format_text(INTERVAL, v) for v in parameters
        ]
        try:
            relation = self.connection.sql(text, params=values or None)
            return None if relation is None else relation.to_arrow_reader(50_000)
        except duckdb.CatalogException as error:
            name = re.search(r"with name (\w+)", str(error))
            raise SqlError(
                f'relation "{name[1] if name else ""}" does not exist', sqlstate="42P01", position=15
            ) from None
        except duckdb.Error as error:
            raise SqlError(str(error).splitlines()[0], sqlstate="42000") from None

    def _read(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except OSError as error:  # an interrupt comes as one of Arrow's errors while rows are read
            if not str(error).startswith("INTERRUPT"):
                raise
            raise QueryCanceled("canceling statement due to user request") from error

    def _big_rows(self) -> Iterator[pa.RecordBatch]:
        batch = pa.record_batch([pa.array(range(10_000), pa.int64())], ["x"])
        for _ in range(100_000):
            if self.cancelled.is_set():
                raise QueryCanceled("canceling statement due to user request")
            yield batch

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.cancelled.wait(0.01):
                raise QueryCanceled("canceling statement due to user request")

    def _copy(self, text: str) -> Result:
        match = re.match(
            r"(?is)copy\s+(\S+?|\(.*?\))\s*(?:\(([^)]*)\))?\s+(from\s+stdin|to\s+stdout)\s*(?:with\s*)?(.*)", text
        )
        if match is None:
            raise SyntaxError_("syntax error in COPY")
        options: dict[str, str | bool] = {}
        for part in re.split(r",(?=(?:[^']*'[^']*')*[^']*$)", match[4].strip("() ")):
            name, _, value = part.strip().partition(" ")
            if name:
                options[name.lower()] = value.strip().strip("'") if value else True
        source = match[1] if match[1].startswith("(") else match[1].strip('"')
        columns = match[2] or "*"
        query = source.strip("()") if source.startswith("(") else f"select {columns} from {source}"
        fields = self._fields(query, ())
        assert fields is not None
        made = make_copy_options(options)
        if "from" in match[3].lower():
            return Result(CommandTag("COPY", counts_rows=True), copy=CopyIn(source, fields, made, _Sink(self, source)))
        return Result(
            CommandTag("COPY", counts_rows=True), batches=iter(self._run(query, ())), copy=CopyOut(fields, made)
        )

    # Transactions and the rest

    def begin_implicit(self) -> None:
        self.implicit = True

    def end_implicit(self) -> None:
        self.implicit = False

    def fail(self) -> None:
        self.implicit = False
        if self.status == b"T":
            self.status = b"E"

    def sync(self) -> None:
        if self.status == b"I":
            self.portals.end_transaction(committed=True)

    def transaction_status(self) -> bytes:
        return self.status

    def time_zone(self) -> str:
        return self.zone

    def newest_type(self, sql_type: SqlType) -> SqlType:
        return sql_type

    def named_value(self, sql_type: SqlType, text: str) -> object:
        return 1259

    def parameter_status(self) -> Mapping[str, str]:
        return {"application_name": self.parameters.settings.get("application_name", "")}

    def drain_notices(self) -> Sequence[Notice]:
        notices, self.notices = self.notices, []
        return notices

    def has_notifications(self) -> bool:
        return False

    def drain_notifications(self) -> Sequence[Notification]:
        return ()

    def drain_parameter_changes(self) -> Mapping[str, str]:
        changes, self.changes = self.changes, {}
        return changes

    def cancel(self) -> None:
        self.cancelled.set()
        self.connection.interrupt()

    def check(self) -> None:
        if self.cancelled.is_set():
            raise QueryCanceled("canceling statement due to user request")

    def forget_cancel(self) -> None:
        self.cancelled.clear()

    def close(self) -> None:
        self.closed = True

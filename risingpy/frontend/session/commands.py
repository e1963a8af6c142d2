"""A session's statements as commands: bound once per catalog, and bound again if the catalog has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

import pyarrow as pa

from risingpy.errors import FeatureNotSupported, StalePlan, UndefinedObject
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.results import Prepared, Result, ResultField, Statement
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements import bind_statement
from risingpy.meta.writing.table_locks import LockMode
from risingpy.types import UNKNOWN, SqlType, TypeKind, array_of
from risingpy.types.oids import declared, oid_and_depth, type_by_oid

TRIES_OF_A_STALE_PLAN = 10  # a try fails if another session alters a relation while the statement is planned
CACHED_STATEMENTS = 256  # bound statements that a session keeps; the oldest are dropped first

_Key = tuple[str, tuple[int, ...], tuple[str, ...]]  # a text, its parameters' types, and what names its procedure gives


class Commands:
    """Binds a session's statements, and keeps the commands while the catalog and the settings are the same."""

    def __init__(self, context: StatementContext) -> None:
        self._context = context
        self._cache: dict[_Key, tuple[object, Command]] = {}

    def version(self) -> tuple[int, int]:
        """That of the catalog and the settings: while it is equal, a command may be run again."""
        return self._context.database.reads.catalog.version, self._context.settings.version

    def bind(self, statement: Statement, parameter_oids: Sequence[int]) -> Command:
        """The command of a statement on the current catalog, perhaps from the cache."""
        version = self.version()
        key = self._key(statement, parameter_oids)
        cached = self._cache.get(key)
        if cached is not None and cached[0] == version:
            return cached[1]
        command = self._bound(statement, parameter_oids)
        if command.lasts:
            if len(self._cache) >= CACHED_STATEMENTS:
                del self._cache[next(iter(self._cache))]
            self._cache[key] = (version, command)
        return command

    def known(self, statement: Statement, parameter_oids: Sequence[int]) -> Command | None:
        """The command of a statement, if it is there already and for the current catalog."""
        cached = self._cache.get(self._key(statement, parameter_oids))
        return cached[1] if cached is not None and cached[0] == self.version() else None

    def run_newest(self, statement: Statement, prepared: Prepared, parameters: Parameters) -> Result:
        """Runs the statement on the current catalog. Binds it again if another session alters its relations meanwhile.

        From the second try on it locks the table that it writes to, since ALTERs could follow each other for ever.
        """
        context, types = self._context, prepared.parameter_types
        in_transaction = context.transaction.is_open  # its earlier writes cannot be planned again
        with ExitStack() as kept:
            for tries_left in reversed(range(TRIES_OF_A_STALE_PLAN)):
                command = self.bind(statement, prepared.declared)
                if command.parameter_types != types:  # the client has sent the values for `types`
                    command = self.bind(statement, [declared(type_) for type_ in types])
                if prepared.fields is not None and of_types(command.fields) != of_types(prepared.fields):
                    changed = FeatureNotSupported("cached plan must not change result type")
                    changed.about = (("R", "RevalidateCachedQuery"),)  # drivers prepare again where they read this
                    raise changed
                context.demands.begin(command.demands)
                try:
                    return _begun(command.run(parameters))
                except StalePlan as stale:
                    if in_transaction or not tries_left:
                        raise
                    if stale.written is not None:
                        locks, process_id = context.database.writes.locks, context.startup.process_id
                        table = locks.held((stale.written,), LockMode.FORM, context.cancelled, process_id=process_id)
                        kept.enter_context(table)
        raise AssertionError("the last try returns or raises")

    def _key(self, statement: Statement, parameter_oids: Sequence[int]) -> _Key:
        """What a name may mean in a procedure is in its arguments."""
        procedures = self._context.procedures
        names = (procedures[-1].name, *procedures[-1].argument_names) if procedures else ()
        return statement.text, tuple(parameter_oids), names

    def _bound(self, statement: Statement, oids: Sequence[int]) -> Command:
        assert isinstance(statement, ParsedStatement)  # `split` gave it
        demands = self._context.demands
        demands.begin()
        command = bind_statement(self._context, statement, [self._type_of(oid) for oid in oids])
        return replace(command, demands=demands.asked) if demands.asked else command

    def _type_of(self, number: int) -> SqlType:
        oid, more_depth = oid_and_depth(number)
        if oid == 0:
            return UNKNOWN
        found = type_by_oid(oid) or self._context.database.reads.catalog.type_by_oid(oid)
        if found is None:
            raise UndefinedObject(f"type with OID {oid} does not exist")
        for _ in range(more_depth):
            found = array_of(found)
        return found


def _begun(result: Result) -> Result:
    """The result with its first batch computed: after that its plan can no longer be stale."""
    if result.batches is None:
        return result
    batches = iter(result.batches)
    first = next(batches, None)
    return replace(result, batches=iter(()) if first is None else _Begun(first, batches))


class _Begun:
    """Batches of which the first is already computed. Not a generator, whose `close` has no effect before its start."""

    def __init__(self, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> None:
        self._first: pa.RecordBatch | None = first
        self._rest = rest

    def __iter__(self) -> _Begun:
        return self

    def __next__(self) -> pa.RecordBatch:
        first, self._first = self._first, None
        return next(self._rest) if first is None else first

    def close(self) -> None:
        close = getattr(self._rest, "close", None)
        if close is not None:
            close()


def of_types(fields: Sequence[ResultField] | None) -> Sequence[object] | None:
    """Fields that are the same if their types are: ALTER TYPE adds values to an enum, and it is the same type.

    The table that they are of may have been made anew.
    """
    if fields is None:
        return None
    return [(field.name, _same_if_equal(field.type)) for field in fields]


def _same_if_equal(type_: SqlType) -> object:
    return (type_.oid, type_.depth) if type_.leaf.kind is TypeKind.ENUM else type_

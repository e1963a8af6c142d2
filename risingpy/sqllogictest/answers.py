"""How each mode answers a query.

A view has no order, so its rows are always compared as a set of rows (or of values, for valuesort). A query
that the database cannot keep as a view (0A000) is skipped and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from risingpy.sqllogictest.client import Answer, StatementRefused
from risingpy.sqllogictest.diff import render_sql
from risingpy.sqllogictest.execution import Execution
from risingpy.sqllogictest.records import QueryRecord, Record, SortMode, StatementRecord
from risingpy.sqllogictest.results import Failure, Skip
from risingpy.sqllogictest.sql_text import first_words, is_query, without_final_order

FEATURE_NOT_SUPPORTED = "0A000"


@dataclass
class SelectAnswers:
    """Modes batch and oracle: the query is run as it stands. Remembers the queries that views could answer."""

    view_queries: dict[int, int] = field(default_factory=dict)
    _in_transaction: bool = False

    def query(self, execution: Execution, index: int, record: QueryRecord) -> Failure | None:
        answer = execution.ask(record, record.sql)
        if answer is None:
            return None
        failure = execution.compare(record, answer, execution.sort_of(record), "SELECT")
        if failure is None and not self._in_transaction and is_query(record.sql):
            self.view_queries[index] = len(answer.columns)
        return failure

    def after_statement(self, execution: Execution, index: int, record: StatementRecord) -> None:
        # No view shows a transaction's own uncommitted changes.
        self._in_transaction = in_transaction_after(record.sql, self._in_transaction)


@dataclass
class BackfillAnswers:
    """Mode backfill: makes a view at the query's place, reads it, compares the rows and drops it."""

    select: SelectAnswers = field(default_factory=SelectAnswers)

    def query(self, execution: Execution, index: int, record: QueryRecord) -> Failure | None:
        failure = self.select.query(execution, index, record)
        if failure is not None or index not in self.select.view_queries:
            return failure
        view = ViewOfQuery(index, record, columns=self.select.view_queries[index])
        if not view.create(execution, record):
            return None
        try:
            return view.compare(execution)
        finally:
            view.drop(execution)

    def after_statement(self, execution: Execution, index: int, record: StatementRecord) -> None:
        self.select.after_statement(execution, index, record)


@dataclass
class StreamAnswers:
    """Mode stream, second pass: the views are made before the data, and read at the places of their queries.

    `creations` has, by the index of a statement, the queries whose views are made right after it.
    """

    creations: dict[int, list[ViewOfQuery]]
    _views: dict[int, ViewOfQuery] = field(default_factory=dict)

    def query(self, execution: Execution, index: int, record: QueryRecord) -> Failure | None:
        view = self._views.pop(index, None)
        if view is None:
            if not is_query(record.sql) and first_words(record.sql, 1) != ["SHOW"]:
                execution.ask(record, record.sql)  # INSERT … RETURNING and its like change what views show
            return None
        try:
            return view.compare(execution)
        finally:
            view.drop(execution)

    def after_statement(self, execution: Execution, index: int, record: StatementRecord) -> None:
        for view in self.creations.get(index, ()):
            try:
                if view.create(execution, record):
                    self._views[view.index] = view
            except StatementRefused as error:
                detail = f"{render_sql(view.sql)}\n{error.text}"
                failure = Failure(view.record.location, "the view cannot be made before the data", detail)
                execution.failures.append(failure)


@dataclass(frozen=True)
class ViewOfQuery:
    """The materialized view that stands for the query at `index`."""

    index: int
    record: QueryRecord
    columns: int

    @property
    def name(self) -> str:
        return f"slt_view_{self.index}"

    @property
    def sql(self) -> str:
        # The view's columns get our names: a query may have duplicate or missing names.
        columns = ", ".join(f"c{i}" for i in range(self.columns))
        query = without_final_order(self.record.sql)
        return f"CREATE MATERIALIZED VIEW {self.name} ({columns}) AS {query}"

    def create(self, execution: Execution, at: Record) -> bool:
        """Makes the view over the connection of the record `at`; False if the database has no such views."""
        try:
            execution.ask(at, self.sql)
        except StatementRefused as error:
            if error.sqlstate != FEATURE_NOT_SUPPORTED:
                raise
            execution.skips.append(Skip(self.record.location, f"no such view: {error.message}"))
            return False
        return True

    def compare(self, execution: Execution) -> Failure | None:
        answer = execution.ask(self.record, f"SELECT * FROM {self.name}")
        assert isinstance(answer, Answer)
        by_value = execution.sort_of(self.record) is SortMode.VALUESORT
        sort = SortMode.VALUESORT if by_value else SortMode.ROWSORT
        return execution.compare(self.record, answer, sort, "view")

    def drop(self, execution: Execution) -> None:
        execution.ask(self.record, f"DROP MATERIALIZED VIEW {self.name}")


def in_transaction_after(sql: str, before: bool) -> bool:
    """Whether a session is in a transaction block after this statement."""
    match first_words(sql, 3):
        case ["BEGIN" | "START", *_]:
            return True
        case ["ROLLBACK", "TO", *_] | ["ROLLBACK", "WORK" | "TRANSACTION", "TO"]:
            return before
        case ["COMMIT" | "ROLLBACK" | "END" | "ABORT", *_]:
            return False
    return before

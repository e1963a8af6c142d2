"""The errors of a query that DuckDB runs or whose rows are read. They are DuckDB's, but may come as Arrow's."""

from __future__ import annotations

import re

import duckdb
import pyarrow as pa

from risingpy.errors import QueryCanceled, SqlError
from risingpy.statement_limits import StatementLimits, out_of_memory

INTERRUPT_AGAIN_SECONDS = 0.05  # DuckDB forgets an interrupt that comes before it has begun to run
QUERY_FAILURES = (duckdb.Error, OSError, pa.ArrowException, MemoryError, UnicodeDecodeError)

# The beginnings of DuckDB's texts, whose rest may quote users' texts.
_INTERRUPTED = "INTERRUPT Error"
_OUT_OF_MEMORY = re.compile(
    r"Out of Memory Error|Invalid Input Error: (Arrow Appender"
    r"|Python exception occurred while executing the UDF: (pyarrow\.lib\.)?(Arrow)?MemoryError\b)"
)
_ERRORS: dict[str, type[duckdb.Error]] = {
    "Conversion Error": duckdb.ConversionException,
    "Out of Range Error": duckdb.OutOfRangeException,
    "Invalid Input Error": duckdb.InvalidInputException,
}


def ended_by_limits(error: Exception, limits: StatementLimits) -> SqlError | None:
    """The error to raise if the query was cancelled, or reached a limit; None if the error has another reason."""
    if limits.cancelled.is_set() or str(error).startswith(_INTERRUPTED):
        return QueryCanceled("canceling statement due to user request")
    return out_of_memory(_memory_detail(error), limits) if _is_out_of_memory(error) else None


def as_duckdb_error(error: Exception) -> duckdb.Error:
    """DuckDB's error, which comes as one of Arrow's if it happens after the first batch.

    Its text may quote a user's and cut that within a character: then it comes as Python's, which could not decode it.
    """
    if isinstance(error, duckdb.Error):
        return error
    text = error.object.decode(errors="replace") if isinstance(error, UnicodeDecodeError) else str(error)
    found = next((kind for name, kind in _ERRORS.items() if text.startswith(name)), duckdb.Error)
    return found(text)


def _is_out_of_memory(error: Exception) -> bool:
    """DuckDB's refusal, Arrow's, that of one of our functions, and that of texts of more than 2 GB in one batch."""
    known = isinstance(error, duckdb.OutOfMemoryException | MemoryError)
    return known or _OUT_OF_MEMORY.match(str(error)) is not None


def _memory_detail(error: Exception) -> str:
    """DuckDB's first sentence, which says how much memory it wanted."""
    line = (str(error).splitlines() or [""])[0]
    return line.removeprefix("Out of Memory Error: ").removeprefix("Invalid Input Error: ") or "an allocation failed"

"""Functions that users wrote in Python: `CREATE FUNCTION … LANGUAGE python`.

A call has its definition as its first argument, a constant. It runs in a worker process (`functions.python`), with a
limited number of rows at a time. A call of a table function gives the array of its rows, which a ProjectSet unnests. A
call of an aggregate takes lists of its arguments, one per group.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.errors import ExternalRoutineError
from risingpy.functions.python import RoutineKind, call_worker
from risingpy.functions.python.definition import definition_of
from risingpy.functions.python.worker_process import ROWS_PER_CALL
from risingpy.functions.topics.calling import Function, call
from risingpy.types import array_of

AGGREGATE = "python_aggregate"  # over lists
VOLATILE = frozenset({"volatile_python_function", "volatile_python_rows"})
ROW_SETS = frozenset({"python_rows", "volatile_python_rows"})
CALLS = frozenset({"python_function", "volatile_python_function"}) | ROW_SETS

# SQL that is generated names a definition by a short key: DuckDB hands a constant over once per row. A key is the hash
# of its definition, so the table can say nothing wrong, whoever fills it; it is as large as the definitions are many.
_known: dict[str, str] = {}


def key_of(definition: str) -> str:
    """The short key of a definition in DuckDB's SQL, valid in this process."""
    key = hashlib.sha256(definition.encode()).hexdigest()[:24]
    _known[key] = definition
    return key


def compute(definition: str, columns: Sequence[pa.Array], rows: int) -> pa.Array:
    """The values of a scalar function, or the arrays of a table function, for argument columns of `rows` rows."""
    function = definition_of(definition)
    result = function.result if function.kind is RoutineKind.SCALAR else array_of(function.result)

    def computed(*arguments: pa.Array) -> pa.Array:
        pieces = [
            _piece(definition, [column.slice(begin, ROWS_PER_CALL) for column in arguments])
            for begin in range(0, len(arguments[0]), ROWS_PER_CALL)
        ]
        return pa.concat_arrays(pieces)

    # The first column only tells the number of rows, for functions without arguments.
    given = [pa.array(np.zeros(rows, np.int8)), *columns]
    return call(Function(computed, takes_nulls=not function.strict), given, result.arrow)


def _piece(definition: str, columns: Sequence[pa.Array]) -> pa.Array:
    batch = pa.record_batch(list(columns), names=[f"a{k}" for k in range(len(columns))])
    value = call_worker("call", definition, [batch])[1][0].column(0)
    if len(value) != batch.num_rows:
        name = definition_of(definition).name
        raise ExternalRoutineError(f"function {name} gave {len(value)} values for {batch.num_rows} rows")
    return value


def _from_duckdb(keys: pa.Array, *columns: pa.Array) -> pa.Array:
    return compute(_known[keys[0].as_py()], columns, len(keys))


def fold(definition: str, sizes: pa.Array, columns: Sequence[pa.Array], *, tolerant: bool) -> tuple[pa.Array, int]:
    """The results of an aggregate over groups of consecutive rows, of these sizes; and how many failed."""
    groups = pa.record_batch([sizes], names=["size"])
    rows = pa.record_batch([pa.nulls(len(columns[0])), *columns], names=[f"a{k}" for k in range(len(columns) + 1)])
    answer, (results,) = call_worker("fold", definition, [groups, rows], tolerant=tolerant)
    return results.column(0), int(answer["errors"])


def _aggregated(keys: pa.Array, lists: pa.Array) -> pa.Array:
    """A group's rows are a list of structs; NULL is a group without rows."""
    rows = lists.flatten()
    sizes = lists.value_lengths().fill_null(0).cast(pa.int64())
    return fold(_known[keys[0].as_py()], sizes, rows.flatten(), tolerant=False)[0]


PYTHON_FUNCTIONS: dict[str, Function] = {
    **dict.fromkeys(sorted(CALLS), Function(_from_duckdb, takes_nulls=True)),
    AGGREGATE: Function(_aggregated, takes_nulls=True),
}

"""Our own scalar functions on Arrow columns: what DuckDB lacks, or does differently from PostgreSQL.

`FUNCTIONS` maps canonical names of the signature table to them, a file per family. They are called in two ways: on
whole chunks (`arrow_functions.py`), and from DuckDB's SQL by `rpy_<result type>('name', …)` (`duckdb_functions.py`).
"""

from __future__ import annotations

from risingpy.executors.expression.functions.aggregates import AGGREGATES
from risingpy.executors.expression.functions.byte_strings import BYTE_STRINGS
from risingpy.executors.expression.functions.calling import Function, call
from risingpy.executors.expression.functions.cryptography import CRYPTOGRAPHY
from risingpy.executors.expression.functions.dates_and_times import DATES_AND_TIMES
from risingpy.executors.expression.functions.datetime_input import DATETIME_INPUT
from risingpy.executors.expression.functions.datetime_output import DATETIME_OUTPUT
from risingpy.executors.expression.functions.fields_by_name import FIELDS_BY_NAME
from risingpy.executors.expression.functions.identifiers import IDENTIFIERS
from risingpy.executors.expression.functions.identities import IDENTITIES
from risingpy.executors.expression.functions.intervals import INTERVALS
from risingpy.executors.expression.functions.jsonb import JSONB
from risingpy.executors.expression.functions.jsonb_changes import JSONB_CHANGES
from risingpy.executors.expression.functions.jsonb_paths import JSONB_PATHS
from risingpy.executors.expression.functions.jsonb_records import JSONB_RECORDS
from risingpy.executors.expression.functions.large_integers import LARGE_INTEGERS
from risingpy.executors.expression.functions.large_texts import LARGE_TEXTS
from risingpy.executors.expression.functions.mathematical import MATHEMATICAL
from risingpy.executors.expression.functions.networks import NETWORKS
from risingpy.executors.expression.functions.number_input import NUMBER_INPUT
from risingpy.executors.expression.functions.number_output import NUMBER_OUTPUT
from risingpy.executors.expression.functions.numeric_analysis import NUMERIC_ANALYSIS
from risingpy.executors.expression.functions.python_functions import PYTHON_FUNCTIONS
from risingpy.executors.expression.functions.regular_expressions import REGULAR_EXPRESSIONS
from risingpy.executors.expression.functions.series import SERIES
from risingpy.executors.expression.functions.text import TEXT
from risingpy.executors.expression.functions.waiting import WAITING
from risingpy.executors.expression.functions.wide_numbers import WIDE_NUMBERS
from risingpy.executors.expression.functions.wide_scales import WIDE_SCALES

FUNCTIONS: dict[str, Function] = {
    **AGGREGATES,
    **MATHEMATICAL,
    **NUMERIC_ANALYSIS,
    **WIDE_NUMBERS,
    **WIDE_SCALES,
    **TEXT,
    **LARGE_TEXTS,
    **REGULAR_EXPRESSIONS,
    **BYTE_STRINGS,
    **CRYPTOGRAPHY,
    **NETWORKS,
    **DATES_AND_TIMES,
    **SERIES,
    **INTERVALS,
    **IDENTIFIERS,
    **LARGE_INTEGERS,
    **IDENTITIES,
    **DATETIME_OUTPUT,
    **DATETIME_INPUT,
    **NUMBER_OUTPUT,
    **NUMBER_INPUT,
    **PYTHON_FUNCTIONS,
    **JSONB,
    **JSONB_CHANGES,
    **WAITING,
    **JSONB_PATHS,
    **JSONB_RECORDS,
    **FIELDS_BY_NAME,
}

__all__ = ["FUNCTIONS", "Function", "call"]

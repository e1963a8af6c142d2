"""Our own scalar functions on Arrow columns: what DuckDB lacks, or does differently from PostgreSQL.

`FUNCTIONS` maps canonical names of the signature table to them, a file per family. They are called in two ways: on
whole chunks (`arrow_functions.py`), and from DuckDB's SQL by `rpy_<result type>('name', …)` (`duckdb_functions.py`).
"""

from __future__ import annotations

from risingpy.functions.topics.aggregates import AGGREGATES
from risingpy.functions.topics.byte_strings import BYTE_STRINGS
from risingpy.functions.topics.calling import Function, call
from risingpy.functions.topics.cryptography import CRYPTOGRAPHY
from risingpy.functions.topics.dates_and_times import DATES_AND_TIMES
from risingpy.functions.topics.datetime_input import DATETIME_INPUT
from risingpy.functions.topics.datetime_output import DATETIME_OUTPUT
from risingpy.functions.topics.fields_by_name import FIELDS_BY_NAME
from risingpy.functions.topics.identifiers import IDENTIFIERS
from risingpy.functions.topics.identities import IDENTITIES
from risingpy.functions.topics.intervals import INTERVALS
from risingpy.functions.topics.jsonb import JSONB
from risingpy.functions.topics.jsonb_changes import JSONB_CHANGES
from risingpy.functions.topics.jsonb_paths import JSONB_PATHS
from risingpy.functions.topics.jsonb_records import JSONB_RECORDS
from risingpy.functions.topics.large_integers import LARGE_INTEGERS
from risingpy.functions.topics.large_texts import LARGE_TEXTS
from risingpy.functions.topics.mathematical import MATHEMATICAL
from risingpy.functions.topics.networks import NETWORKS
from risingpy.functions.topics.number_input import NUMBER_INPUT
from risingpy.functions.topics.number_output import NUMBER_OUTPUT
from risingpy.functions.topics.numeric_analysis import NUMERIC_ANALYSIS
from risingpy.functions.topics.python_functions import PYTHON_FUNCTIONS
from risingpy.functions.topics.regular_expressions import REGULAR_EXPRESSIONS
from risingpy.functions.topics.series import SERIES
from risingpy.functions.topics.text import TEXT
from risingpy.functions.topics.waiting import WAITING
from risingpy.functions.topics.wide_numbers import WIDE_NUMBERS
from risingpy.functions.topics.wide_scales import WIDE_SCALES

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

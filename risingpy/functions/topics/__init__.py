"""Our own scalar functions on Arrow columns: what DuckDB lacks, or does differently from PostgreSQL.

`FUNCTIONS` maps canonical names of the signature table to them, a file per family. They are called in two ways: on
whole chunks (`arrow_functions.py`), and from DuckDB's SQL by `rpy_<result type>('name', …)` (`duckdb_functions.py`).
"""

from __future__ import annotations

from risingpy.functions.topics.addresses import ADDRESSES
from risingpy.functions.topics.advisory_locks import ADVISORY_LOCKS
from risingpy.functions.topics.aggregates import AGGREGATES
from risingpy.functions.topics.backends import BACKENDS
from risingpy.functions.topics.binary_forms import BINARY_FORMS
from risingpy.functions.topics.bit_strings import BIT_STRINGS
from risingpy.functions.topics.calling import Function, call
from risingpy.functions.topics.domains import DOMAINS
from risingpy.functions.topics.enums import ENUMS
from risingpy.functions.topics.extensions import EXTENSIONS
from risingpy.functions.topics.fields_by_name import FIELDS_BY_NAME
from risingpy.functions.topics.hardware_addresses import HARDWARE_ADDRESSES
from risingpy.functions.topics.json.assignment import JSONB_ASSIGNMENT
from risingpy.functions.topics.json.changes import JSONB_CHANGES
from risingpy.functions.topics.json.lookup import JSONB
from risingpy.functions.topics.json.made_texts import JSON_MADE
from risingpy.functions.topics.json.paths import JSONB_PATHS
from risingpy.functions.topics.json.records import JSON_RECORDS
from risingpy.functions.topics.json.written import JSON_WRITTEN
from risingpy.functions.topics.multiranges import MULTIRANGES
from risingpy.functions.topics.networks import NETWORKS
from risingpy.functions.topics.numbers.large_integers import LARGE_INTEGERS
from risingpy.functions.topics.numbers.mathematical import MATHEMATICAL
from risingpy.functions.topics.numbers.numeric_analysis import NUMERIC_ANALYSIS
from risingpy.functions.topics.numbers.wide_numbers import WIDE_NUMBERS
from risingpy.functions.topics.numbers.wide_scales import WIDE_SCALES
from risingpy.functions.topics.object_names import OBJECT_NAMES
from risingpy.functions.topics.patterns.regular_expressions import REGULAR_EXPRESSIONS
from risingpy.functions.topics.python_functions import PYTHON_FUNCTIONS
from risingpy.functions.topics.ranges import RANGES
from risingpy.functions.topics.row_keys import ROW_KEYS
from risingpy.functions.topics.sequences import SEQUENCES
from risingpy.functions.topics.storage_facts import STORAGE_FACTS
from risingpy.functions.topics.templates.datetime_input import DATETIME_INPUT
from risingpy.functions.topics.templates.datetime_output import DATETIME_OUTPUT
from risingpy.functions.topics.templates.number_input import NUMBER_INPUT
from risingpy.functions.topics.templates.number_output import NUMBER_OUTPUT
from risingpy.functions.topics.texts.byte_strings import BYTE_STRINGS
from risingpy.functions.topics.texts.cryptography import CRYPTOGRAPHY
from risingpy.functions.topics.texts.identifiers import IDENTIFIERS
from risingpy.functions.topics.texts.large_texts import LARGE_TEXTS
from risingpy.functions.topics.texts.text import TEXT
from risingpy.functions.topics.times.clock_words import CLOCK_WORDS
from risingpy.functions.topics.times.dates_and_times import DATES_AND_TIMES
from risingpy.functions.topics.times.from_parts import FROM_PARTS
from risingpy.functions.topics.times.intervals import INTERVALS
from risingpy.functions.topics.times.nanoseconds import NANOSECONDS
from risingpy.functions.topics.times.parts import PARTS
from risingpy.functions.topics.times.series import SERIES
from risingpy.functions.topics.times.waiting import WAITING
from risingpy.functions.topics.vectors.functions import VECTORS

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
    **EXTENSIONS,
    **NETWORKS,
    **ADDRESSES,
    **HARDWARE_ADDRESSES,
    **BIT_STRINGS,
    **VECTORS,
    **RANGES,
    **MULTIRANGES,
    **DATES_AND_TIMES,
    **CLOCK_WORDS,
    **FROM_PARTS,
    **PARTS,
    **SERIES,
    **INTERVALS,
    **NANOSECONDS,
    **IDENTIFIERS,
    **LARGE_INTEGERS,
    **SEQUENCES,
    **STORAGE_FACTS,
    **DATETIME_OUTPUT,
    **DATETIME_INPUT,
    **NUMBER_OUTPUT,
    **NUMBER_INPUT,
    **PYTHON_FUNCTIONS,
    **JSONB,
    **JSONB_CHANGES,
    **JSONB_ASSIGNMENT,
    **WAITING,
    **BACKENDS,
    **ADVISORY_LOCKS,
    **JSONB_PATHS,
    **JSON_RECORDS,
    **JSON_WRITTEN,
    **JSON_MADE,
    **FIELDS_BY_NAME,
    **OBJECT_NAMES,
    **DOMAINS,
    **ENUMS,
    **ROW_KEYS,
    **BINARY_FORMS,
}

__all__ = ["FUNCTIONS", "Function", "call"]

"""Every function of the table is judged: it stands in some case."""

from __future__ import annotations

from collections.abc import Iterator

from risingpy.functions.signature_tables import FUNCTION_TABLES
from risingpy.functions.signature_tables.maps import MAPS
from risingpy.functions.signature_tables.multiranges import MULTIRANGES
from risingpy.functions.signature_tables.nanoseconds import NANOSECONDS
from risingpy.functions.signature_tables.system import SYSTEM
from risingpy.functions.signature_tables.vectors import VECTORS
from risingpy.functions.signatures import SCALAR_SIGNATURES
from risingpy.plan.expressions import Call, Expr, operands
from tests.functions.cases_reader import read_cases
from tests.functions.judge import bound

_OF_SETS = ("RANGES_OF", "RANGE_AGG", "RANGE_INTERSECT_AGG")
# Not comparable with PostgreSQL 15: it changes with every call, or PostgreSQL has no such function.
_ALONE = frozenset(
    (
        *("now", "random", "coth", "sha1", "crc32", "to_bin_int4", "to_bin_int8", "to_oct_int4", "to_oct_int8"),
        *("digest", "gen_random_bytes", "uuid_generate_v3", "uuid_generate_v5"),  # of extensions
        *("crc32c", "hmac", "encrypt", "decrypt", "secure_compare", "inet_aton", "inet_ntoa", "gamma", "lgamma"),
        *("to_ascii", "gen_random_uuid", "clock_timestamp", "pg_sleep", "pg_sleep_for", "pg_sleep_until"),
        *(line.split()[1] for line in MAPS.splitlines() if line),
        *(line.split()[1] for line in SYSTEM.splitlines() if line),  # of a catalog: tests/frontend/system_catalog
        *("array_distinct", "array_max", "array_min", "array_reverse", "array_sort"),
        *("is_json_array", "is_json_object", "is_json_scalar", "is_json_value"),
        *(line.split()[1] for line in VECTORS.splitlines() if line),
        *(line.split()[1] for line in NANOSECONDS.splitlines() if line),  # tests/types/test_timestamp_ns.py
        *("int256_abs", "int256_modulo", "hex_to_int256", "reverse_bytes", "int8recv"),
        "jsonb_object_of_pairs",  # a part of an aggregate, as these are, or of unnest
        *(words[1] for words in map(str.split, MULTIRANGES.splitlines()) if words and words[0] in _OF_SETS),
        "field",  # an anonymous record has no fields that both know by name
    )
)
_TABLES = "".join(FUNCTION_TABLES)


def _calls(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Call):
        yield expr.function
    for part in operands(expr):
        yield from _calls(part)


def test_every_function_has_a_case() -> None:
    judged = {name for listed in read_cases() for name in _calls(bound(listed.case))}
    ours = {s.function for s in SCALAR_SIGNATURES if f" {s.function} " in _TABLES or f" {s.function}@ " in _TABLES}
    assert sorted(ours - judged - _ALONE) == []

"""Casts to domains: the value, unless it breaks a rule (`plan/domain_casts.py`)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.functions.topics.calling import Compute, Function, per_constant
from risingpy.plan.domain_casts import DOMAIN_VALUE, CastRules


def domain_violation(schema_name: str, name: str, constraint: str | None) -> SqlError:
    """23514 for a constraint of a domain that a value breaks, 23502 for NOT NULL (None)."""
    about = (("s", schema_name), ("d", name))
    if constraint is None:
        error = SqlError(f"domain {name} does not allow null values", sqlstate="23502")
        error.about = about
        return error
    message = f'value for domain {name} violates check constraint "{constraint}"'
    error = SqlError(message, sqlstate="23514")
    error.about = (*about, ("n", constraint))
    return error


def first_broken(holds: list[pa.Array]) -> tuple[int, int] | None:
    """(The first row that breaks a rule, the first rule that it breaks); a rule that is NULL for a row holds."""
    places = [(pc.index(column, pa.scalar(False)).as_py(), rule) for rule, column in enumerate(holds)]
    return min(((row, rule) for row, rule in places if row >= 0), default=None)


def _domain_value(_oid: int, packed: str) -> Compute:
    rules = CastRules.unpacked(packed)

    def computed(values: pa.Array, *holds: pa.Array) -> pa.Array:
        broken = first_broken(list(holds))
        if broken is not None:
            raise domain_violation(rules.schema_name, rules.name, rules.constraints[broken[1]])
        return values

    return computed


DOMAINS: dict[str, Function] = {DOMAIN_VALUE: Function(per_constant(_domain_value, [0, 1]), takes_nulls=True)}

"""`t FOR SYSTEM_TIME AS OF PROCTIME()`: the right side of a join as it is when a row of the left side comes."""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import FeatureNotSupported
from risingpy.plan.logical import JoinKind

_KINDS = {JoinKind.INNER: JoinKind.TEMPORAL, JoinKind.LEFT: JoinKind.TEMPORAL_LEFT}


def temporal_kind(kind: JoinKind, version: exp.Version, position: int | None) -> JoinKind:
    """The temporal form of an inner or left join. Raises FeatureNotSupported for other joins and points in time."""
    time = version.expression
    is_now = isinstance(time, exp.Anonymous) and str(time.this).upper() == "PROCTIME" and not time.expressions
    if not is_now or str(version.this).upper() != "TIMESTAMP":
        raise FeatureNotSupported(
            "FOR SYSTEM_TIME AS OF takes PROCTIME() only",
            hint="For example, JOIN t FOR SYSTEM_TIME AS OF PROCTIME() ON …",
            position=position,
        )
    if kind not in _KINDS:
        raise FeatureNotSupported("a temporal join is INNER or LEFT", position=position)
    return _KINDS[kind]


def without_version(table: exp.Expr) -> exp.Expr:
    """The table without its FOR SYSTEM_TIME."""
    plain = table.copy()
    plain.set("version", None)
    return plain

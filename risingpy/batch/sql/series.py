"""A ProjectSet with series of numbers or moments in it as DuckDB SQL that makes the rows while they are read.

    ProjectSet(generate_series($0, $1); t)
    =>  the rows' places 0, 1, … by several levels of `unnest`, and of each place the element, first + place * step

All other sets are made as lists. A series as a list would be completely in memory before its first row is read, and
DuckDB unnests lists of millions of elements a hundred times slower than lists of a thousand. So each level but the
first expands every element of the level before into _FAN_OUT others: 2,048 input rows, which DuckDB processes at once,
take 16 MB per level, however long their series are.

DuckDB only checks for an interrupt once per vector of its source, however many rows come of that. So the numbers of
rows, and the places one level above the last, pass through a function of ours that checks.

Lists that are no series are read by subscript, at the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from risingpy.functions.evaluation.sql.text import own_call, quoted, raised
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.plan.logical import ProjectSet
from risingpy.types import BIGINT, TypeKind
from risingpy.types.date_units import MICROS_OF_DAY

_FAN_OUT = 1024
_LEVELS = 4  # where the lengths are not known: 2^40 rows would take hours to read
_MAX_BIGINT = 2**63 - 1
_SERIES = ("generate_series", "range")
_AT_ZONE = "generate_series_at"  # its last argument is the zone


def has_series(plan: ProjectSet) -> bool:
    """Whether one of the lists is a series that this module can write."""
    return any(_step(each) is not None for each in plan.lists)


def series_sql(plan: ProjectSet, source: str, expression: Callable[[Expr], str]) -> str:
    """The SELECT of `plan`, whose input's rows are `source`'s."""
    steps = [_step(each) for each in plan.lists]
    width = len(plan.input.schema)
    kept = [f"t.c{i} AS c{i}" for i in range(width)]
    given: list[str] = []
    for k, (each, step) in enumerate(zip(plan.lists, steps, strict=True)):
        if step is None:
            given.append(f"{expression(each)} AS l{k}")
        else:
            given += _bounds(k, each, step, expression)
    levels = _levels(plan.lists, steps)
    counts = [_length(k, is_series=step is not None) for k, step in enumerate(steps)]
    longest = counts[0] if len(counts) == 1 else f"greatest({', '.join(counts)})"
    inner = f"SELECT {', '.join([*kept, *given])} FROM {source}"
    counted = f"SELECT *, {_checked(longest, levels)} AS n FROM ({inner}) AS t"
    placed = _unnested(counted, levels, outer=plan.outer)
    columns = [*kept, f"t.p + 1 AS c{width}"]
    for k, (each, step) in enumerate(zip(plan.lists, steps, strict=True)):
        element = f"t.l{k}[t.p + 1]" if step is None else _element(k, each, alone=len(counts) == 1)
        columns.append(f"{element} AS c{width + 1 + k}")
    return f"SELECT {', '.join(columns)} FROM ({placed}) AS t"


def _step(expr: Expr) -> Expr | None:
    """A series' step in the unit of its places, if it always is of one size: numbers, or microseconds."""
    if not isinstance(expr, Call) or expr.function not in (*_SERIES, _AT_ZONE):
        return None
    kind = expr.type.element.kind
    if kind in (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT):
        return expr.args[2] if len(expr.args) > 2 else Literal(1, BIGINT)
    if kind not in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ):
        return None
    match expr.args[2]:
        case Literal(pa.MonthDayNano() as step) if not step.months and not (step.days and expr.function == _AT_ZONE):
            return Literal(step.days * MICROS_OF_DAY + step.nanoseconds // 1000, BIGINT)
    return None


def _bounds(k: int, series: Expr, step: Expr, expression: Callable[[Expr], str]) -> list[str]:
    assert isinstance(series, Call)
    moments = series.type.element.kind in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ)
    first, last = (
        _micros(expression(each), name) if moments else f"CAST({expression(each)} AS BIGINT)"
        for name, each in zip(("start", "stop"), series.args[:2], strict=True)
    )
    by = f"CAST({expression(step)} AS BIGINT)"
    last = f"CAST({last} AS HUGEINT)"
    if series.function == "range":  # it leaves out its end
        last += f" - sign({by})"
    return [f"{first} AS s{k}", f"{last} AS e{k}", f"{by} AS d{k}"]


def _micros(moment: str, name: str) -> str:
    infinite = raised("22023", quoted(f"{name} value cannot be infinity"), BIGINT)
    return f"CASE WHEN isinf({moment}) THEN {infinite} ELSE epoch_us({moment}) END"


def _length(k: int, *, is_series: bool) -> str:
    """How many elements a list has, as HUGEINT if it is a series: the distance may be more than a bigint."""
    if not is_series:
        return f"coalesce(len(t.l{k}), 0)"
    s, e, d = (f"t.{letter}{k}" for letter in "sed")
    zero = raised("22023", quoted("step size cannot equal zero"), BIGINT)
    inside = f"({s} < {e}) = ({d} > 0) OR {s} = {e}"
    return f"CASE WHEN {d} = 0 THEN {zero} WHEN {inside} THEN ({e} - {s}) // {d} + 1 ELSE 0 END"


def _checked(length: str, levels: int) -> str:
    most = _FAN_OUT**levels
    too_long = raised("54000", quoted(f"a series of more than {most} elements is too long here"), BIGINT)
    checked = f"CASE WHEN {length} > {most} THEN {too_long} ELSE CAST(coalesce({length}, 0) AS BIGINT) END"
    return own_call("looked", [checked], BIGINT)


def _levels(lists: Sequence[Expr], steps: Sequence[Expr | None]) -> int:
    """As many as the lists need; _LEVELS if their lengths are not known yet."""
    most = 1
    for each, step in zip(lists, steps, strict=True):
        match each, step:
            case Call(args=(Literal(int(first)), Literal(int(last)), *_)), Literal(int(by)) if by:
                most = max(most, (last - first) // by + 1)
            case _:
                return _LEVELS
    levels = 1
    while _FAN_OUT**levels < most:
        levels += 1
    return levels


def _unnested(counted: str, levels: int, *, outer: bool) -> str:
    """The rows of `counted`, each as often as its n says, with their places p; with `outer` once at least."""
    sql = counted
    for level in reversed(range(levels)):
        by = _FAN_OUT**level
        part = min(by * _FAN_OUT, _MAX_BIGINT)
        first, last = ("0", "t.n") if level == levels - 1 else ("t.p", f"t.p + least({part}, t.n - t.p)")
        places = f"range({first}, {last}, {by})"
        if level == 0 and levels > 1:
            places = f"range({own_call('looked', [first], BIGINT)}, {last}, {by})"
        if outer:
            absent = "t.n = 0" if level == levels - 1 else "t.p IS NULL"
            places = f"CASE WHEN {absent} THEN [CAST(NULL AS BIGINT)] ELSE {places} END"
        without = "" if level == levels - 1 else " EXCLUDE (p)"
        sql = f"SELECT t.*{without}, unnest({places}) AS p FROM ({sql}) AS t"
    return sql


def _element(k: int, series: Expr, *, alone: bool) -> str:
    """The element at place p. The product alone may be more than a bigint, the element is not."""
    wide = "BIGINT" if _is_small(series) else "HUGEINT"
    sum_ = f"CAST(t.s{k} AS {wide}) + CAST(t.p AS {wide}) * t.d{k}"
    type_ = series.type.element
    match type_.kind:
        case TypeKind.TIMESTAMP:
            value = f"make_timestamp(CAST({sum_} AS BIGINT))"
        case TypeKind.TIMESTAMPTZ:
            value = f"CAST(make_timestamp(CAST({sum_} AS BIGINT)) AS TIMESTAMPTZ)"
        case _:
            value = f"CAST({sum_} AS {type_.duckdb})"
    if alone:
        return value
    return f"CASE WHEN CASE WHEN t.d{k} > 0 THEN {sum_} <= t.e{k} ELSE {sum_} >= t.e{k} END THEN {value} END"


def _is_small(series: Expr) -> bool:
    """Whether the distance of its ends is a bigint for certain."""
    assert isinstance(series, Call)
    if series.type.element.kind in (TypeKind.SMALLINT, TypeKind.INTEGER):
        return True
    match series.args:
        case (Literal(int(first)), Literal(int(last)), *_):
            return max(abs(first), abs(last)) < 2**60
    return False

"""Values whose texts depend on the session's time zone, and the calls that say in which zone they are shown.

Expressions know no session. So the binder writes the zone into them, where it is not UTC: a cast to text becomes
`text_at(value, zone)`, or `text_in_zone(value, zone)` of an array or a row that has such values in it; what becomes
json is `in_zone(value, zone)`, the value itself, of which the function around it reads the zone.
"""

from __future__ import annotations

from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import VARCHAR, SqlType, TypeKind

TEXT_IN_ZONE = frozenset({TypeKind.TIMESTAMPTZ, TypeKind.TSTZRANGE, TypeKind.TSTZMULTIRANGE})
"""The kinds whose texts depend on the time zone."""

SHOWN_IN_ZONE = "in_zone"
TEXT_OF_PARTS = "text_in_zone"


def depends_on_zone(type_: SqlType) -> bool:
    """Whether a value's text, or that of a part of it, depends on the time zone."""
    return type_.kind in TEXT_IN_ZONE or any(map(depends_on_zone, type_.items))


def text_function(type_: SqlType) -> str:
    """The function of a value and a zone that gives the text, of a type of TEXT_IN_ZONE."""
    return "text_at" if type_.kind is TypeKind.TIMESTAMPTZ else f"{type_.kind.value}_text_at"


def text_in_zone(expr: Expr, zone: str) -> Expr:
    """The text of an expression that depends on the zone."""
    function = text_function(expr.type) if expr.type.kind in TEXT_IN_ZONE else TEXT_OF_PARTS
    return Call(function, (expr, Literal(zone, VARCHAR)), VARCHAR)


def shown_in_zone(expr: Expr, zone: str) -> Expr:
    """The same value, of which json shows the times in this zone."""
    if zone == "UTC" or not depends_on_zone(expr.type):
        return expr
    return Call(SHOWN_IN_ZONE, (expr, Literal(zone, VARCHAR)), expr.type)


def zone_of(expr: Expr) -> str | None:
    """The zone in which json shows the times of an expression; None for UTC."""
    if not isinstance(expr, Call) or expr.function != SHOWN_IN_ZONE:
        return None
    zone = expr.args[1]
    assert isinstance(zone, Literal)  # `shown_in_zone` makes it; without it, times would be in UTC
    return str(zone.value)

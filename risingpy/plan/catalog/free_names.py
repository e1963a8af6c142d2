"""Names of constraints and sequences that nobody has named, as PostgreSQL makes them: t_a_b_key, t_a_check, t_a_seq."""

from __future__ import annotations

from collections.abc import Callable

_MOST_BYTES = 63  # PostgreSQL's NAMEDATALEN - 1


def free_name(table: str, columns: str, label: str, is_taken: Callable[[str], bool]) -> str:
    """`table_columns_label` (without `columns` if there are none), with a number after it if that is taken."""
    number = 0
    while True:
        name = _made(table, columns, f"{label}{number or ''}")
        if not is_taken(name):
            return name
        number += 1


def _made(table: str, columns: str, label: str) -> str:
    """As PostgreSQL's makeObjectName: the longer of the first two parts loses its end until all fits."""
    overhead = len(label) + 1 + (1 if columns else 0)
    first, second = len(table.encode()), len(columns.encode())
    while first + second + overhead > _MOST_BYTES:
        if first > second:
            first -= 1
        else:
            second -= 1
    parts = [_cut(table, first), *([_cut(columns, second)] if columns else ()), label]
    return "_".join(parts)


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")

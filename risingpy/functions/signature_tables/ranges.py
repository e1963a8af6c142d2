"""Operators and functions on ranges, the same for each range type. The lines' form is in `signatures.py`."""

_OF_EACH = """
@> range_contains {range} {range} = bool
@> {range}_contains_element {range} {element} = bool
<@ range_contained {range} {range} = bool
<@ {range}_contains_own_element {element} {range} = bool
&& range_overlaps {range} {range} = bool
<< range_before {range} {range} = bool
>> range_after {range} {range} = bool
&< range_not_right {range} {range} = bool
&> range_not_left {range} {range} = bool
-|- range_adjacent {range} {range} = bool
+ range_union {range} {range} = {range}
- range_minus {range} {range} = {range}
* range_intersect {range} {range} = {range}
range_contains range_contains {range} {range} = bool
range_contains_elem {range}_contains_element {range} {element} = bool
range_contained_by range_contained {range} {range} = bool
elem_contained_by_range {range}_contains_own_element {element} {range} = bool
range_overlaps range_overlaps {range} {range} = bool
range_before range_before {range} {range} = bool
range_after range_after {range} {range} = bool
range_overleft range_not_right {range} {range} = bool
range_overright range_not_left {range} {range} = bool
range_adjacent range_adjacent {range} {range} = bool
range_union range_union {range} {range} = {range}
range_minus range_minus {range} {range} = {range}
range_intersect range_intersect {range} {range} = {range}
range_merge range_merge {range} {range} = {range}
range_send {range}_send {range} = bytea
isempty range_is_empty {range} = bool
lower_inc range_lower_inc {range} = bool
upper_inc range_upper_inc {range} = bool
lower_inf range_lower_inf {range} = bool
upper_inf range_upper_inf {range} = bool
lower {wide}{range}_lower {range} = {element}
upper {wide}{range}_upper {range} = {element}
{range} {range} {element} {element} = {range} | {element} {element} text = {range}
"""
ELEMENTS = {
    "int4": "int4",
    "int8": "int8",
    "num": "numeric",
    "date": "date",
    "ts": "timestamp",
    "tstz": "timestamptz",
}
"""The types of bounds, by what the names of their ranges and multiranges begin with."""
_ZONED = """
TEXT_AT tstzrange_text_at tstzrange text = text
PARSE_AT parse_tstzrange_at text text = tstzrange
"""


def _lines() -> str:
    # The functions whose result is a wide numeric have names that say so (`evaluation.sql.text`).
    each = (
        _OF_EACH.format(range=f"{name}range", element=element, wide="wide_" if element == "numeric" else "")
        for name, element in ELEMENTS.items()
    )
    return "".join([*each, _ZONED])


RANGES = _lines()

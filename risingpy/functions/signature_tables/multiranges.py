"""Operators and functions on multiranges, the same for each type. The lines' form is in `signatures.py`."""

from risingpy.functions.signature_tables.ranges import ELEMENTS

_OF_EACH = """
@> {width}_contains {several} {several} = bool
@> {width}_contains_range {several} {range} = bool
@> range_contains_{width} {range} {several} = bool
@> {several}_contains_element {several} {element} = bool
<@ {width}_contained {several} {several} = bool
<@ range_contained_by_{width} {range} {several} = bool
<@ {width}_contained_by_range {several} {range} = bool
<@ {several}_contains_own_element {element} {several} = bool
&& {width}_overlaps {several} {several} = bool
&& {width}_overlaps_range {several} {range} = bool
&& range_overlaps_{width} {range} {several} = bool
+ {width}_union {several} {several} = {several}
- {width}_minus {several} {several} = {several}
* {width}_intersect {several} {several} = {several}
range_merge {width}_span {several} = {range}
multirange {width}_of_range {range} = {several}
multirange_send {several}_send {several} = bytea
isempty {width}_is_empty {several} = bool
lower_inc {width}_lower_inc {several} = bool
upper_inc {width}_upper_inc {several} = bool
lower_inf {width}_lower_inf {several} = bool
upper_inf {width}_upper_inf {several} = bool
lower {wide}{several}_lower {several} = {element}
upper {wide}{several}_upper {several} = {element}
RANGES_OF {width}_ranges {several} = {range}[]
{several} {width}_of_range {range} = {several}
RANGE_AGG {width}_union_of_ranges {range}[] = {several}
RANGE_AGG {width}_union_of {several}[] = {several}
RANGE_INTERSECT_AGG {width}_common_of_ranges {range}[] = {range}
RANGE_INTERSECT_AGG {width}_common_of {several}[] = {several}
MULTIRANGE_OF {width}_of_ranges {range}[] = {several}
"""
# The operators' names as functions.
_NAMED = """
multirange_contains_multirange {width}_contains {several} {several} = bool
multirange_contains_range {width}_contains_range {several} {range} = bool
multirange_contains_elem {several}_contains_element {several} {element} = bool
range_contains_multirange range_contains_{width} {range} {several} = bool
multirange_contained_by_multirange {width}_contained {several} {several} = bool
multirange_contained_by_range {width}_contained_by_range {several} {range} = bool
range_contained_by_multirange range_contained_by_{width} {range} {several} = bool
elem_contained_by_multirange {several}_contains_own_element {element} {several} = bool
multirange_overlaps_multirange {width}_overlaps {several} {several} = bool
multirange_overlaps_range {width}_overlaps_range {several} {range} = bool
range_overlaps_multirange range_overlaps_{width} {range} {several} = bool
multirange_union {width}_union {several} {several} = {several}
multirange_minus {width}_minus {several} {several} = {several}
multirange_intersect {width}_intersect {several} {several} = {several}
"""
# Operators that compare beginnings and ends, with what PostgreSQL calls their functions.
_SPANS = {
    "<<": ("before", "before"),
    ">>": ("after", "after"),
    "&<": ("overleft", "not_right"),
    "&>": ("overright", "not_left"),
    "-|-": ("adjacent", "adjacent"),
}
_OF_SPANS = """
{symbol} {width}_{name} {several} {several} = bool
{symbol} {width}_{name}_range {several} {range} = bool
{symbol} range_{width}_{name} {range} {several} = bool
multirange_{shown}_multirange {width}_{name} {several} {several} = bool
multirange_{shown}_range {width}_{name}_range {several} {range} = bool
range_{shown}_multirange range_{width}_{name} {range} {several} = bool
"""
_ZONED = """
TEXT_AT tstzmultirange_text_at tstzmultirange text = text
PARSE_AT parse_tstzmultirange_at text text = tstzmultirange
"""


def _lines() -> str:
    # The functions whose result is a wide numeric have names that say so (`evaluation.sql.text`).
    lines = [_ZONED]
    for name, element in ELEMENTS.items():
        is_wide = element == "numeric"
        names = {
            "range": f"{name}range",
            "several": f"{name}multirange",
            "element": element,
            "wide": "wide_" if is_wide else "",
            "width": "nummultirange" if is_wide else "multirange",
        }
        lines += [_OF_EACH.format(**names), _NAMED.format(**names)]
        lines += [
            _OF_SPANS.format(symbol=symbol, shown=shown, name=test, **names) for symbol, (shown, test) in _SPANS.items()
        ]
    return "".join(lines)


MULTIRANGES = _lines()

RANGE_AGGREGATES = "".join(
    f"range_agg array_agg {name}range = {name}multirange | {name}multirange = {name}multirange\n"
    f"range_intersect_agg array_agg {name}range = {name}range | {name}multirange = {name}multirange\n"
    for name in ELEMENTS
)
"""The aggregates, which are functions of the array of what they aggregate."""

"""Functions of regular expressions: by RE2 over the whole column if it matches the same, else by Python row by row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.functions.python.worker_process import call_builtin
from risingpy.functions.topics.calling import Compute, Function, by_row, in_slices, per_constant
from risingpy.functions.topics.patterns.cost import may_take_long
from risingpy.functions.topics.patterns.similar import similar_pattern
from risingpy.functions.topics.patterns.translation import Extent, Pattern, compile_pattern
from risingpy.statement_limits import look, works_alone

Span = tuple[int, int]
_TEXTS = pa.list_(pa.string())
_REFERENCE = re.compile(r"\\(.?)", re.DOTALL)


def uses_re2(pattern: Pattern, texts: pa.Array) -> bool:
    """Whether RE2 may search these texts."""
    return pattern.re2 is not None and (
        not pattern.ascii_only or pc.all(pc.string_is_ascii(texts), min_count=0).as_py()
    )


def first_match(pattern: Pattern, text: str, start: int = 0) -> re.Match[str] | None:
    """The match that PostgreSQL finds: the first, and of those that begin there the longest or the shortest."""
    found = pattern.python.search(text, start)
    if found is None or pattern.extent is Extent.FIRST:
        return found
    ends = range(len(text), found.end(), -1) if pattern.extent is Extent.LONGEST else range(found.start(), found.end())
    for end in ends:
        other = pattern.python.fullmatch(text, found.start(), end)
        if other is not None:
            return other
    return found


def all_matches(pattern: Pattern, text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """Matches from left to right; after an empty one the search goes on one character further."""
    while start <= len(text):
        look()
        found = first_match(pattern, text, start)
        if found is None:
            return
        yield found
        start = found.end() + (found.end() == found.start())


class _TakesLong(Exception):
    """Python would have to search, and that may take long."""


def _by_row(pattern: Pattern, one: Callable[[str], object], result: pa.DataType) -> Compute:
    """A function that works row by row in Python. Raises _TakesLong if it may take long, unless in a worker process."""
    compute = by_row(one, result)
    extra = int(pattern.extent is not Extent.FIRST)

    def computed(texts: pa.Array) -> pa.Array:
        longest = pc.max(pc.utf8_length(texts)).as_py() or 0
        expression = pattern.python
        if not works_alone() and may_take_long(expression.pattern, expression.flags, longest, len(texts), extra):
            raise _TakesLong
        return compute(texts)

    return computed


def _guarded(name: str, function: Function) -> Function:
    """The function; if it may take long, it runs in a worker process, which can be killed."""

    def computed(*columns: pa.Array) -> pa.Array:
        try:
            return function.compute(*columns)
        except _TakesLong:
            return call_builtin(name, columns)

    return Function(computed, function.takes_nulls)


def _matches(pattern: str, flags: str) -> Compute:
    compiled = compile_pattern(pattern, flags)

    def computed(texts: pa.Array) -> pa.Array:
        if uses_re2(compiled, texts):
            return in_slices(lambda part: pc.match_substring_regex(part, compiled.re2_plain))(texts)
        return _by_row(compiled, lambda text: compiled.python.search(text) is not None, pa.bool_())(texts)

    return computed


def _operator(flags: str, *, negated: bool) -> Function:
    def prepared(pattern: str) -> Compute:
        matches = _matches(pattern, flags)
        return (lambda texts: pc.invert(matches(texts))) if negated else matches

    return Function(per_constant(prepared, [1]))


def _like(pattern: str, flags: str = "") -> Compute:
    return _matches(pattern, _without_global(flags, "regexp_like()"))


def _without_global(flags: str, function: str, hint: str | None = None) -> str:
    if "g" in flags:
        raise SqlError(f'{function} does not support the "global" option', sqlstate="22023", hint=hint)
    return flags


def _substring(pattern: str) -> Compute:
    """The first group's match if there is a group, else the whole."""
    compiled = compile_pattern(pattern)
    return _extracted(compiled, min(compiled.groups, 1))


def _extracted(compiled: Pattern, group: int) -> Compute:
    def one(text: str) -> str | None:
        found = first_match(compiled, text)
        return None if found is None else found[group]

    # RE2 gives an empty text, and not NULL, for a group that takes no part in the match.
    there = group == 0 or group in compiled.certain

    def computed(texts: pa.Array) -> pa.Array:
        if there and compiled.extent is Extent.FIRST and uses_re2(compiled, texts):
            extract = compiled.re2_with_group(group)
            return in_slices(lambda part: pc.struct_field(pc.extract_regex(part, extract), "m"))(texts)
        return _by_row(compiled, one, pa.string())(texts)

    return computed


def _re2_replacement(text: str, groups: int) -> str:
    """PostgreSQL's replacement text (\\1 to \\9 are groups, \\& is the match) in RE2's form."""

    def piece(found: re.Match[str]) -> str:
        if found[1] == "\\":
            return found[0]
        if found[1].isdigit() and found[1] != "0":
            return found[0] if int(found[1]) <= groups else ""
        return "\\0" if found[1] == "&" else "\\\\" + found[1]

    return _REFERENCE.sub(piece, text)


def _replacement(text: str) -> Callable[[re.Match[str]], str]:
    """The same as a function of the match."""

    def replaced(match: re.Match[str]) -> str:
        def piece(found: re.Match[str]) -> str:
            if found[1].isdigit() and found[1] != "0":
                number = int(found[1])
                return match[number] or "" if number <= len(match.groups()) else ""
            return match[0] if found[1] == "&" else "\\" if found[1] == "\\" else found[0]

        return _REFERENCE.sub(piece, text)

    return replaced


def _replace(pattern: str, replacement: str, flags: str = "") -> Compute:
    return _replace_from(pattern, replacement, 1, 0 if "g" in flags else 1, flags.replace("g", ""))


def _replace_from(pattern: str, replacement: str, start: int, which: int, flags: str = "") -> Compute:
    """Replaces match number `which`, or all for 0, at or after character `start`."""
    _positive(start, "start")
    if which < 0:
        raise SqlError(f'invalid value for parameter "n": {which}', sqlstate="22023")
    compiled = compile_pattern(pattern, flags)
    template = _replacement(replacement)

    def one(text: str) -> str:
        pieces, at = [], 0
        for number, found in enumerate(all_matches(compiled, text, start - 1), 1):
            if which in (0, number):
                pieces += [text[at : found.start()], template(found)]
                at = found.end()
            if which == number:
                break
        return "".join(pieces) + text[at:]

    def computed(texts: pa.Array) -> pa.Array:
        plain = start == 1 and which in (0, 1) and compiled.extent is Extent.FIRST and not compiled.may_be_empty
        if plain and uses_re2(compiled, texts):
            written = _re2_replacement(replacement, compiled.groups)
            limit = 1 if which == 1 else None
            return in_slices(
                lambda part: pc.replace_substring_regex(part, compiled.re2_plain, written, max_replacements=limit)
            )(texts)
        return _by_row(compiled, one, pa.string())(texts)

    return computed


def _groups_of(found: re.Match[str]) -> list[str | None]:
    """The groups of a match, or the whole match if the pattern has no groups."""
    return list(found.groups()) or [found[0]]


def _match(pattern: str, flags: str = "") -> Compute:
    hint = "Use the regexp_matches function instead."
    compiled = compile_pattern(pattern, _without_global(flags, "regexp_match()", hint))

    def one(text: str) -> list[str | None] | None:
        found = first_match(compiled, text)
        return None if found is None else _groups_of(found)

    certain = len(compiled.certain) == compiled.groups

    def computed(texts: pa.Array) -> pa.Array:
        if not certain or not uses_re2(compiled, texts) or compiled.extent is not Extent.FIRST:
            return _by_row(compiled, one, _TEXTS)(texts)
        if compiled.groups:
            return in_slices(lambda part: _lists(pc.extract_regex(part, compiled.re2_with_groups)))(texts)
        wholes = _extracted(compiled, 0)(texts)
        return _lists(pa.StructArray.from_arrays([wholes], ["g1"], mask=wholes.is_null()))

    return computed


def _lists(groups: pa.StructArray) -> pa.Array:
    """A list of each row's fields, in their order; NULL for a row that is NULL."""
    matched = groups.is_valid().to_numpy(zero_copy_only=False)
    rows, width = int(matched.sum()), groups.type.num_fields
    fields = pa.concat_arrays([groups.field(k).filter(pa.array(matched)) for k in range(width)])
    texts = fields.take(pa.array(np.arange(rows * width).reshape(width, rows).T.ravel()))
    offsets = np.concatenate([[0], np.cumsum(matched * width)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts, mask=pa.array(~matched))


def _all(pattern: str, flags: str = "") -> Compute:
    """regexp_matches: the groups of the first match, or of all."""
    every = "g" in flags
    compiled = compile_pattern(pattern, flags.replace("g", ""))

    def one(text: str) -> list[list[str | None]]:
        return [_groups_of(found) for found in islice(all_matches(compiled, text), None if every else 1)]

    return _by_row(compiled, one, pa.list_(_TEXTS))


def _split(pattern: str, flags: str = "") -> Compute:
    """regexp_split_to_array: the texts between matches, except empty matches at either end or right after another."""
    compiled = compile_pattern(pattern, _without_global(flags, "regexp_split_to_array()"))

    def one(text: str) -> list[str]:
        pieces, at, passed = [], 0, 0
        for found in all_matches(compiled, text):
            if found.start() < len(text) and found.end() > passed:
                pieces.append(text[at : found.start()])
                at = found.end()
            passed = found.end()
        return [*pieces, text[at:]]

    return _by_row(compiled, one, _TEXTS)


def _positive(value: int, name: str) -> None:
    if value <= 0:
        raise SqlError(f'invalid value for parameter "{name}": {value}', sqlstate="22023")


def _count(pattern: str, start: int = 1, flags: str = "") -> Compute:
    _positive(start, "start")
    compiled = compile_pattern(pattern, _without_global(flags, "regexp_count()"))

    def computed(texts: pa.Array) -> pa.Array:
        context = compiled.may_be_empty or compiled.looks_back
        plain = start == 1 and compiled.extent is Extent.FIRST and not context
        if plain and uses_re2(compiled, texts):
            return in_slices(lambda part: pc.count_substring_regex(part, pattern=compiled.re2_plain))(texts)
        return _by_row(compiled, lambda text: sum(1 for _ in all_matches(compiled, text, start - 1)), pa.int32())(texts)

    return computed


def _nth(compiled: Pattern, text: str, start: int, which: int) -> re.Match[str] | None:
    for number, found in enumerate(all_matches(compiled, text, start - 1), 1):
        if number == which:
            return found
    return None


def _substr(pattern: str, start: int = 1, which: int = 1, flags: str = "", group: int = 0) -> Compute:
    _positive(start, "start")
    _positive(which, "n")
    compiled, group = _group(pattern, _without_global(flags, "regexp_substr()"), group)

    def one(text: str) -> str | None:
        found = _nth(compiled, text, start, which)
        return None if found is None or group > compiled.groups else found[group]

    if start == which == 1 and group <= compiled.groups:
        return _extracted(compiled, group)
    return _by_row(compiled, one, pa.string())


def _instr(pattern: str, start: int = 1, which: int = 1, ends: int = 0, flags: str = "", group: int = 0) -> Compute:
    _positive(start, "start")
    _positive(which, "n")
    if ends not in (0, 1):
        raise SqlError(f'invalid value for parameter "endoption": {ends}', sqlstate="22023")
    compiled, group = _group(pattern, _without_global(flags, "regexp_instr()"), group)

    def one(text: str) -> int:
        found = _nth(compiled, text, start, which)
        if found is None or group > compiled.groups or found.start(group) < 0:
            return 0
        return 1 + (found.end(group) if ends else found.start(group))

    return _by_row(compiled, one, pa.int32())


def _group(pattern: str, flags: str, group: int) -> tuple[Pattern, int]:
    """The pattern and the group that `subexpr` means: without groups the whole match is number 1."""
    if group < 0:
        raise SqlError(f'invalid value for parameter "subexpr": {group}', sqlstate="22023")
    compiled = compile_pattern(pattern, flags)
    return compiled, 0 if compiled.groups == 0 and group == 1 else group


def _similar(pattern: str, escape: str = "\\") -> Compute:
    return _matches(similar_pattern(pattern, escape), "")


def _similar_substring(pattern: str, escape: str) -> Compute:
    compiled = compile_pattern(similar_pattern(pattern, escape))
    return _extracted(compiled, min(compiled.groups, 1))


def _with(prepare: Callable[..., Compute], constants: int) -> Function:
    """A function of a text and of constants that prepare it."""
    return Function(per_constant(prepare, range(1, constants + 1)))


_FUNCTIONS: dict[str, Function] = {
    "regexp_eq": _operator("", negated=False),
    "regexp_ne": _operator("", negated=True),
    "regexp_ieq": _operator("i", negated=False),
    "regexp_ine": _operator("i", negated=True),
    "regexp_substring": _with(_substring, 1),
    "similar": _with(_similar, 1),
    "similar_escape": _with(_similar, 2),
    "similar_substring": _with(_similar_substring, 2),
    **{f"regexp_like_{n}": _with(_like, n) for n in (1, 2)},
    **{f"regexp_match_{n}": _with(_match, n) for n in (1, 2)},
    **{f"regexp_matches_{n}": _with(_all, n) for n in (1, 2)},
    **{f"regexp_split_{n}": _with(_split, n) for n in (1, 2)},
    **{f"regexp_replace_{n}": _with(_replace, n) for n in (2, 3)},
    **{f"regexp_replace_from_{n}": _with(_replace_from, n) for n in (4, 5)},
    "regexp_replace_from_3": _with(lambda pattern, text, start: _replace_from(pattern, text, start, 1), 3),
    **{f"regexp_count_{n}": _with(_count, n) for n in (1, 2, 3)},
    **{f"regexp_substr_{n}": _with(_substr, n) for n in range(1, 6)},
    **{f"regexp_instr_{n}": _with(_instr, n) for n in range(1, 7)},
}
REGULAR_EXPRESSIONS: dict[str, Function] = {name: _guarded(name, each) for name, each in _FUNCTIONS.items()}

"""What a sequence counts: its options, checked as PostgreSQL checks them (`init_params` in `sequence.c`)."""

from __future__ import annotations

from dataclasses import replace

from risingpy.errors import InvalidParameterValue, SyntaxError_
from risingpy.frontend.binder.typing.type_names import BUILT_IN_TYPES, resolve_type
from risingpy.frontend.parser.ast import SequenceOptions
from risingpy.frontend.parser.ast_parts import OptionValue, TypeName
from risingpy.plan.catalog import GREATEST_INTEGERS, Counting, identity_bounds
from risingpy.types import BIGINT, SqlType

_NOT_OF_COLUMNS = ("AS", "OWNED BY")


def counting_of(options: SequenceOptions, type_: SqlType | None = None) -> Counting:
    """What a new sequence counts; `type_` is that of the column that it numbers. Raises InvalidParameterValue."""
    given = dict(options.given)
    if type_ is not None:
        for word in _NOT_OF_COLUMNS:
            if word in given:
                raise SyntaxError_(f"identity column option {word} is not allowed here", position=options.position)
    type_ = type_ or _type(given, options) or BIGINT
    increment = _number(given, "INCREMENT", 1)
    least, greatest = identity_bounds(type_, increment, None, None)
    made = Counting(type_, least if increment > 0 else greatest, increment, least, greatest)
    counting = _with(made, given)
    if "START" not in given:
        counting = replace(counting, start=counting.minimum if increment > 0 else counting.maximum)
    _check(counting, options)
    return counting


def altered_counting(before: Counting, options: SequenceOptions) -> Counting:
    """What a sequence counts after ALTER SEQUENCE: what the options do not say stays."""
    given = dict(options.given)
    type_ = _type(given, options) or before.type
    bounds = identity_bounds(before.type, before.increment, None, None)
    new_bounds = identity_bounds(type_, _number(given, "INCREMENT", before.increment), None, None)
    counting = replace(before, type=type_)
    if type_ != before.type:  # a bound that was the type's own goes with the type
        counting = replace(
            counting,
            minimum=new_bounds[0] if before.minimum == bounds[0] else before.minimum,
            maximum=new_bounds[1] if before.maximum == bounds[1] else before.maximum,
        )
    counting = _with(replace(counting, increment=_number(given, "INCREMENT", before.increment)), given)
    _check(counting, options)
    return counting


def restarted_at(counting: Counting, options: SequenceOptions) -> int | None:
    """The number with which RESTART has the sequence go on; None without RESTART."""
    given = dict(options.given)
    if "RESTART" not in given:
        return None
    return _number(given, "RESTART", counting.start)


def check_position(counting: Counting, number: int, options: SequenceOptions) -> None:
    """Raises InvalidParameterValue if a sequence cannot stand at a number."""
    if number < counting.minimum:
        raise _refused(f"RESTART value ({number}) cannot be less than MINVALUE ({counting.minimum})", options)
    if number > counting.maximum:
        raise _refused(f"RESTART value ({number}) cannot be greater than MAXVALUE ({counting.maximum})", options)


def _with(counting: Counting, given: dict[str, OptionValue]) -> Counting:
    least, greatest = identity_bounds(counting.type, counting.increment, None, None)
    minimum = _number(given, "MINVALUE", least) if "MINVALUE" in given else counting.minimum
    maximum = _number(given, "MAXVALUE", greatest) if "MAXVALUE" in given else counting.maximum
    return replace(
        counting,
        minimum=minimum,
        maximum=maximum,
        start=_number(given, "START", counting.start),
        cycles=bool(given.get("CYCLE", counting.cycles)),
        cache=_number(given, "CACHE", counting.cache),
    )


def _number(given: dict[str, OptionValue], word: str, otherwise: int) -> int:
    value = given.get(word)
    return value if isinstance(value, int) else otherwise


def _type(given: dict[str, OptionValue], options: SequenceOptions) -> SqlType | None:
    name = given.get("AS")
    if not isinstance(name, TypeName):
        return None
    type_ = resolve_type(name.text, name.position, BUILT_IN_TYPES)
    if not type_.is_integer:
        raise InvalidParameterValue("sequence type must be smallint, integer, or bigint", position=name.position)
    return type_


def _check(counting: Counting, options: SequenceOptions) -> None:
    least, greatest, start = counting.minimum, counting.maximum, counting.start
    end, name = GREATEST_INTEGERS[counting.type.kind], counting.type.name
    if counting.increment == 0:
        raise _refused("INCREMENT must not be zero", options)
    if not -(2**63) <= counting.increment < 2**63:
        raise _refused(f'value "{counting.increment}" is out of range for type bigint', options)
    for word, value in (("MAXVALUE", greatest), ("MINVALUE", least)):
        if not -end - 1 <= value <= end:
            raise _refused(f"{word} ({value}) is out of range for sequence data type {name}", options)
    if least >= greatest:
        raise _refused(f"MINVALUE ({least}) must be less than MAXVALUE ({greatest})", options)
    if start < least:
        raise _refused(f"START value ({start}) cannot be less than MINVALUE ({least})", options)
    if start > greatest:
        raise _refused(f"START value ({start}) cannot be greater than MAXVALUE ({greatest})", options)
    if counting.cache <= 0:
        raise _refused(f"CACHE ({counting.cache}) must be greater than zero", options)


def _refused(message: str, options: SequenceOptions) -> InvalidParameterValue:
    return InvalidParameterValue(message, position=options.position)

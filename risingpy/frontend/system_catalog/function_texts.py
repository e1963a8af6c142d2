"""The texts of functions: for `pg_get_functiondef`, and the spellings that `regproc` and `regprocedure` read."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from risingpy.frontend.system_catalog.system_relation import SystemState
from risingpy.functions.topics.object_names import SPELLINGS, quote_name
from risingpy.plan.catalog import FunctionDesc, FunctionKind
from risingpy.types import SqlType
from risingpy.types.system_types import is_polymorphic


def definition(function: FunctionDesc, arguments: str) -> str:
    """CREATE OR REPLACE FUNCTION … as PostgreSQL writes it."""
    name = f"{quote_name(function.schema_name)}.{quote_name(function.name)}"
    marks = [word for word, holds in (("IMMUTABLE", function.immutable), ("STRICT", function.strict)) if holds]
    returns = [] if function.kind is FunctionKind.PROCEDURE else [f" RETURNS {function.result_text}"]
    lines = [
        f"CREATE OR REPLACE {function.noun.upper()} {name}({arguments})",
        *returns,
        f" LANGUAGE {function.language.value}",
        *([f" {' '.join(marks)}"] if marks else []),
        f"AS {_dollar_quoted(function.body, function.noun)}",
    ]
    return "\n".join(lines) + "\n"


def built_in_definition(name: str, arguments: str, result: str, canonical: str) -> str:
    """A similar text for a built-in function."""
    head = f"CREATE OR REPLACE FUNCTION pg_catalog.{quote_name(name)}({arguments})\n RETURNS {result}\n"
    return f"{head} LANGUAGE internal\n IMMUTABLE PARALLEL SAFE\nAS {_dollar_quoted(canonical)}\n"


def _dollar_quoted(body: str, noun: str = "function") -> str:
    tag = f"${noun}$"
    while tag in body:
        tag = f"{tag[:-1]}x$"
    return f"{tag}{body}{tag}"


def spellings(state: SystemState, function: FunctionDesc) -> Iterable[tuple[str, bool]]:
    """The spellings of the function's name, each with whether it has the argument types."""
    schema, name = quote_name(function.schema_name), quote_name(function.name)
    names = [f"{schema}.{name}", *([name] if function.schema_name in state.search_path else [])]
    yield from ((text, False) for text in names)
    # What PostgreSQL shows, and what every spelling of a text is reduced to where a name is looked up.
    shown = ",".join(type_.name for type_ in function.shown_arguments)
    for types in dict.fromkeys((shown, ",".join(map(_type_text, function.argument_types)))):
        yield from ((f"{text}({types})", True) for text in names)


def built_in_spellings(name: str, types: Iterable[str]) -> Iterable[tuple[str, bool]]:
    """(spelling, whether it has the argument types) for each way to write a function of pg_catalog."""
    whole = ",".join(types)
    for text, with_types in product((name, f"pg_catalog.{name}"), (False, True)):
        yield (f"{text}({whole})" if with_types else text), with_types


def _type_text(type_: SqlType) -> str:
    return (
        type_.name
        if type_.is_nested or is_polymorphic(type_)
        else str(SPELLINGS.get(type_.kind.value, type_.kind.value))
    )

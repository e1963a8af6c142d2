"""The names of the arguments of PostgreSQL's own functions: `proargnames` and `proargdefaults` of its pg_proc.

jsonb_path_exists(j, '$.a', silent => true)     =>  jsonb_path_exists(j, '$.a', '{}', true)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SyntaxError_, UndefinedFunction
from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.signature_calls import argument_name
from risingpy.frontend.parser.cursor import fold

_ALWAYS_WHOLE = "make_interval"  # has no form with fewer arguments
_PATH = "target path vars='{}' silent=false"
_NAMES = {
    **{
        f"jsonb_path_{what}{zone}": _PATH
        for what in ("exists", "match", "query", "query_array", "query_first")
        for zone in ("", "_tz")
    },
    **{
        f"{kind}_{what}": "from_json"
        for kind in ("json", "jsonb")
        for what in ("array_elements", "array_elements_text", "each", "each_text")
    },
    "jsonb_insert": "jsonb_in path replacement insert_after=false",
    "jsonb_set": "jsonb_in path replacement create_if_missing=true",
    "jsonb_set_lax": "jsonb_in path replacement create_if_missing=true null_value_treatment='use_json_null'",
    "make_date": "year month day",
    "make_interval": "years=0 months=0 weeks=0 days=0 hours=0 mins=0 secs=0",
    "make_time": "hour min sec",
    "make_timestamp": "year month mday hour min sec",
    "make_timestamptz": "year month mday hour min sec timezone",
    "parse_ident": "str strict=true",
}


def _parsed(text: str) -> Sequence[tuple[str, str]]:
    return [(name, default) for name, _, default in (each.partition("=") for each in text.split())]


# By the function: the names in order, and the text of what an argument is that a call leaves out, if it may.
_ARGUMENTS: Mapping[str, Sequence[tuple[str, str]]] = MappingProxyType(
    {function: _parsed(text) for function, text in _NAMES.items()}
)


def in_order(function: str, trees: Sequence[exp.Expr]) -> Sequence[exp.Expr]:
    """The arguments by position; of a call with names, and of make_interval, defaults stand for those left out.

    Raises SyntaxError_ for one without a name after one with a name, and for a name that comes twice; UndefinedFunction
    for an unknown name, or if one before another is missing; FeatureNotSupported for the names of another function.
    """
    names = [argument_name(tree) for tree in trees]
    first = next((place for place, name in enumerate(names) if name is not None), len(trees))
    if first == len(trees) and function != _ALWAYS_WHOLE:
        return trees
    if function not in _ARGUMENTS:
        raise FeatureNotSupported(f"named arguments of {function} are not supported", position=begin_of(trees[0]))
    arguments = _ARGUMENTS[function]
    if first > len(arguments):
        return trees  # no function takes so many
    given = dict(zip((name for name, _ in arguments), trees[:first], strict=False))
    for place in range(first, len(trees)):
        tree, name = trees[place], names[place]
        if name is None:
            raise SyntaxError_("positional argument cannot follow named argument", position=begin_of(tree))
        if name in names[:place]:
            raise SyntaxError_(f'argument name "{name}" used more than once', position=begin_of(tree))
        known = next((each for each, _ in arguments if each in (name, fold(name))), None)
        if known is None or known in given:
            raise _undefined(function, f"{name} => …", tree)
        given[known] = tree.expression
    found: list[exp.Expr] = []
    for name, default in arguments:
        if name in given:
            found.append(given.pop(name))
        elif default:
            found.append(_default(default))
        elif given:
            raise _undefined(function, f"…, without {name}", trees[0])
        else:
            break
    return found


def _default(text: str) -> exp.Expr:
    if text[0] == "'":
        return exp.Literal.string(text.strip("'"))
    return exp.Literal.number(text) if text.isdigit() else exp.Boolean(this=text == "true")


def _undefined(function: str, shown: str, tree: exp.Expr) -> UndefinedFunction:
    return UndefinedFunction(f"function {function}({shown}) does not exist", position=begin_of(tree))

"""Which overload a call means: PostgreSQL's function and operator type resolution (chapter 10 of its manual).

Exact match first; then the candidates that implicit casts reach: those with most exact matches, then with most
preferred types, then unknown arguments take the category that the candidates agree on (text, if any takes text).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.frontend.binder.typing.coercion import Context, can_coerce, category, is_preferred, is_same_kind
from risingpy.functions.signatures import ArgType, Polymorphic, Signature
from risingpy.types import SqlType, TypeKind
from risingpy.types.families import Category


class NoMatch(Exception):
    """No overload takes these types; `ambiguous` if several do and none is better."""

    def __init__(self, *, ambiguous: bool) -> None:
        super().__init__()
        self.ambiguous = ambiguous


def resolve(signatures: Sequence[Signature], args: Sequence[SqlType], *, operator: bool) -> Signature:
    """The overload for arguments of these types. Raises NoMatch."""
    sized = [s for s in signatures if _takes_count(s, len(args))]
    enum = next((arg for arg in args if arg.kind is TypeKind.ENUM), None)
    if enum is not None:
        sized = [_of_enum(s, enum) for s in sized]
    for signature in sized:
        if all(_is_exact(t, a) for t, a in zip(_types(signature, len(args)), args, strict=True)):
            return signature
    if operator and len(args) == 2:
        assumed = _assume_same(args)
        for signature in sized:
            if all(_is_exact(t, a) for t, a in zip(signature.args, assumed, strict=True)):
                return signature
    candidates = [s for s in sized if all(_reaches(t, a) for t, a in zip(_types(s, len(args)), args, strict=True))]
    for narrowed in (_most_exact, _most_preferred, _by_category):
        if len(candidates) <= 1:
            break
        candidates = narrowed(candidates, args)
    if len(candidates) > 1:
        candidates = _as_the_known(candidates, args)
    if len(candidates) != 1:
        raise NoMatch(ambiguous=len(candidates) > 1)
    return candidates[0]


def _of_enum(signature: Signature, enum: SqlType) -> Signature:
    """The signature with this enum in the places of any."""
    if Polymorphic.ENUM not in signature.args:
        return signature
    args = tuple(enum if arg is Polymorphic.ENUM else arg for arg in signature.args)
    return replace(signature, args=args, result=enum if signature.result is Polymorphic.ENUM else signature.result)


def _takes_count(signature: Signature, count: int) -> bool:
    return count == len(signature.args) or (signature.variadic and count >= len(signature.args))


def _types(signature: Signature, count: int) -> list[ArgType]:
    types = list(signature.args)
    return types + types[-1:] * (count - len(types))


def _is_exact(wanted: ArgType, given: SqlType) -> bool:
    if isinstance(wanted, Polymorphic):
        return _suits(wanted, given)
    return is_same_kind(wanted, given) and (wanted.items == given.items or wanted.kind is not TypeKind.ARRAY)


def _reaches(wanted: ArgType, given: SqlType) -> bool:
    if isinstance(wanted, Polymorphic):
        if wanted is Polymorphic.DECIDED:
            return True
        return (given.kind is TypeKind.UNKNOWN and wanted is not Polymorphic.ENUM) or _suits(wanted, given)
    return can_coerce(given, wanted, Context.IMPLICIT)


def _suits(wanted: Polymorphic, given: SqlType) -> bool:
    match wanted:
        case Polymorphic.ARRAY:
            return given.kind is TypeKind.ARRAY
        case Polymorphic.RECORD:
            return given.kind is TypeKind.STRUCT
        case Polymorphic.MAP:
            return given.kind is TypeKind.MAP
        case Polymorphic.LAMBDA | Polymorphic.ENUM | Polymorphic.DECIDED:  # an enum that is there has taken its place
            return False
        case Polymorphic.ANY | Polymorphic.EVERY | Polymorphic.ELEMENT:
            return True


def _assume_same(args: Sequence[SqlType]) -> list[SqlType]:
    """An operator's unknown argument is first taken to be of the other's type."""
    known = [a for a in args if a.kind is not TypeKind.UNKNOWN]
    return [known[0] if a.kind is TypeKind.UNKNOWN and known else a for a in args]


def _best(candidates: list[Signature], scores: list[int]) -> list[Signature]:
    return [c for c, score in zip(candidates, scores, strict=True) if score == max(scores)]


def _most_exact(candidates: list[Signature], args: Sequence[SqlType]) -> list[Signature]:
    scores = [sum(_is_exact(t, a) for t, a in zip(_types(c, len(args)), args, strict=True)) for c in candidates]
    return _best(candidates, scores)


def _most_preferred(candidates: list[Signature], args: Sequence[SqlType]) -> list[Signature]:
    return _best(candidates, [_preferred_count(c, args) for c in candidates])


def _preferred_count(candidate: Signature, args: Sequence[SqlType]) -> int:
    return sum(
        _is_exact(wanted, given)
        or (
            given.kind is not TypeKind.UNKNOWN
            and isinstance(wanted, SqlType)
            and is_preferred(wanted)
            and category(wanted) is category(given)
        )
        for wanted, given in zip(_types(candidate, len(args)), args, strict=True)
    )


def _by_category(candidates: list[Signature], args: Sequence[SqlType]) -> list[Signature]:
    for position, given in enumerate(args):
        if given.kind is not TypeKind.UNKNOWN:
            continue
        wanted = [_types(c, len(args))[position] for c in candidates]
        categories = [_category(each) for each in wanted]
        if Category.STRING in categories:
            chosen = Category.STRING
        elif len(set(categories)) == 1:
            chosen = categories[0]
        else:
            return candidates
        kept = [(c, w) for c, w, k in zip(candidates, wanted, categories, strict=True) if k is chosen]
        preferred = [c for c, w in kept if isinstance(w, SqlType) and is_preferred(w)]
        candidates = preferred or [c for c, _ in kept]
    return candidates


def _category(wanted: ArgType) -> Category:
    if wanted is Polymorphic.DECIDED:  # as in pg_type
        return Category.COMPOSITE
    return Category.STRING if isinstance(wanted, Polymorphic) else category(wanted)


def _as_the_known(candidates: list[Signature], args: Sequence[SqlType]) -> list[Signature]:
    known = {a.kind: a for a in args if a.kind is not TypeKind.UNKNOWN}
    if len(known) != 1 or len(known) == len(args):
        return candidates
    given = next(iter(known.values()))
    accepting = [c for c in candidates if all(_reaches(t, given) for t in _types(c, len(args)))]
    return accepting if len(accepting) == 1 else candidates

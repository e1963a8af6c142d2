"""Which of users' types stand in a value in another form than their newest."""

from __future__ import annotations

from dataclasses import replace

from risingpy.plan.catalog.domains import DomainRules, DomainType
from risingpy.plan.domain_casts import cast_to_domain
from risingpy.plan.enum_forms import older_forms_in, types_in, with_form
from risingpy.plan.expressions import Case, Expr, InputRef, Literal
from risingpy.types import BOOLEAN, VARCHAR, SqlType, TypeKind
from risingpy.types.enums.enum_type import EnumLabel, EnumType

MOOD = EnumType(1000, 1001, "public", "mood", (EnumLabel(1002, "sad", 1 << 32),))
WIDER = replace(MOOD, labels=(*MOOD.labels, EnumLabel(1003, "ok", 2 << 32)))


def test_an_enum_in_an_older_form_is_found_wherever_it_stands() -> None:
    column = InputRef(0, SqlType(TypeKind.ENUM, enum=MOOD))
    value: Expr = Case(((Literal(True, BOOLEAN), column),), Literal(None, column.type), column.type)
    assert types_in((value,)) == {MOOD.oid}
    assert older_forms_in((value,), {MOOD.oid: MOOD}) == frozenset()
    assert older_forms_in((value,), {}) == frozenset()
    assert older_forms_in({7: (value,)}, {MOOD.oid: WIDER}) == {MOOD.oid}
    assert older_forms_in(with_form(value, WIDER), {MOOD.oid: WIDER}) == frozenset()


def test_a_cast_to_a_domain_is_old_when_the_domain_has_another_name() -> None:
    domain = DomainType(2000, 2001, "public", "code", VARCHAR)
    cast = cast_to_domain(InputRef(0, VARCHAR), DomainRules(domain, not_null=True, checks=()))
    assert older_forms_in(cast, {domain.oid: domain}) == frozenset()
    assert older_forms_in(cast, {domain.oid: replace(domain, name="other")}) == {domain.oid}

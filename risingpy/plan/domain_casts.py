"""A cast to a domain: the value, and for each of the domain's rules whether it holds.

    domain_value(oid, rules, value, holds, …)  =  value, or an error if something does not hold

`rules` has what the error says: `["schema", "domain", [null, "constraint", …]]`, null standing for NOT NULL. A
rule that is NULL for a value holds, as a CHECK does. The call knows the domain by its oid.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from risingpy.plan.catalog.domains import DomainRules, DomainType
from risingpy.plan.expression_trees import substituted
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import BIGINT, BOOLEAN, VARCHAR

DOMAIN_VALUE = "domain_value"


@dataclass(frozen=True, slots=True)
class CastRules:
    """What the error of a cast says: the domain, and the names of its constraints (None: NOT NULL)."""

    schema_name: str
    name: str
    constraints: tuple[str | None, ...]

    @property
    def packed(self) -> str:
        """As a constant of the call."""
        parts = [self.schema_name, self.name, list(self.constraints)]
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    def unpacked(text: str) -> CastRules:
        """What `packed` gave."""
        schema_name, name, constraints = json.loads(text)
        return CastRules(schema_name, name, tuple(constraints))


def cast_to_domain(value: Expr, rules: DomainRules) -> Call:
    """`value`, of the type below the domain, as a value of the domain."""
    domain = rules.domain
    names = ((None,) if rules.not_null else ()) + tuple(check.name for check in rules.checks)
    packed = CastRules(domain.schema_name, domain.name, names).packed
    args = (Literal(domain.oid, BIGINT), Literal(packed, VARCHAR), value, *rules_over(value, rules))
    return Call(DOMAIN_VALUE, args, value.type)


def rules_over(value: Expr, rules: DomainRules) -> Sequence[Expr]:
    """For each rule, NOT NULL first, an expression that is false where `value` breaks it."""
    there = [Call("is_not_null", (value,), BOOLEAN)] if rules.not_null else []
    return [*there, *(substituted(check.expression, [value]) for check in rules.checks)]


def domain_of_cast(call: Call) -> int | None:
    """The oid of the domain to which a call casts; None of another call."""
    if call.function != DOMAIN_VALUE:
        return None
    oid = call.args[0]
    assert isinstance(oid, Literal) and isinstance(oid.value, int)
    return oid.value


def renamed_cast(call: Call, domain: DomainType) -> Call:
    """The call with the name that its domain has now; another call as it is."""
    if domain_of_cast(call) != domain.oid:
        return call
    packed = call.args[1]
    assert isinstance(packed, Literal) and isinstance(packed.value, str)
    before = CastRules.unpacked(packed.value)
    text = CastRules(domain.schema_name, domain.name, before.constraints).packed
    if text == packed.value:
        return call
    return Call(call.function, (call.args[0], Literal(text, VARCHAR), *call.args[2:]), call.type)

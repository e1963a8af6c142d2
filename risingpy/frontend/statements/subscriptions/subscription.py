"""CREATE SUBSCRIPTION and ALTER SUBSCRIPTION … SET."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateSubscription, ObjectName, ParsedStatement
from risingpy.frontend.parser.ast_alter import AlterSubscription
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation
from risingpy.frontend.statements.connectors.options import check_names, with_option
from risingpy.frontend.statements.describe import named_relation
from risingpy.frontend.statements.placing import new_schema, skipped
from risingpy.frontend.statements.rights.checks import check_follows
from risingpy.memory import parse_bytes
from risingpy.meta.schema.subscriptions import NewSubscription, Retention, with_retention
from risingpy.plan.catalog import FollowedRelation, Relation, Subscription, is_of_session
from risingpy.plan.catalog.acl import Privilege
from risingpy.types import INTERVAL, SqlType
from risingpy.types.forms import parse_text

_OPTIONS = ("retention", "retention.bytes")
_SECONDS_OF_DAY, _DAYS_OF_MONTH, _NANOS = 86_400, 30, 1_000_000_000


def bind(
    session: StatementContext,
    parsed: ParsedStatement,
    statement: CreateSubscription,
    parameter_types: Sequence[SqlType],
) -> Command:
    """Keeps the changes of every epoch after it. Raises 42809 for what has no changes of its own to follow."""

    def run(parameters: Parameters) -> Result:
        try:
            check_names(statement.options)
            subscription = NewSubscription(
                schema_name=new_schema(session, statement.name),
                name=statement.name.name,
                relation=followed_relation(session, statement.relation),
                retention=_retention(dict(statement.options)),
                definition=parsed.text,
            )
            created = session.ddl.create_subscription(
                subscription, if_not_exists=statement.if_not_exists, cancelled=session.cancelled
            )
        except SqlError as error:
            error.position = error.position or statement.name.position
            raise
        if not created:
            skipped(session, statement.name)
        return Result(CommandTag("CREATE SUBSCRIPTION"))

    return Command(run)


def bind_alter(
    session: StatementContext,
    parsed: ParsedStatement,
    statement: AlterSubscription,
    parameter_types: Sequence[SqlType],
) -> Command:
    """Another retention counts at once: what is older goes, and what is gone does not come back."""
    name, value = statement.option

    def run(parameters: Parameters) -> Result:
        relation = altered_relation(session, statement.name, if_exists=statement.if_exists)
        if relation is not None:
            subscription = as_subscription(relation, statement.name)
            kept = {"retention": f"{subscription.retention_seconds} seconds"}
            if subscription.retention_bytes is not None:
                kept["retention.bytes"] = str(subscription.retention_bytes)
            retention = _retention({**kept, name: value})
            text = with_option(subscription.definition, name, value)
            session.ddl.change(
                lambda state: with_retention(state, subscription.relation_id, retention, text), session.cancelled
            )
        return Result(CommandTag("ALTER SUBSCRIPTION"))

    return Command(run)


def followed_relation(session: StatementContext, name: ObjectName) -> FollowedRelation:
    """The table or materialized view of this name. Raises WrongObjectType for another kind of relation.

    Raises InsufficientPrivilege unless the session may read it.
    """
    relation = named_relation(session, name)
    if not isinstance(relation, FollowedRelation):
        raise WrongObjectType(
            f'"{relation.name}" is a {relation.noun}, and cannot be followed',
            hint="A table or a materialized view can.",
            position=name.position,
        )
    if is_of_session(relation):
        raise FeatureNotSupported("subscriptions must not follow temporary tables", position=name.position)
    check_follows(session, relation, Privilege.SELECT)
    return relation


def as_subscription(relation: Relation, name: ObjectName) -> Subscription:
    """The relation, which must be a subscription: raises WrongObjectType."""
    if not isinstance(relation, Subscription):
        raise WrongObjectType(f'"{name.name}" is not a subscription', position=name.position)
    return relation


def _retention(options: Mapping[str, str]) -> Retention:
    for name in options:
        if name not in _OPTIONS:
            raise InvalidParameterValue(f'unknown option "{name}" of a subscription')
    if "retention" not in options:
        raise InvalidParameterValue("a subscription needs the option retention", hint="WITH (retention = '1 day')")
    size = None
    if "retention.bytes" in options:
        try:
            size = parse_bytes(options["retention.bytes"])
        except ValueError as error:
            raise InvalidParameterValue(f"invalid value of the option retention.bytes: {error}") from None
    seconds = int(duration_seconds("retention", options["retention"]))
    if not seconds:
        raise InvalidParameterValue("the option retention must be a second or more")
    return Retention(seconds, size)


def duration_seconds(option: str, text: str) -> float:
    """The seconds of an option's interval. Raises InvalidParameterValue if it is no interval, or less than none."""
    try:
        interval = parse_text(INTERVAL, text)
    except SqlError as error:
        raise InvalidParameterValue(f"invalid value of the option {option}: {error.message}") from None
    assert isinstance(interval, pa.MonthDayNano)
    days = interval.months * _DAYS_OF_MONTH + interval.days
    seconds = days * _SECONDS_OF_DAY + interval.nanoseconds / _NANOS
    if seconds < 0:
        raise InvalidParameterValue(f"the option {option} must not be negative")
    return float(seconds)

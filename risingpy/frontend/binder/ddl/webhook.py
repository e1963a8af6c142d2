"""CREATE TABLE … WITH (connector = 'webhook', is_batched = …) VALIDATE AS expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import DatatypeMismatch, InvalidParameterValue, InvalidTableDefinition
from risingpy.frontend.binder.ddl.generated import renamed_text
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import BindContext, refuse_system
from risingpy.frontend.parser.ast import CreateTable, ObjectName
from risingpy.plan.catalog import ColumnDesc, Webhook
from risingpy.plan.logical import Field
from risingpy.types import BOOLEAN, BYTEA, JSONB, VARCHAR

HEADERS = "headers"
BODY = "payload"  # what VALIDATE calls the body of a table of several columns, as in RisingWave
_BOOLEANS = {"true": True, "false": False}


def bind_webhook(context: BindContext, statement: CreateTable, columns: Sequence[ColumnDesc]) -> Webhook | None:
    """The statement's webhook, bound to its columns; None if it has none. Names the mistake where there is one."""
    if not statement.options or statement.is_fed:
        return None
    position, options = statement.name.position, dict(statement.options)
    del options["connector"]
    if statement.message_format is not None or statement.includes:
        raise InvalidParameterValue("a webhook has no FORMAT … ENCODE … and no INCLUDE", position=position)
    batched = options.pop("is_batched", "false").lower()
    if batched not in _BOOLEANS:
        raise InvalidParameterValue(f'is_batched must be true or false, not "{batched}"', position=position)
    wait = options.pop("wait_for_persistence", "true").lower()  # of RisingWave: an answer always means durable rows
    if wait not in _BOOLEANS:
        raise InvalidParameterValue(f'wait_for_persistence must be true or false, not "{wait}"', position=position)
    for name in options:
        message = f'unknown option "{name}" of a webhook'
        raise InvalidParameterValue(message, position=position, hint="The options are connector and is_batched.")
    filled = _filled(columns, position)
    if len(filled) == 1 and filled[0].type == JSONB:
        webhook = Webhook(filled[0].column_id, _BOOLEANS[batched])
        return webhook if statement.validation is None else _validated(context, statement, filled[0].name, webhook)
    webhook = Webhook(0, _BOOLEANS[batched], columns=tuple(column.column_id for column in filled))
    return webhook if statement.validation is None else _validated(context, statement, BODY, webhook)


def _filled(columns: Sequence[ColumnDesc], position: int) -> list[ColumnDesc]:
    """The columns that nothing else fills: one of type jsonb gets the body, others get the members of their names."""
    filled = [each for each in columns if each.generated is None and each.identity is None and each.default is None]
    if not filled:
        raise InvalidTableDefinition(
            "the table of a webhook needs a column that a request fills",
            position=position,
            hint="Its columns that are neither generated nor have a DEFAULT get the members of the body.",
        )
    if len(filled) == 1 and filled[0].name == HEADERS:
        raise InvalidTableDefinition(f'the column cannot have the name "{HEADERS}"', position=position)
    return filled


def _validated(context: BindContext, statement: CreateTable, body: str, webhook: Webhook) -> Webhook:
    """The webhook with VALIDATE's expression over the headers and the body as it came."""
    assert statement.validation is not None
    fields = [Field(HEADERS, JSONB), Field(body, BYTEA)]
    if statement.validation_secret is not None:
        fields.append(Field(_secret_name(statement.validation_secret, body), VARCHAR))
    scope = relation_scope(statement.name.name, None, fields, relation=statement.name.name)
    operand = ExpressionBinder(context, scope, "VALIDATE").bind(statement.validation.tree)
    refuse_system(context.system_uses, "VALIDATE")
    if operand.type != BOOLEAN:
        message = f"argument of VALIDATE must be type boolean, not type {operand.type.name}"
        raise DatatypeMismatch(message, position=operand.position)
    return replace(webhook, text=statement.validation.text, validation=operand.expr)


def _secret_name(secret: ObjectName, body: str) -> str:
    """By which the expression has the secret's value. Raises InvalidTableDefinition if it means something else."""
    if secret.name in (HEADERS, body):
        message = f'the secret cannot have the name "{secret.name}", which means something else in VALIDATE'
        raise InvalidTableDefinition(message, position=secret.position)
    return secret.name


def with_renamed_payload(webhook: Webhook, old: str, new: str) -> Webhook:
    """The validation's text with the column under its new name."""
    return webhook if webhook.text is None else replace(webhook, text=renamed_text(webhook.text, old, new))

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
    for name in options:
        message = f'unknown option "{name}" of a webhook'
        raise InvalidParameterValue(message, position=position, hint="The options are connector and is_batched.")
    payload = _payload(columns, position)
    webhook = Webhook(payload.column_id, _BOOLEANS[batched])
    return webhook if statement.validation is None else _validated(context, statement, payload, webhook)


def _payload(columns: Sequence[ColumnDesc], position: int) -> ColumnDesc:
    """The one column of type jsonb that nothing else fills."""
    filled = [each for each in columns if each.generated is None and each.identity is None and each.default is None]
    if len(filled) != 1 or filled[0].type != JSONB:
        raise InvalidTableDefinition(
            "the table of a webhook needs exactly one column of type jsonb",
            position=position,
            hint="It gets the body of a request. Other columns must be generated, or have a DEFAULT.",
        )
    if filled[0].name == HEADERS:
        raise InvalidTableDefinition(f'the column cannot have the name "{HEADERS}"', position=position)
    return filled[0]


def _validated(context: BindContext, statement: CreateTable, payload: ColumnDesc, webhook: Webhook) -> Webhook:
    """The webhook with VALIDATE's expression over the headers and the body as it came."""
    assert statement.validation is not None
    fields = [Field(HEADERS, JSONB), Field(payload.name, BYTEA)]
    if statement.validation_secret is not None:
        fields.append(Field(_secret_name(statement.validation_secret, payload), VARCHAR))
    scope = relation_scope(statement.name.name, None, fields, relation=statement.name.name)
    operand = ExpressionBinder(context, scope, "VALIDATE").bind(statement.validation.tree)
    refuse_system(context.system_uses, "VALIDATE")
    if operand.type != BOOLEAN:
        message = f"argument of VALIDATE must be type boolean, not type {operand.type.name}"
        raise DatatypeMismatch(message, position=operand.position)
    return replace(webhook, text=statement.validation.text, validation=operand.expr)


def _secret_name(secret: ObjectName, payload: ColumnDesc) -> str:
    """By which the expression has the secret's value. Raises InvalidTableDefinition if it means something else."""
    if secret.name in (HEADERS, payload.name):
        message = f'the secret cannot have the name "{secret.name}", which means something else in VALIDATE'
        raise InvalidTableDefinition(message, position=secret.position)
    return secret.name


def with_renamed_payload(webhook: Webhook, old: str, new: str) -> Webhook:
    """The validation's text with the column under its new name."""
    return webhook if webhook.text is None else replace(webhook, text=renamed_text(webhook.text, old, new))

"""Checks a webhook's request, and writes its rows: those of one request are one group of the log.

The rows go the way of COPY, so that defaults, generated columns, NOT NULL and limits are those of every other write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from risingpy.connectors.formats.choice import decoder_of
from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.seekable import MESSAGES
from risingpy.errors import InsufficientPrivilege, SqlError
from risingpy.frontend.results import CopyIn
from risingpy.frontend.session import ClientSession
from risingpy.frontend.statements.rights.checks import check_allowed
from risingpy.frontend.table_definition import quoted
from risingpy.meta.database import Database
from risingpy.plan.catalog import Table, Webhook
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.logical import Field
from risingpy.types import BOOLEAN, JSONB, VARCHAR
from risingpy.types.forms import parse_column

_OBJECTS = MessageFormat("plain", "json")
_NO_WEBHOOK = "there is no such webhook: its path is /webhook/DATABASE/SCHEMA/TABLE"
_BAD_DATA = ("22", "23", "54")  # classes of SQLSTATE: the sender's next try would fail too


class RequestRefused(Exception):
    """The request added no row. The sender sees `status` and the message."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """A POST as it came. Names of `headers` are in lower case."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class WebhookPlace:
    """What a path names: a table that takes requests. `validates`: whether it has VALIDATE."""

    database: str
    schema: str
    table: str
    validates: bool


def place_of(database: Database, path: str) -> WebhookPlace:
    """The webhook of a path. Raises RequestRefused."""
    parts = [unquote(part) for part in urlsplit(path).path.split("/")]
    if len(parts) == 5 and parts[:2] == ["", "webhook"]:
        catalog = database.reads.catalog
        found = catalog.database_named(parts[2])
        if found is not None:
            relation = catalog.seen_from(found.database_id).find(parts[4], parts[3], ())
            if isinstance(relation, Table) and relation.webhook is not None:
                validates = relation.webhook.validation is not None
                return WebhookPlace(parts[2], parts[3], parts[4], validates)
    raise RequestRefused(HTTPStatus.NOT_FOUND, _NO_WEBHOOK)


def receive(session: ClientSession, place: WebhookPlace, request: Request) -> None:
    """Adds the request's rows; they are durable when it returns. Raises RequestRefused, and then there are none."""
    try:
        relation, webhook = _target(session, place)
        _validate(session, webhook, request)
        rows = _rows(relation, webhook, request.body)
        _write(session, relation, webhook, rows)
        session.sync()
    except RequestRefused:
        session.fail()
        raise
    except SqlError as error:
        session.fail()
        bad = error.sqlstate.startswith(_BAD_DATA)
        raise RequestRefused(HTTPStatus.BAD_REQUEST if bad else HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
    except BaseException:
        session.fail()
        raise


def _target(session: ClientSession, place: WebhookPlace) -> tuple[Table, Webhook]:
    relation = session.context.database.reads.catalog.find(place.table, place.schema, ())
    if isinstance(relation, Table) and relation.webhook is not None:
        if place.validates and relation.webhook.validation is None:  # a table of that name has come meanwhile
            raise RequestRefused(HTTPStatus.SERVICE_UNAVAILABLE, "the table was altered meanwhile")
        try:
            check_allowed(session.context, relation, Privilege.INSERT)
        except InsufficientPrivilege as error:
            raise RequestRefused(HTTPStatus.FORBIDDEN, error.message) from None
        return relation, relation.webhook
    raise RequestRefused(HTTPStatus.NOT_FOUND, _NO_WEBHOOK)


def _validate(session: ClientSession, webhook: Webhook, request: Request) -> None:
    """Raises RequestRefused unless VALIDATE's expression is true; one that fails has not accepted the request."""
    if webhook.validation is None:
        return
    headers = pa.array([json.dumps(dict(request.headers))], VARCHAR.arrow)
    columns = [parse_column(JSONB, headers), pa.array([request.body], pa.binary())]
    try:
        if webhook.secret_id is not None:
            columns.append(pa.array([_secret(session, webhook.secret_id)], VARCHAR.arrow))
        given = pa.table(columns, names=[f"c{k}" for k in range(len(columns))])
        answer = session.context.evaluate([webhook.validation], (Field("c0", BOOLEAN),), given, ())
    except SqlError as error:
        raise RequestRefused(HTTPStatus.UNAUTHORIZED, "the validation of the request failed") from error
    if answer.column(0)[0].as_py() is not True:
        raise RequestRefused(HTTPStatus.UNAUTHORIZED, "the request was not accepted by VALIDATE")


def _secret(session: ClientSession, secret_id: int) -> str:
    """The value that the secret has now."""
    database = session.context.database
    return database.vault.open(database.reads.catalog.secrets[secret_id].box)


def _rows(relation: Table, webhook: Webhook, body: bytes) -> pa.RecordBatch:
    """The body, or each of its lines: as jsonb, or as the columns that its members are for."""
    documents = [line for line in body.split(b"\n") if line.strip()] if webhook.is_batched else [body]
    if not documents:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, "the request has no rows")
    try:
        texts = pa.array(documents, pa.binary()).cast(VARCHAR.arrow)
    except pa.ArrowInvalid:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, "the body is not UTF-8") from None
    if not webhook.columns:
        return pa.RecordBatch.from_arrays([parse_column(JSONB, texts)], names=["c0"])
    columns = [(column.name, column.type) for column in relation.columns if column.column_id in webhook.columns]
    positions = pa.array(range(len(documents)), pa.int64())
    others = [pa.nulls(len(documents), MESSAGES.field(name).type) for name in ("timestamp", "headers")]
    keys, payloads = pa.nulls(len(documents), pa.binary()), pa.array(documents, pa.binary())
    messages = pa.Table.from_arrays([keys, payloads, positions, *others], schema=MESSAGES)
    decoded = decoder_of(_OBJECTS, columns, ()).decode(messages)
    for bad in decoded.bad:
        where = f"line {bad.index + 1}: " if webhook.is_batched else ""
        raise RequestRefused(HTTPStatus.BAD_REQUEST, f"{where}{bad.reason}")
    return pa.RecordBatch.from_arrays(list(decoded.columns), names=[f"c{k}" for k in range(len(columns))])


def _write(session: ClientSession, relation: Table, webhook: Webhook, rows: pa.RecordBatch) -> None:
    names = [quoted(column.name) for column in relation.columns if column.column_id in webhook.filled]
    table = f"{quoted(relation.schema_name)}.{quoted(relation.name)}"
    [statement] = session.split(f"COPY {table} ({', '.join(names)}) FROM STDIN")
    copy = session.execute(session.prepare(statement, ()), ()).copy
    assert isinstance(copy, CopyIn)
    # What has been validated is what is written to: a table of this name may have come instead meanwhile.
    now = session.context.database.reads.catalog.find(relation.name, relation.schema_name, ())
    if now is None or (now.relation_id, now.version) != (relation.relation_id, relation.version):
        copy.sink.abort()
        raise RequestRefused(HTTPStatus.SERVICE_UNAVAILABLE, "the table was altered meanwhile")
    with copy.limit:
        copy.sink.write(rows)
        copy.sink.finish()

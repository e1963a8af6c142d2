"""Planner goldens: SQL, then the plan that EXPLAIN prints. `pytest --update` rewrites them; read the diff.

A file of `goldens/` has blocks between empty lines, with comments above them:

    create                      stream verbose             the plan: stream, distsql, logical, batch, or table (of a
    CREATE TABLE …;             SELECT …;                  table's own job), eowc; `verbose` adds what was derived
    CREATE TABLE …;             ----
                                StreamMaterialize …        the plan, notices after `NOTICE`, or the error

Ids count from 1 through the `create` block; each plan of a block starts with the same ids.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.binder import BoundIndex, bind_index, bind_query, bind_table, bind_view
from risingpy.frontend.binder.scope.context import SessionValues
from risingpy.frontend.parser import ast, parse, parse_query
from risingpy.optimizer.explain import explain_batch, explain_fragments, explain_logical, explain_stream
from risingpy.optimizer.rules import optimize
from risingpy.optimizer.stream.closing_column import optimize_view
from risingpy.optimizer.stream.index import plan_index
from risingpy.optimizer.stream.jobs import StreamJobPlan, plan_materialized_view
from risingpy.plan.catalog import DEFAULT_SCHEMA
from risingpy.plan.codec import decode, encode
from tests.optimizer.conftest import PlannerBench

GOLDENS = Path(__file__).parent / "goldens"
SEARCH_PATH = (DEFAULT_SCHEMA,)


@dataclass(frozen=True)
class Block:
    comments: tuple[str, ...]
    directive: str
    sql: str
    expected: tuple[str, ...] = ()

    def text(self) -> str:
        lines = [*self.comments, *([self.directive, self.sql] if self.directive else [])]
        return "\n".join(lines + (["----", *self.expected] if self.expected else []))


def read_blocks(path: Path) -> list[Block]:
    return [_read_block(text.splitlines()) for text in path.read_text().strip().split("\n\n")]


def _read_block(lines: list[str]) -> Block:
    comments = tuple(itertools.takewhile(lambda line: line.startswith("#"), lines))
    directive, *body = lines[len(comments) :] or [""]
    border = body.index("----") if "----" in body else len(body)
    return Block(comments, directive, "\n".join(body[:border]), tuple(body[border + 1 :]))


CASES = [
    pytest.param(path, number, id=f"{path.stem}-{number}")
    for path in sorted(GOLDENS.glob("*.test"))
    for number, block in enumerate(read_blocks(path))
    if block.directive not in ("", "create")
]


@pytest.mark.parametrize(("path", "number"), CASES)
def test_golden(bench: PlannerBench, path: Path, number: int, update_goldens: bool) -> None:
    blocks = read_blocks(path)
    for created in blocks[:number]:
        if created.directive == "create":
            create_relations(bench, created.sql)
    block = blocks[number]
    lines = tuple(explained(bench, *block.directive.split(), sql=block.sql))
    if update_goldens:
        blocks[number] = replace(block, expected=lines)
        path.write_text("\n\n".join(each.text() for each in blocks) + "\n")
    assert "\n".join(lines) == "\n".join(lines if update_goldens else block.expected)


def explained(bench: PlannerBench, kind: str, *options: str, sql: str) -> list[str]:
    """The golden lines: the plan without its empty lines, or the error."""
    try:
        lines = _explained(bench, kind, sql, verbose="verbose" in options)
    except SqlError as error:
        lines = [f"ERROR {error.sqlstate}: {error.message}"]
        lines += [f"HINT: {error.hint}"] if error.hint else []
    return [line for line in lines if line]


def _explained(bench: PlannerBench, kind: str, sql: str, *, verbose: bool) -> list[str]:
    if kind == "table":
        job = next(job for job in bench.jobs if job.name == sql)
        return explain_stream(job.fragments[-1].root, verbose, job=job)
    if kind == "eowc":
        return _explained_view(bench, sql, verbose=verbose)
    bound = bind_query(parse_query(sql.removesuffix(";")), bench.catalog, SEARCH_PATH)
    query = optimize(bound.plan)
    if kind in ("logical", "batch"):
        return (explain_logical if kind == "logical" else explain_batch)(query)
    names = [field.name for field in bound.fields]
    planned = plan_materialized_view(query, bench.catalog, allocate=bench.allocate, name="mv", output_names=names)
    job = bench.cut(planned)
    assert decode(encode(job)) == job
    lines = explain_fragments(job, verbose) if kind == "distsql" else explain_stream(planned.root, verbose, job=job)
    return lines + [f"NOTICE: {notice}" for notice in planned.notices]


def _explained_view(bench: PlannerBench, query: str, *, verbose: bool) -> list[str]:
    """Of the view that emits on window close."""
    (parsed,) = parse(f"CREATE MATERIALIZED VIEW mv AS {query.removesuffix(';')} EMIT ON WINDOW CLOSE")
    assert isinstance(parsed.statement, ast.CreateMaterializedView)
    planned = planned_view(bench, parsed.statement)
    job = bench.cut(planned)
    assert decode(encode(job)) == job
    return explain_stream(planned.root, verbose, job=job)


def planned_view(bench: PlannerBench, statement: ast.CreateMaterializedView) -> StreamJobPlan:
    view = bind_view(statement, bench.catalog, SEARCH_PATH)
    return plan_materialized_view(
        optimize_view(view.query.plan, bench.catalog, emit_on_window_close=statement.emit_on_window_close),
        bench.catalog,
        allocate=bench.allocate,
        name=statement.name.name,
        output_names=view.column_names,
        emit_on_window_close=statement.emit_on_window_close,
    )


def planned_index(bench: PlannerBench, index: BoundIndex) -> StreamJobPlan:
    table_id = bench.allocate()
    return plan_index(index.relation, index.definition, table_id=table_id, name=index.name, allocate=bench.allocate)


def create_relations(bench: PlannerBench, sql: str) -> None:
    for parsed in parse(sql):
        statement = parsed.statement
        match statement:
            case ast.CreateTable():
                table = bind_table(statement)
                columns = {column.name: column.type for column in table.columns}
                key = [table.columns[i].name for i in table.primary_key]
                name, append_only = statement.name.name, statement.append_only
                bench.table(name, columns, key, append_only=append_only, watermark=table.watermark)
            case ast.CreateSource():
                columns = {column.name: column.type for column in bind_table(statement).columns}
                bench.source(statement.name.name, columns)
            case ast.CreateMaterializedView():
                bench.planned_view(statement.name.name, planned_view(bench, statement))
            case ast.CreateIndex():
                index = bind_index(statement, bench.catalog, SEARCH_PATH, session=SessionValues())
                bench.planned_index(index.name, index.definition, planned_index(bench, index))
            case ast.CreateView():
                view = bind_view(statement, bench.catalog, SEARCH_PATH)
                bench.plain_view(statement.name.name, view.columns, statement.query.text)

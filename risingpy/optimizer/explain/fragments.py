"""EXPLAIN (DISTSQL): a job's fragments, those that clients read first, and its tables, as text, JSON or a graph."""

from __future__ import annotations

import json
from itertools import count

from risingpy.optimizer.explain.state_tables import table_text
from risingpy.optimizer.explain.stream import fragment_node
from risingpy.optimizer.explain.tree import ExplainFormat, ExplainNode, dot_lines, dot_text, json_document, render
from risingpy.plan.graph import Fragment, Job
from risingpy.storage.codec.table_schema import TableSchema

_SOURCE = "from_fragment"  # the field of an Exchange that says which fragment it reads


def explain_fragments(
    job: Job, verbose: bool = False, *, explain_format: ExplainFormat = ExplainFormat.TEXT
) -> list[str]:
    """The lines of the answer."""
    shown = [(fragment, fragment_node(fragment, verbose=verbose)) for fragment in reversed(job.fragments)]
    tables = (job.table, *job.state_tables)
    match explain_format:
        case ExplainFormat.JSON:
            document = {
                "fragments": [
                    {"fragment_id": fragment.fragment_id, "stage": fragment.stage, "plan": json_document(node)}
                    for fragment, node in shown
                ],
                "tables": [{"table_id": t.table_id, "name": t.name, "layout": table_text(t)} for t in tables],
            }
            return json.dumps(document, indent=2, ensure_ascii=False).splitlines()
        case ExplainFormat.DOT:
            return _graph(shown, tables)
        case ExplainFormat.TEXT:
            lines: list[str] = []
            for fragment, node in shown:
                lines += [_title(fragment), *render(node, ExplainFormat.TEXT), ""]
            return lines + [f"Table {t.table_id} {t.name} {{ {table_text(t)} }}" for t in tables]


def _title(fragment: Fragment) -> str:
    return f"Fragment {fragment.fragment_id} (stage {fragment.stage})"


def _graph(shown: list[tuple[Fragment, ExplainNode]], tables: tuple[TableSchema, ...]) -> list[str]:
    """A box per fragment, and a dashed edge from one to the Exchange that reads it."""
    lines = ["digraph fragments {", '  node [shape=box, fontname="monospace"];']
    numbers = count(1)
    roots: dict[str, int] = {}
    readers: list[tuple[str, int]] = []
    for fragment, node in shown:
        first = next(numbers)
        roots[str(fragment.fragment_id)] = first
        lines += [f"  subgraph cluster_{fragment.fragment_id} {{", f'    label="{_title(fragment)}";']
        for number, below in enumerate(_preorder(node), first):
            source = below.fields.get(_SOURCE)
            if isinstance(source, str):
                readers.append((source, number))
        lines += [f"  {line}" for line in dot_lines(node, count(first), None)]
        lines.append("  }")
        numbers = count(first + len(_preorder(node)))
    lines += [f"  n{roots[source]} -> n{reader} [style=dashed];" for source, reader in readers]
    rows = "".join(f"{dot_text(f'Table {t.table_id} {t.name}: {table_text(t)}')}\\l" for t in tables)
    return [*lines, f'  tables [shape=note, label="{rows}"];', "}"]


def _preorder(node: ExplainNode) -> list[ExplainNode]:
    return [node, *(below for child in node.children for below in _preorder(child))]

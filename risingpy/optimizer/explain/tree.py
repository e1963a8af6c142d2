"""A plan as EXPLAIN shows it: a tree of named operators with fields, as text, as JSON or as a graph.

    StreamMaterialize { columns: [v1, n], stream_key: [v1], pk_columns: [v1], pk_conflict: NoCheck }
    └─StreamHashAgg { group_key: [v1], aggs: [count] }
      │   stream key: [v1], distribution: HashShard(v1)
      └─…

The lines after a `│` are an operator's details, which EXPLAIN (VERBOSE) adds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count

from risingpy.functions.python.definition import definition_of
from risingpy.plan.logical import AggCall, Schema

FieldValue = str | list[str]
# The longest name of a column. A computed column's name is its expression's text, with the names of the columns that it
# reads, as often as it reads them. An expression that reads one twice, at each of 30 levels, would fill gigabytes.
MAX_NAME = 1_000


class ExplainFormat(Enum):
    """The format of a plan; the value is its name in EXPLAIN (FORMAT …)."""

    TEXT = "text"
    JSON = "json"
    DOT = "dot"  # a graph for Graphviz, edges from an input to its reader


@dataclass(frozen=True, slots=True)
class ExplainNode:
    """One operator: its name, its parameters, further details, its inputs."""

    name: str
    fields: dict[str, FieldValue] = field(default_factory=dict)
    details: tuple[str, ...] = ()
    children: tuple[ExplainNode, ...] = ()


def render(node: ExplainNode, explain_format: ExplainFormat) -> list[str]:
    """The lines of the answer to EXPLAIN."""
    if explain_format is ExplainFormat.JSON:
        return json.dumps(json_document(node), indent=2, ensure_ascii=False).splitlines()
    if explain_format is ExplainFormat.DOT:
        return ["digraph plan {", '  node [shape=box, fontname="monospace"];', *dot_lines(node, count(1), None), "}"]
    return _lines(node)


def dot_lines(node: ExplainNode, numbers: Iterator[int], reader: int | None) -> Iterator[str]:
    """The lines of a node and of all below it, in the order of `numbers`, which become the nodes' names: `n1`."""
    number = next(numbers)
    fields = [f"{name}: [{', '.join(v)}]" if isinstance(v, list) else f"{name}: {v}" for name, v in node.fields.items()]
    label = "\\l".join(dot_text(line) for line in (node.name, *fields, *node.details)) + "\\l"
    yield f'  n{number} [label="{label}"];'
    if reader is not None:
        yield f"  n{number} -> n{reader};"
    for child in node.children:
        yield from dot_lines(child, numbers, number)


def dot_text(text: str) -> str:
    """A text within a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def json_document(node: ExplainNode) -> dict[str, object]:
    """The node and all below it, to be written as JSON."""
    document: dict[str, object] = {"name": node.name, "fields": node.fields}
    if node.details:
        document["details"] = list(node.details)
    return {**document, "children": [json_document(child) for child in node.children]}


def _lines(node: ExplainNode) -> list[str]:
    lines = []
    rest = [(node, "", "")]
    while rest:
        part, branch, margin = rest.pop()
        lines.append(branch + _headline(part))
        bar = "│   " if part.children else "    "
        lines += [margin + bar + detail for detail in part.details]
        below = [(child, f"{margin}├─", f"{margin}│ ") for child in part.children[:-1]]
        below += [(child, f"{margin}└─", f"{margin}  ") for child in part.children[-1:]]
        rest += reversed(below)
    return lines


def _headline(node: ExplainNode) -> str:
    if not node.fields:
        return node.name
    parts = [f"{name}: [{', '.join(v)}]" if isinstance(v, list) else f"{name}: {v}" for name, v in node.fields.items()]
    return f"{node.name} {{ {', '.join(parts)} }}"


def column_names(schema: Schema) -> list[str]:
    """A name for every column; columns that share one are told apart by their position: `a#2`."""
    return distinct_names([column.name for column in schema])


def distinct_names(names: Sequence[str]) -> list[str]:
    """`names`, cut if they are very long; equal ones get their position added."""
    short = [name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…" for name in names]
    counts = Counter(short)
    return [name if counts[name] == 1 else f"{name}#{i}" for i, name in enumerate(short)]


def call_text(call: AggCall, columns: Sequence[str]) -> str:
    """`sum(price)`, `count`, `count(distinct x) filter(late)`, `string_agg(a, b order by c DESC)`."""
    distinct = "distinct " if call.distinct else ""
    arguments = ", ".join(columns[i] for i in call.args)
    if call.order_by:
        keys = [order_text(columns[k.index], descending=k.descending, nulls_first=k.nulls_first) for k in call.order_by]
        arguments += f" order by {', '.join(keys)}"
    name = definition_of(call.definition).name if call.definition else call.function
    text = f"{name}({distinct}{arguments})" if call.args else name
    return text if call.filter is None else f"{text} filter({columns[call.filter]})"


def order_text(column: str, *, descending: bool, nulls_first: bool) -> str:
    """One sort column: `b DESC NULLS LAST`, the place of NULLs only where it is not PostgreSQL's default."""
    text = f"{column} {'DESC' if descending else 'ASC'}"
    return text if nulls_first == descending else f"{text} NULLS {'FIRST' if nulls_first else 'LAST'}"

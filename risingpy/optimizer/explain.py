"""EXPLAIN: a plan in, its lines out. Queries in `explain_query`, stream jobs in `explain_stream`, layout in `explain_tree`."""

from risingpy.optimizer.explain_query import explain_batch, explain_logical
from risingpy.optimizer.explain_stream import explain_fragments, explain_stream
from risingpy.optimizer.explain_tree import ExplainFormat

__all__ = ["ExplainFormat", "explain_batch", "explain_fragments", "explain_logical", "explain_stream"]

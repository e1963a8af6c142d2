"""EXPLAIN: a plan in, its lines out.

query                           queries: the logical plan, and the batch plan
stream, fragments               jobs: the stream plan, and what is cut of it
analyze                         a running job, with what its operators do
trace                           what the rules do
tree, windows, expression_text  the layout, and its parts
"""

from risingpy.optimizer.explain.analyze import AnalyzedOperator, explain_analyze
from risingpy.optimizer.explain.fragments import explain_fragments
from risingpy.optimizer.explain.query import explain_batch, explain_logical
from risingpy.optimizer.explain.stream import explain_stream
from risingpy.optimizer.explain.trace import explain_trace
from risingpy.optimizer.explain.tree import ExplainFormat

__all__ = [
    "AnalyzedOperator",
    "ExplainFormat",
    "explain_analyze",
    "explain_batch",
    "explain_fragments",
    "explain_logical",
    "explain_stream",
    "explain_trace",
]

"""EXPLAIN: a plan in, its lines out. `explain_query`: queries; `explain_stream`: jobs; `explain_fragments`: their
parts; `explain_trace`: what the rules do; `explain_tree`: the layout.

`explain_analyze`: a running job with what its operators do.
"""

from risingpy.optimizer.explain_analyze import AnalyzedOperator, explain_analyze
from risingpy.optimizer.explain_fragments import explain_fragments
from risingpy.optimizer.explain_query import explain_batch, explain_logical
from risingpy.optimizer.explain_stream import explain_stream
from risingpy.optimizer.explain_trace import explain_trace
from risingpy.optimizer.explain_tree import ExplainFormat

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

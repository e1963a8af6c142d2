"""EXPLAIN. In: a plan. Out: the lines that describe it.

query                           queries: the logical plan, and the batch plan
stream, fragments               jobs: the stream plan, and its fragments
analyze                         a running job, with what its operators have done
trace                           the plan after each rule
state_tables                    what VERBOSE says of the operators' state
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

"""Executors of a few rows: what operators do in the epoch of one INSERT, with Python values instead of columns.

In: a `FewRows` from each input. Out: a `FewRows`, the same change that the executor of columns gives. Each of
Arrow's calls costs some microseconds however few the rows, and an epoch of one row makes hundreds for a view. An
operator that has no executor here, or whose executor raises `NotFew`, runs on columns. Called by `epoch/operator_tree`;
`builders/few_rows` makes them of plan nodes.
"""

from risingpy.executors.few_rows.chunk import FEW, Chunk, FewRows, joined, table_of

__all__ = ["FEW", "Chunk", "FewRows", "joined", "table_of"]

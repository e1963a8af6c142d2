"""Aggregates that are computed alike: SPREADS of sums of squares, REGRESSIONS of sums of products as well.

OF_VECTORS are sum and avg of vectors.
"""

from __future__ import annotations

SPREADS = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp"})
REGRESSIONS = frozenset(
    {"covar_pop", "covar_samp", "corr"}
    | {f"regr_{name}" for name in ("avgx", "avgy", "sxx", "syy", "sxy", "slope", "intercept", "r2")}
)
OF_VECTORS = frozenset({"vector_sum", "vector_avg"})

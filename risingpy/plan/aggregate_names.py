"""The aggregates that are made of sums of squares and of products."""

from __future__ import annotations

SPREADS = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp"})
REGRESSIONS = frozenset(
    {"covar_pop", "covar_samp", "corr"}
    | {f"regr_{name}" for name in ("avgx", "avgy", "sxx", "syy", "sxy", "slope", "intercept", "r2")}
)

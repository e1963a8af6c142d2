"""WITH RECURSIVE: the step of a recursion runs again and again within an epoch, over one level of rows at a time.

`recursion.py` has the executor, which goes from level to level. `derived_rows.py` keeps how often each row is derived
at each level, and says which rows the step then reads: `counted_rows.py` for UNION ALL, `distinct_rows.py` for UNION,
`weighted_rows.py` for WITH MUTUALLY RECURSIVE.
Made by `executors/builders/recursion.py` ([decision 104](../../../docs/decisions/104-a-recursion-counts-by-level.md)).
"""

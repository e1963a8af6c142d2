"""Queries: from sqlglot's trees to logical plans. `query.bind_query` is the way in.

query                    SELECT, VALUES, UNION and WITH
set_operations           UNION, INTERSECT and EXCEPT
recursion                WITH RECURSIVE
select                   one SELECT, clause by clause
from_clause              FROM: what its items are
sql_functions            functions in SQL as items
relations, joins         an item that the catalog has; two items as one
as_of, temporal          ASOF JOIN, and joins with a table as it is now
grouping, grouping_sets  GROUP BY
arguments                the arguments of EXECUTE, a query over nothing
"""

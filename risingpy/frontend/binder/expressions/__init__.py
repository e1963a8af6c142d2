"""Expressions: from sqlglot's trees to typed ones, over a scope.

expression_binder            binds a tree over a scope: by the function that `binder/nodes.py` has for its node
leaves, operators, casts     constants and parameters; operators (their symbols: symbols); CAST and CASE
nested, rows, literal_lists  arrays, structs and maps; row values; IN with a list
subqueries                   (SELECT …), EXISTS, IN, ANY, SOME and ALL
output_names                 the names of columns that have no alias
"""

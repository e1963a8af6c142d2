"""Expressions: from sqlglot's trees to typed ones, over a scope.

expression_binder            one method per kind of node; it calls the others for theirs:
nested, rows, literal_lists  arrays, structs and maps; row values; IN with a list
subqueries                   (SELECT …), EXISTS, IN, ANY, SOME and ALL
output_names                 the names of columns that have no alias
"""

"""What an expression is bound over: the columns of its FROM clause, its SELECT, and its statement.

context              a statement: catalog, session, parameters, and what binding it finds out
columns, stars       the columns in scope, by name, and those that `*` means
aggregates, windows  the calls that a SELECT collects while its expressions are bound
"""

"""Regular expressions and SIMILAR TO.

regular_expressions     the functions
translation, brackets   PostgreSQL's patterns in RE2's and Python's form
similar                 SIMILAR TO as regular expressions
cost                    how long a pattern may search
"""

"""jsonpath, as PostgreSQL 15 has it.

tokens, parser, nodes                       from a text to a tree, and back
run, values                                 the items that it leads to; computing with them
moments, templates, places                  .datetime(), .datetime(template), .keyvalue()
error                                       a path that does not fit a value
"""

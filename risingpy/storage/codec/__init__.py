"""Rows as bytes, and back: pure functions of Arrow arrays.

table_schema column_history               what a table's rows are, and were before an ALTER TABLE
key_encoding row_encoding value_encoding  layouts, byte by byte; `kernels` has the loops, `reference_codec` the law
plain_columns column_buffers              values of one column; Arrow's buffers
group_keys known_keys                     sorting and grouping by encoded keys; keys that were encoded a moment ago
table_codec                               all of a table's codecs
"""

"""The functions that need a window, as lines of the signature table. Every aggregate can be called over a window, too.

`signatures.py` reads them. Source: PostgreSQL 15's pg_proc, prokind 'w'.
"""

from __future__ import annotations

WINDOW_TABLE = """
row_number   row_number   = int8
rank         rank         = int8
dense_rank   dense_rank   = int8
percent_rank percent_rank = float8
cume_dist    cume_dist    = float8
ntile        ntile        int4 = int4
lag          lag          any = any | any int4 = any | any int4 any = any
lead         lead         any = any | any int4 = any | any int4 any = any
first_value  first_value  any = any
last_value   last_value   any = any
nth_value    nth_value    any int4 = any
"""

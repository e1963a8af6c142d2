"""`risingpy demo`: the flights of New York's airports in 2013, live views over them, checked against DuckDB.

In: a server's address. Out: a report on the terminal, and whether every view was right. Called by `cli.py`.
"""

from risingpy.demo.flights import run_demo, run_demo_on_own_server

__all__ = ["run_demo", "run_demo_on_own_server"]

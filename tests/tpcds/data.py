"""TPC-DS's tables as CSV files, by the generator of the PyPI package tpcgen-cli, made once and kept.

    python -m tests.tpcds.data SCALE [SHARE]

prints the directory. `customer_demographics` has 1.9 million rows at every scale; those that no other table refers to
are left out. A share of n keeps every n-th ticket, order and week of the facts, and what they refer to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

from tests.tpcds.queries import columns

PROGRAM = Path(sys.executable).parent / "tpcgen-cli"
# The facts, and a column whose every n-th value a share of n keeps.
_FACTS = {
    "store_sales": "ss_ticket_number",
    "store_returns": "sr_ticket_number",
    "catalog_sales": "cs_order_number",
    "catalog_returns": "cr_order_number",
    "web_sales": "ws_order_number",
    "web_returns": "wr_order_number",
    "inventory": "inv_date_sk // 7",
}
# Large dimensions: their key, and how the columns end that refer to it.
_REFERRED = {
    "customer_demographics": ("cd_demo_sk", "_cdemo_sk"),
    "time_dim": ("t_time_sk", "_time_sk"),
    "catalog_page": ("cp_catalog_page_sk", "_catalog_page_sk"),
}
_YEARS = "d_year BETWEEN 1997 AND 2004"


def data_directory(scale: str, share: int = 1) -> Path:
    """Where the files are. Makes them unless they are there; raises FileNotFoundError without the generator."""
    kept = Path(tempfile.gettempdir()) / f"risingpy-tpcds-{scale}-{share}-{os.getuid()}"
    if kept.exists():
        return kept
    with tempfile.TemporaryDirectory(prefix="risingpy-tpcds-") as name:
        made = Path(name) / "made"
        command = [str(PROGRAM), "tpcds", "csv", "--scale-factor", scale, "--output-dir", str(made), "--quiet"]
        subprocess.run(command, check=True, capture_output=True, timeout=600)
        (made / "dbgen_version.csv").unlink()
        with duckdb.connect() as connection:
            for table, column in _FACTS.items() if share > 1 else ():
                _keep(connection, made, table, f"coalesce({column}, 0) % {share} = 0")
            for table, (key, ending) in _REFERRED.items() if share > 1 else list(_REFERRED.items())[:1]:
                _keep(connection, made, table, f"{key} IN ({_referring(made, ending)})")
            if share > 1:
                _keep(connection, made, "date_dim", _YEARS)
        partly = kept.with_suffix(".new")
        shutil.copytree(made, partly)
        partly.rename(kept)  # whole, or not at all
    return kept


def _referring(directory: Path, ending: str) -> str:
    """A query for the values of all columns, of facts and customers, whose names end so."""
    return " UNION ".join(
        f"SELECT {column} FROM read_csv('{directory}/{table}.csv', header = true)"
        for table in (*_FACTS, "customer")
        for column in columns(table)
        if column.endswith(ending)
    )


def _keep(connection: duckdb.DuckDBPyConnection, directory: Path, table: str, condition: str) -> None:
    path = directory / f"{table}.csv"
    kept = path.with_suffix(".kept")
    rows = f"SELECT * FROM read_csv('{path}', header = true) WHERE {condition}"
    connection.execute(f"COPY ({rows}) TO '{kept}' (FORMAT csv, HEADER)")
    kept.replace(path)


if __name__ == "__main__":
    print(data_directory(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1))

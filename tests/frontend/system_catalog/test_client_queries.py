"""Every query that psql, drivers and ORMs were seen to send is answered, with the columns that Describe promised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

QUERIES = [
    "\n".join(line for line in paragraph.splitlines() if not line.startswith("-- ")).strip()
    for paragraph in Path(__file__).with_name("client_queries.sql").read_text().split(";\n")
]
ARGUMENTS = {25: "int4", 1028: (1007, 1009), 1009: ("public",), 26: 16391, 1043: "int4", 23: 1, 21: 1}


@pytest.mark.parametrize("sql", [sql for sql in QUERIES if sql], ids=lambda sql: " ".join(sql.split())[:60])
def test_is_answered(asked: Any, sql: str) -> None:
    query = asked.prepare(sql)
    answer = asked.execute(query, [ARGUMENTS[parameter.oid] for parameter in query.parameters])
    assert [field.type for field in answer.schema] == [column.type.arrow for column in query.columns]

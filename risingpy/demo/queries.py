"""The demo's table and its views. DuckDB runs their queries as they are, to judge the answers: it wants "at" quoted."""

from __future__ import annotations

CREATE_TABLE = """
CREATE TABLE flights (
    id BIGINT PRIMARY KEY, carrier VARCHAR, flight INT, tailnum VARCHAR, origin VARCHAR, dest VARCHAR,
    dep_delay INT, arr_delay INT, air_time INT, distance INT, at TIMESTAMP)
"""

COLUMNS = (
    "id", "carrier", "flight", "tailnum", "origin", "dest", "dep_delay", "arr_delay", "air_time", "distance", "at",
)  # fmt: skip

# In the order in which they must be created: the last reads another view.
VIEWS = {
    "late_flights": """
        SELECT id, carrier, origin, dest, dep_delay, "at" FROM flights WHERE dep_delay > 60""",
    "by_carrier": """
        SELECT carrier, count(*) AS n, sum(distance) AS miles, avg(dep_delay) AS delay
        FROM flights WHERE dep_delay IS NOT NULL GROUP BY carrier""",
    "extremes": """
        SELECT origin, min(dep_delay) AS best, max(dep_delay) AS worst, max("at") AS last_departure
        FROM flights GROUP BY origin""",
    "by_route": """
        SELECT origin, dest, count(*) AS n, sum(air_time) AS minutes, avg(arr_delay) AS delay
        FROM flights GROUP BY origin, dest""",
    "late_by_origin": """
        SELECT origin, count(*) AS n, sum(dep_delay) AS minutes FROM late_flights GROUP BY origin""",
}

# Together they change a third of the table.
CHANGES = (
    "UPDATE flights SET dep_delay = dep_delay / 2, arr_delay = NULL WHERE id % 6 = 0",
    "DELETE FROM flights WHERE id % 6 = 3",
)

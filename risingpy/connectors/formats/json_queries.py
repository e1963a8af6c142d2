"""DuckDB's functions of JSON, over arrays of texts."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Positions, Reasons


class JsonQueries:
    """A DuckDB connection of its own, made with the first query: a connection does not survive a fork."""

    def __init__(self) -> None:
        self._duckdb: duckdb.DuckDBPyConnection | None = None

    def run(self, sql: str, texts: pa.Array) -> pa.Table:
        """The answer to a query of the table `texts (t)`, a row for each text. Raises duckdb.Error for invalid JSON."""
        if self._duckdb is None:
            self._duckdb = duckdb.connect(config={"threads": 1})
        cursor = self._duckdb.cursor()
        cursor.register("texts", pa.table({"t": texts}))
        try:
            return cursor.sql(sql).to_arrow_table()
        except UnicodeDecodeError as error:  # the error's text quotes the message, and cuts it within a character
            raise duckdb.InvalidInputException("malformed JSON") from error

    def objects(self, texts: pa.Array, messages: Positions, reasons: Reasons) -> Positions:
        """The rows whose texts are JSON objects. The others are bad."""
        kinds = self.kinds(texts)
        for row in np.flatnonzero(pc.and_(kinds.is_null(), texts.is_valid()).to_numpy(zero_copy_only=False)):
            reasons.add(int(messages[row]), "invalid JSON")
        are_objects = pc.fill_null(pc.equal(kinds, "OBJECT"), False).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(~are_objects & kinds.is_valid().to_numpy(zero_copy_only=False)):
            kind = kinds[row].as_py().lower()
            reasons.add(int(messages[row]), f"the message is a JSON {kind}, not an object")
        return np.flatnonzero(are_objects)

    def kinds(self, texts: pa.Array) -> pa.Array:
        """DuckDB's json_type of each text: OBJECT, VARCHAR, …; NULL for what is no JSON."""
        checked = "SELECT CASE WHEN json_valid(t) THEN json_type(t) END AS kind FROM texts"
        return self.run(checked, texts)["kind"].combine_chunks()

"""The functions and aggregates that users created."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.plan.catalog.acl import Acl
from risingpy.plan.catalog.databases import DEFAULT_DATABASE_ID
from risingpy.plan.catalog.roles import BOOTSTRAP_ROLE_ID
from risingpy.types import SqlType, TypeKind


class FunctionLanguage(Enum):
    """The value is the name after LANGUAGE."""

    SQL = "sql"
    PYTHON = "python"


class FunctionKind(Enum):
    """The value is what messages call it."""

    SCALAR = "function"
    TABLE = "table function"
    AGGREGATE = "aggregate"
    PROCEDURE = "procedure"


@dataclass(frozen=True, slots=True)
class FunctionDesc:
    """CREATE FUNCTION, AGGREGATE or PROCEDURE.

    `argument_names` are empty where one has none; `body` is what AS or RETURN says.
    `argument_defaults` are the expressions of the last arguments. A procedure's `result` says nothing.

    An `immutable` function gives the same for the same arguments, for ever. A `strict` one gives NULL for a NULL. With
    `batch` a Python function takes and gives Arrow arrays. A table function's `result` is a row's type, a struct for
    several columns; `column` is the name of its only column, empty for SETOF. `retracts`: whether an aggregate can take
    back a row from its state. `owner` is the id of a role, and
    `acl` its list of rights.
    """

    function_id: int
    schema_name: str
    name: str
    argument_names: tuple[str, ...]
    argument_types: tuple[SqlType, ...]
    result: SqlType
    language: FunctionLanguage
    body: str
    definition: str
    immutable: bool = False
    strict: bool = False
    batch: bool = False
    kind: FunctionKind = FunctionKind.SCALAR
    column: str = ""
    retracts: bool = False
    owner: int = BOOTSTRAP_ROLE_ID
    database_id: int = DEFAULT_DATABASE_ID
    acl: Acl | None = None
    argument_defaults: tuple[str, ...] = ()

    @property
    def noun(self) -> str:
        """As in DROP."""
        return self.kind.value if self.kind in (FunctionKind.AGGREGATE, FunctionKind.PROCEDURE) else "function"

    @property
    def arguments(self) -> tuple[tuple[str, SqlType], ...]:
        """Their names and types."""
        return tuple(zip(self.argument_names, self.argument_types, strict=True))

    @property
    def arguments_text(self) -> str:
        """`a integer, b integer DEFAULT 2`."""
        needed = len(self.argument_types) - len(self.argument_defaults)
        texts = [f"{n} {t}".strip() for n, t in zip(self.argument_names, self.argument_types, strict=True)]
        given = [f"{text} DEFAULT {value}" for text, value in zip(texts[needed:], self.argument_defaults, strict=True)]
        return ", ".join([*texts[:needed], *given])

    @property
    def shown(self) -> str:
        """`name(types)`, as messages call it."""
        types = (t.name if t.enum or t.composite else t.kind.value for t in self.argument_types)
        return f"{self.name}({','.join(types)})"

    @property
    def result_text(self) -> str:
        """`integer`, `SETOF integer`, `TABLE(a integer, b text)`."""
        if self.kind is not FunctionKind.TABLE:
            return str(self.result)
        if self.result.kind is TypeKind.STRUCT:
            columns = zip(self.result.names, self.result.items, strict=True)
            return f"TABLE({', '.join(f'{name} {type_}' for name, type_ in columns)})"
        return f"TABLE({self.column} {self.result})" if self.column else f"SETOF {self.result}"

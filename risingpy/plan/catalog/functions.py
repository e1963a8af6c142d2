"""The functions and aggregates that users created."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from risingpy.plan.catalog.acl import Acl
from risingpy.plan.catalog.databases import DEFAULT_DATABASE_ID
from risingpy.plan.catalog.roles import BOOTSTRAP_ROLE_ID
from risingpy.types import SqlType, TypeKind
from risingpy.types.system_types import as_text, is_polymorphic


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


def shown_type(type_: SqlType) -> str:
    """The type of an argument, as messages call it."""
    return type_.name if type_.enum or type_.composite or type_.items or type_.system else str(type_.kind.value)


def type_key(type_: SqlType) -> object:
    """By what functions of one name differ: each enum, and each row with a name, is a type of its own."""
    made = type_.enum or type_.composite
    if made is not None:
        return made.oid
    if type_.kind is TypeKind.ARRAY:
        return (type_.kind, type_key(type_.element))
    return type_.system if is_polymorphic(type_) else type_.kind


@dataclass(frozen=True, slots=True)
class FunctionDesc:
    """CREATE FUNCTION, AGGREGATE or PROCEDURE.

    `argument_names` are empty where one has none; `body` is what AS or RETURN says.
    `argument_defaults` are the expressions of the last arguments. A procedure's `result` says nothing.

    An `immutable` function gives the same for the same arguments, for ever. A `strict` one gives NULL for a NULL. With
    `batch` a Python function takes and gives Arrow arrays. A table function's `result` is a row's type, a struct for
    several columns; `column` is the name of its only column, empty for SETOF. A function with OUT arguments has the
    `modes` of all its arguments in their order, as pg_proc.proargmodes: what goes out is the result, a struct if it is
    several values, or `column`. `texts`: whether each argument was
    written `text`, as in `ColumnDesc.as_text`, and after them the result or its columns. `retracts`: whether an
    aggregate can take back a row from its state. `owner` is the id of a role, and `acl` its list of rights.
    The last argument of a `variadic` one is an array, whose elements a call may give as arguments.
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
    texts: tuple[bool, ...] = ()
    modes: str = ""
    variadic: bool = False

    @property
    def noun(self) -> str:
        """As in DROP."""
        return self.kind.value if self.kind in (FunctionKind.AGGREGATE, FunctionKind.PROCEDURE) else "function"

    @property
    def arguments(self) -> tuple[tuple[str, SqlType], ...]:
        """Their names, and their types as clients hear of them."""
        return tuple(zip(self.argument_names, self.shown_arguments, strict=True))

    @property
    def shown_arguments(self) -> tuple[SqlType, ...]:
        """The types of the arguments, which tell text from character varying."""
        return self._shown(self.argument_types, 0)

    @property
    def shown_result(self) -> SqlType:
        """Likewise the result's."""
        places = len(self.argument_types)
        if self._gives_several:
            return replace(self.result, items=self._shown(self.result.items, places))
        return self._shown((self.result,), places)[0]

    def _shown(self, types: Sequence[SqlType], first: int) -> tuple[SqlType, ...]:
        marks = self.texts[first : first + len(types)]  # none of one that is older, one of SETOF a relation
        marks += (False,) * (len(types) - len(marks))
        return tuple(as_text(each) if is_text else each for each, is_text in zip(types, marks, strict=True))

    @property
    def _gives_several(self) -> bool:
        """Whether the result's fields are columns or OUT arguments."""
        gives_columns = self.kind is FunctionKind.TABLE or bool(self.modes)
        return gives_columns and not self.column and self.result.kind is TypeKind.STRUCT

    @property
    def columns(self) -> tuple[tuple[str, SqlType], ...]:
        """Those of RETURNS TABLE, or the OUT and INOUT arguments; none of a function that just gives a value."""
        result = self.shown_result
        if self._gives_several:
            return tuple(zip(result.names, result.items, strict=True))
        return ((self.column, result),) if self.column else ()

    @property
    def signature(self) -> tuple[tuple[str, str, SqlType], ...]:
        """Mode, name and type of each argument in order, of those that go out, too.

        A field that is called `column2` only because its argument has no name has none.
        """
        outputs = [("" if n == f"column{k}" else n, type_) for k, (n, type_) in enumerate(self.columns, 1)]
        given, out = iter(self.arguments), iter(outputs)
        found = []
        for mode in self.modes or "i" * (len(self.argument_types) - self.variadic) + "v" * self.variadic:
            name, type_ = next(out if mode == "o" else given)
            if mode == "b":
                next(out)
            found.append((mode, name, type_))
        return tuple(found)

    @property
    def arguments_text(self) -> str:
        """`a integer, b integer DEFAULT 2, OUT c integer`."""
        return self._argument_texts(self.argument_defaults)

    @property
    def identity_text(self) -> str:
        """`a integer, b integer, OUT c integer`: without defaults."""
        return self._argument_texts(())

    def _argument_texts(self, defaults: Sequence[str]) -> str:
        """As PostgreSQL writes them: those of a procedure say how they are passed."""
        words = {
            "i": "IN " if self.kind is FunctionKind.PROCEDURE else "",
            "o": "OUT ",
            "b": "INOUT ",
            "v": "VARIADIC ",
        }
        needed = [""] * (len(self.argument_types) - len(defaults))
        values, texts = iter([*needed, *(f" DEFAULT {value}" for value in defaults)]), []
        for mode, name, type_ in self.signature:
            texts.append(words[mode] + f"{name} {type_}".strip() + ("" if mode == "o" else next(values)))
        return ", ".join(texts)

    @property
    def shown(self) -> str:
        """`name(types)`, as messages call it."""
        return f"{self.name}({','.join(map(shown_type, self.argument_types))})"

    @property
    def result_text(self) -> str:
        """`integer`, `SETOF integer`, `TABLE(a integer, b text)`."""
        result = self.shown_result
        if self.modes:
            result_text = "record" if self._gives_several else str(result)
            return f"SETOF {result_text}" if self.kind is FunctionKind.TABLE else result_text
        if self.kind is not FunctionKind.TABLE:
            return str(result)
        if columns := self.columns:
            return f"TABLE({', '.join(f'{name} {type_}' for name, type_ in columns)})"
        return f"SETOF {result}"

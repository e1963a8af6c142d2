"""CREATE TABLE … AS query, and SELECT … INTO, which is the same."""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.parser.ast import CreateTableAs, ObjectName, Query, Select
from risingpy.frontend.parser.connectors.source import OptionsReader
from risingpy.frontend.parser.cursor import Cursor, fold

_LONGEST_LIST = 2 * 1664 + 8  # tokens: names of as many columns as a select list may have


def parse_table_of_query(cursor: Cursor, name: ObjectName, *, if_not_exists: bool) -> CreateTableAs | None:
    """`[(names)] [WITH (…)] AS query [WITH [NO] DATA]`, if that follows `CREATE TABLE name`; else takes nothing."""
    if not _begins(cursor.peek(_LONGEST_LIST)):
        return None
    names = cursor.in_parentheses(cursor.name) if cursor.word == "(" else ()
    storage: tuple[str, ...] = ()
    if cursor.accept("WITH"):
        storage = tuple(option for option, _ in OptionsReader(cursor).read())
    cursor.expect("AS")
    with_data, end = True, None
    if cursor.ends_with("WITH", "NO", "DATA"):
        with_data, end = False, ("WITH", "NO")
    elif cursor.ends_with("WITH", "DATA"):
        end = ("WITH", "DATA")
    query = cursor.query(before=end)
    if end is not None:
        cursor.expect("WITH")
        cursor.accept("NO")
        cursor.expect("DATA")
    return CreateTableAs(name, query, names, if_not_exists, with_data, storage)


def _begins(words: list[str]) -> bool:
    """Whether the words begin with AS, perhaps after a list of names without types, or after that and WITH."""
    if words[:1] == ["("]:
        if words[1:2] == ["*"]:  # the columns of a source's messages
            return False
        end = next((i for i in range(2, len(words), 2) if words[i] != ","), 0)
        if not end or words[end] != ")":
            return False
        words = words[end + 1 :]
        return words[:1] == ["AS"] or words[:2] == ["WITH", "("]
    return words[:1] == ["AS"]


def with_into(select: Select) -> Select | CreateTableAs:
    """`SELECT … INTO name …` as the CREATE TABLE AS that it is; any other query as it was."""
    into = _first_select(select.query.tree).args.get("into")
    if into is None:
        return select
    if into.args.get("temporary") or into.args.get("unlogged"):
        raise FeatureNotSupported("SELECT INTO TEMPORARY is not supported", position=select.query.position)
    table = into.this
    schema, database = table.args.get("db"), table.args.get("catalog")
    position = int(table.this.meta.get("start", 0)) + 1
    name = ObjectName(_folded(table.this), _optional(schema), position, _optional(database))
    rest = select.query.tree.copy()
    _first_select(rest).set("into", None)
    return CreateTableAs(name, Query(rest, select.query.text, select.query.position))


def _first_select(tree: exp.Expr) -> exp.Expr:
    """The query, or the first one of a UNION and its like."""
    while isinstance(tree, exp.SetOperation):
        tree = tree.this
    return tree


def _optional(identifier: exp.Expr | None) -> str | None:
    return None if identifier is None else _folded(identifier)


def _folded(identifier: exp.Expr) -> str:
    return str(identifier.name) if identifier.args.get("quoted") else fold(str(identifier.name))

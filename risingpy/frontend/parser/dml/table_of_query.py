"""CREATE TABLE … AS query, and SELECT … INTO, which is the same."""

from __future__ import annotations

from sqlglot import exp

from risingpy.frontend.parser.ast import CreateTableAs, ObjectName, Query, Select
from risingpy.frontend.parser.ast_parts import OnCommit
from risingpy.frontend.parser.connectors.source import OptionsReader
from risingpy.frontend.parser.cursor import Cursor, fold
from risingpy.frontend.parser.held.prepared import parse_execute

_LONGEST_LIST = 2 * 1664 + 8  # tokens: names of as many columns as a select list may have


def parse_table_of_query(cursor: Cursor, name: ObjectName, *, if_not_exists: bool) -> CreateTableAs | None:
    """`[(names)] [WITH (…)] [ON COMMIT …] AS query [WITH [NO] DATA]`, if that follows `CREATE TABLE name`.

    EXECUTE may stand in place of the query. Else takes nothing.
    """
    if not _begins(cursor.peek(_LONGEST_LIST)):
        return None
    names = cursor.in_parentheses(cursor.name) if cursor.word == "(" else ()
    storage: tuple[str, ...] = ()
    if cursor.accept("WITH"):
        storage = tuple(option for option, _ in OptionsReader(cursor).read())
    on_commit = parse_on_commit(cursor)
    cursor.expect("AS")
    with_data, end = True, None
    if cursor.ends_with("WITH", "NO", "DATA"):
        with_data, end = False, ("WITH", "NO")
    elif cursor.ends_with("WITH", "DATA"):
        end = ("WITH", "DATA")
    query = parse_execute(cursor) if cursor.word == "EXECUTE" else cursor.query(before=end)
    if end is not None:
        cursor.expect("WITH")
        cursor.accept("NO")
        cursor.expect("DATA")
    return CreateTableAs(name, query, names, if_not_exists, with_data, storage, on_commit=on_commit)


def parse_on_commit(cursor: Cursor) -> OnCommit | None:
    """`ON COMMIT PRESERVE ROWS | DELETE ROWS | DROP`, if that comes next."""
    if not cursor.accept("ON", "COMMIT"):
        return None
    if cursor.accept("DROP"):
        return OnCommit.DROP
    action = OnCommit.PRESERVE_ROWS if cursor.one_of("PRESERVE", "DELETE") == "PRESERVE" else OnCommit.DELETE_ROWS
    cursor.expect("ROWS")
    return action


def _begins(words: list[str]) -> bool:
    """Whether the words begin with AS, perhaps after a list of names without types, or after that and WITH."""
    if words[:1] == ["("]:
        if words[1:2] == ["*"]:  # the columns of a source's messages
            return False
        end = next((i for i in range(2, len(words), 2) if words[i] != ","), 0)
        if not end or words[end] != ")":
            return False
        words = words[end + 1 :]
        return words[:1] == ["AS"] or words[:2] in (["WITH", "("], ["ON", "COMMIT"])
    return words[:1] == ["AS"] or words[:2] == ["ON", "COMMIT"]


def with_into(select: Select) -> Select | CreateTableAs:
    """`SELECT … INTO name …` as the CREATE TABLE AS that it is; any other query as it was."""
    into = _first_select(select.query.tree).args.get("into")
    if into is None:
        return select
    table = into.this
    schema, database = table.args.get("db"), table.args.get("catalog")
    position = int(table.this.meta.get("start", 0)) + 1
    name = ObjectName(_folded(table.this), _optional(schema), position, _optional(database))
    rest = select.query.tree.copy()
    _first_select(rest).set("into", None)
    query = Query(rest, select.query.text, select.query.position)
    temporary, unlogged = bool(into.args.get("temporary")), bool(into.args.get("unlogged"))
    return CreateTableAs(name, query, temporary=temporary, unlogged=unlogged)


def _first_select(tree: exp.Expr) -> exp.Expr:
    """The query, or the first one of a UNION and its like."""
    while isinstance(tree, exp.SetOperation):
        tree = tree.this
    return tree


def _optional(identifier: exp.Expr | None) -> str | None:
    return None if identifier is None else _folded(identifier)


def _folded(identifier: exp.Expr) -> str:
    return str(identifier.name) if identifier.args.get("quoted") else fold(str(identifier.name))

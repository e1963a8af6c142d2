"""Random statements of one client: on keys of its own, which no other client touches, and on keys that all fight for.

What happens to keys of its own has one right outcome, which PostgreSQL tells. What happens to the others depends on who
comes first, so only what must hold in any order is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

TABLES = ("p", "c", "g")
_SCHEMA = (
    """CREATE TABLE p (id int PRIMARY KEY, code varchar UNIQUE, a int, b int CHECK (b > 0), UNIQUE (a, b),
       CONSTRAINT p_sane CHECK (a IS NULL OR a % 1000 < 90))""",
    """CREATE TABLE c (id int PRIMARY KEY, pid int REFERENCES p{pid}, pcode varchar REFERENCES p (code){code},
       n int NOT NULL, CONSTRAINT c_n UNIQUE NULLS NOT DISTINCT (n, pid))""",
    """CREATE TABLE g (id int PRIMARY KEY, cid int REFERENCES c{cid},
       up int REFERENCES g ON DELETE CASCADE DEFERRABLE, x int, y int,
       FOREIGN KEY (x, y) REFERENCES p (a, b) MATCH FULL ON UPDATE CASCADE)""",
    "CREATE TABLE person (id int PRIMARY KEY)",
    """CREATE TABLE seat (id int PRIMARY KEY, place int UNIQUE,
       holder int REFERENCES person ON DELETE CASCADE, CHECK (place > 0))""",
    "CREATE TABLE ticket (id int PRIMARY KEY, place int UNIQUE)",
    "CREATE UNIQUE INDEX p_few ON p ((id / 1000), (a % 5)) WHERE b = 4",
    "CREATE UNIQUE INDEX p_code ON p (upper(code)) WHERE b IS NULL",
    "CREATE UNIQUE INDEX ticket_pair ON ticket ((place % 2)) WHERE place > 2",
)
VIEWED = (
    "SELECT c.id, c.n, p.code, count(g.id) FROM c JOIN p ON p.id = c.pid LEFT JOIN g ON g.cid = c.id GROUP BY 1, 2, 3"
)
VIEW = f"CREATE MATERIALIZED VIEW seen AS {VIEWED}"  # of ours alone: PostgreSQL's would stay as it is
# Each gives rows only if a constraint does not hold.
BROKEN = (
    "SELECT place FROM seat GROUP BY place HAVING count(*) > 1",
    "SELECT seat.id FROM seat LEFT JOIN person ON person.id = holder WHERE person.id IS NULL AND holder IS NOT NULL",
    "SELECT place FROM ticket GROUP BY place HAVING count(*) > 1",
    "SELECT place % 2 FROM ticket WHERE place > 2 GROUP BY 1 HAVING count(*) > 1",
    "SELECT id FROM seat WHERE place < 1",
)
_ACTIONS = ("", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON DELETE RESTRICT")
_UPDATES = ("", " ON UPDATE CASCADE", " ON UPDATE SET NULL")
_LATER = ("", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED")
_SPAN = 1000  # of the keys that belong to one client
_PLACES, _PERSONS = 5, 4


@dataclass(frozen=True, slots=True)
class Step:
    """A statement; if several rows may break rules, which of these is named first is not defined (`is_exact`)."""

    sql: str
    is_exact: bool = True


def schema(random: Random) -> list[str]:
    """The tables, with actions drawn by chance."""
    actions = {name: random.choice(_ACTIONS) + random.choice(_UPDATES) for name in ("pid", "cid")}
    # Where one key lets a row go and the other one restricts that, PostgreSQL's answer depends on the triggers' names.
    restricts = "CASCADE" not in actions["pid"] and "SET NULL" not in actions["pid"]
    actions["code"] = random.choice(_ACTIONS if restricts else _ACTIONS[:3]) + random.choice(_UPDATES)
    later = {name: text if "RESTRICT" in text else text + random.choice(_LATER) for name, text in actions.items()}
    return [text.format(**later) for text in _SCHEMA]


def of_client(table: str, client: int) -> str:
    """The rows of a table that belong to a client."""
    return f"SELECT * FROM {table} WHERE id / {_SPAN} = {client} ORDER BY id"


class Writes:
    """One client's statements, numbered from 1."""

    def __init__(self, client: int, random: Random) -> None:
        self._random = random
        self._base = client * _SPAN
        self._client = client
        self._next = dict.fromkeys((*TABLES, "seat", "ticket"), 0)

    def transaction(self) -> Sequence[Step]:
        """Statements on the client's own keys: one, or several between BEGIN and COMMIT or ROLLBACK."""
        if self._random.random() < 0.5:
            return [self._statement()]
        steps = [Step("BEGIN"), *(self._statement() for _ in range(self._random.randint(1, 4)))]
        if self._random.random() < 0.3:
            back = [Step("SAVEPOINT s"), self._statement(), Step("ROLLBACK TO s"), self._statement()]
            place = self._random.randint(1, len(steps))
            steps[place:place] = back
        if self._random.random() < 0.3:
            when = self._random.choice(["DEFERRED", "IMMEDIATE"])
            steps.insert(self._random.randint(1, len(steps)), Step(f"SET CONSTRAINTS ALL {when}"))
        return [*steps, Step("COMMIT" if self._random.random() < 0.85 else "ROLLBACK")]

    def contested(self) -> str:
        """A statement on keys that every client writes."""
        place, person = self._random.randint(1, _PLACES), self._random.randint(1, _PERSONS)
        match self._random.choices(("sit", "rise", "come", "go", "book", "return"), (4, 2, 3, 1, 4, 3))[0]:
            case "sit":
                return f"INSERT INTO seat VALUES ({self._key('seat')}, {place}, {person})"
            case "rise":
                return f"DELETE FROM seat WHERE place = {place}"
            case "come":
                return f"INSERT INTO person VALUES ({person}) ON CONFLICT DO NOTHING"
            case "go":
                return f"DELETE FROM person WHERE id = {person}"
            case "book":
                return f"INSERT INTO ticket VALUES ({self._key('ticket')}, {place})"
        return f"DELETE FROM ticket WHERE place = {place}"

    def _key(self, table: str) -> int:
        self._next[table] += 1
        return self._base + self._next[table]

    def _own(self, most: int = 8, *, nulls: bool = True) -> str:
        drawn = [*(["NULL"] if nulls else []), *(str(self._base + i) for i in range(1, most))]
        return self._random.choice(drawn)

    def _small(self) -> str:
        return self._random.choice(["NULL", "1", "2", "3", "4"])

    def _code(self) -> str:
        return self._random.choice(["NULL", *(f"'{letter}{self._client}'" for letter in "abcd")])

    def _row(self, table: str) -> str:
        key = self._key(table)
        match table:
            case "p":
                a = self._random.choice([self._own(), self._own(), str(self._base + 95)])
                return f"({key}, {self._code()}, {a}, {self._random.choice(['-1', '0', self._small(), self._small()])})"
            case "c":
                n = self._random.choice(["NULL", *[self._own(5, nulls=False)] * 9])
                return f"({key}, {self._own(12)}, {self._code()}, {n})"
        return f"({key}, {self._own(12)}, {self._own(12)}, {self._own()}, {self._small()})"

    def _statement(self) -> Step:
        table = self._random.choice(TABLES)
        key = self._base + self._random.randint(1, self._next[table] + 1)
        kinds = ("insert", "update", "delete", "key", "conflict", "several")
        match self._random.choices(kinds, (5, 4, 2, 1, 2, 2))[0]:
            case "insert":
                return Step(f"INSERT INTO {table} VALUES {self._row(table)}")
            case "delete":
                return Step(f"DELETE FROM {table} WHERE id = {key}")
            case "key":
                return Step(f"UPDATE {table} SET id = {self._key(table)} WHERE id = {key}")
            case "conflict":
                return Step(self._conflict())
            case "several":
                return self._several(table, key)
        return Step(f"UPDATE {table} SET {self._change(table)} WHERE id = {key}")

    def _change(self, table: str) -> str:
        changes = {
            "p": [f"code = {self._code()}", f"a = {self._own()}", f"b = {self._small()}", "b = -b", "a = a + 90"],
            "c": [f"pid = {self._own(12)}", f"pcode = {self._code()}", f"n = {self._own(5, nulls=False)}", "n = NULL"],
            "g": [
                f"cid = {self._own(12)}",
                f"up = {self._own(12)}",
                f"x = {self._own()}, y = {self._small()}",
                "y = NULL",
            ],
        }
        return self._random.choice(changes[table])

    def _several(self, table: str, key: int) -> Step:
        """A statement on several rows."""
        if self._random.random() < 0.5:
            rows = ", ".join(self._row(table) for _ in range(self._random.randint(2, 5)))
            return Step(f"INSERT INTO {table} VALUES {rows}", is_exact=False)
        between = f"id BETWEEN {key} AND {key + self._random.randint(1, 5)}"
        match table:
            case "p":
                return Step(f"DELETE FROM p WHERE {between}", is_exact=False)
            case "c":
                return Step(f"UPDATE c SET pcode = {self._code()} WHERE {between}", is_exact=False)
        return Step(f"UPDATE g SET cid = {self._own(12)}, up = {self._own(12)} WHERE {between}", is_exact=False)

    def _conflict(self) -> str:
        choice = self._random.choice(["code", "a, b", "c_n", "any", "id"])
        match choice:
            case "c_n":
                action = "ON CONSTRAINT c_n DO UPDATE SET pcode = excluded.pcode"
                return f"INSERT INTO c VALUES {self._row('c')} ON CONFLICT {action}"
            case "any":
                return f"INSERT INTO p VALUES {self._row('p')} ON CONFLICT DO NOTHING"
            case "id":
                key = self._base + self._random.randint(1, self._next["p"] + 1)
                values = f"({key}, {self._code()}, {self._own()}, {self._small()})"
                return f"INSERT INTO p VALUES {values} ON CONFLICT (id) DO UPDATE SET code = excluded.code"
        action = self._random.choice(["DO NOTHING", "DO UPDATE SET a = excluded.a, b = excluded.b"])
        return f"INSERT INTO p VALUES {self._row('p')} ON CONFLICT ({choice}) {action}"

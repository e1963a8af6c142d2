"""Four answers to random queries: SELECT, a view made before the data, one made after it, and PostgreSQL's.

    python -m tests.fuzz.differential SEED [COUNT]

prints the answers that differ, with the statements that lead to them. A seed is a database of 1, 2 or 8 shards with a
few views that others read, and a history of epochs; some epochs run twice, as when Spark tries a task again.
"""

from __future__ import annotations

import gc
import re
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import psycopg
from psycopg.types.string import TextLoader

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.frontend.results import Result, StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.meta.epochs.runner import EpochReport
from risingpy.plan.recursion.loops import Stages
from risingpy.types import DATE, TypeKind
from risingpy.types.forms import text_column
from tests.fuzz.dialects import for_postgres, for_us
from tests.fuzz.generator import SCHEMA, Generator
from tests.postgres_oracle import postgres_server
from tests.result_rows import result_rows

QUERIES = 48  # of one history: they share its changes, and what each epoch costs however many views follow
EPOCHS = 2
CHANGES = 8
SHARDS = (1, 2) * 19 + (1, 8)  # eight cost four times as much
_AT_ONCE_SHARE = 0.95  # of the epochs' changes are one transaction; the others are an epoch each
_SET_ASIDE_EACH = 10  # in each n-th seed, jobs that are slow on a busy machine get processes, which cost seconds of CPU
_LOOKED_AT = 0.4  # the share of views that are read after an epoch that is not the last
_AT_ONCE = 12  # views that are made at the same time, and share the epochs of their backfill
_TRIED_AGAIN = 0.1
_TOLD_EACH = 10  # seeds of a long run
_EACH_WITH_TTL = 5  # of the views, each n-th deletes rows by their age, which none reaches
_ENDS_LATE = " WITH (ttl = '1000 days')"
Answer = Counter[tuple[object, ...]]
Run = Callable[[str], Answer]
Postgres = psycopg.Connection[tuple[object, ...]]


@dataclass(slots=True)
class Outcome:
    """What a seed showed: `differences` are texts, `refused` counts why queries were no views."""

    queries: int = 0
    differences: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


class _RetryingRunner(InProcessRunner):
    """Runs some epochs a second time, on what the first has written."""

    def __init__(self, data_dir: Path, random: Random) -> None:
        super().__init__(data_dir)
        self._random = random

    def run(self, descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        report = super().run(descriptor, stages)
        return super().run(descriptor, stages) if self._random.random() < _TRIED_AGAIN else report


@contextmanager
def database(shards: int, random: Random) -> Iterator[Callable[[], Run]]:
    """A fresh database; makes sessions, which run statements and give the rows of the last one."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        opened = Database(Path(directory), parallelism=shards)
        runner = _RetryingRunner(Path(directory), random)
        opened.start(runner)
        runner.start()
        sessions = []

        def new_session() -> Run:
            session = open_session(opened, StartupParameters("root", "dev"))
            sessions.append(session)

            def run(sql: str) -> Answer:
                rows: Answer = Counter()
                try:
                    for statement in session.split(sql):
                        result = session.execute(session.prepare(statement, ()), ())
                        rows.update(tuple(map(_plain, row)) for row in result_rows(_with_texts_of_dates(result)))
                    session.sync()
                except BaseException:
                    session.fail()
                    raise
                return rows

            return run

        yield new_session
        for session in sessions:
            session.close()
        opened.close()


def _with_texts_of_dates(result: Result) -> Result:
    """Python has no dates before Christ, beyond 9999, and none that are infinite."""
    dates = [place for place, field in enumerate(result.fields or ()) if field.type.kind is TypeKind.DATE]
    if not dates:
        return result  # whose rows can be taken once
    batches = []
    for batch in result.batches or ():
        for place in dates:
            batch = batch.set_column(place, str(place), text_column(DATE, batch.column(place)))
        batches.append(batch)
    return replace(result, batches=iter(batches))


def _plain(value: Any) -> object:
    return f"{value:f}" if isinstance(value, Decimal) else str(value) if type(value) is int else value


def by_value(answer: Answer) -> Answer:
    """The answer with 3.00 as 3: which of two equal rows stays, or comes first, is PostgreSQL's choice."""
    rows: Answer = Counter()
    for row, count in answer.items():
        rows[tuple(_shortest(value) for value in row)] += count
    return rows


def _shortest(value: object) -> object:
    return value.rstrip("0").rstrip(".") if isinstance(value, str) and _DECIMAL.fullmatch(value) else value


_CHOOSES_AMONG_EQUALS = re.compile(r"UNION|INTERSECT|EXCEPT|DISTINCT|GROUP BY|OVER")
_DECIMAL = re.compile(r"-?\d+\.\d+")
_LONGEST = "2s"  # of PostgreSQL: a product of products that takes longer is no query for this


@dataclass(slots=True)
class _History:
    """One seed's database beside PostgreSQL's schema."""

    new_session: Callable[[], Run]
    postgres: Postgres
    outcome: Outcome
    statements: list[str] = field(default_factory=list)
    ours: Run = field(init=False)
    sessions: list[Run] = field(init=False)

    def __post_init__(self) -> None:
        self.ours = self.new_session()
        self.sessions = [self.new_session() for _ in range(_AT_ONCE)]

    def both(self, sql: str) -> None:
        self.ours(for_us(sql))
        self.postgres.execute(for_postgres(sql).encode())

    def change(self, changes: Sequence[str], *, at_once: bool) -> None:
        """Runs the changes, in one transaction or each for itself."""
        self.statements += changes
        for statement in ["BEGIN", *changes, "COMMIT"] if at_once else changes:
            self.both(statement)

    def make_views(self, prefix: str, queries: Sequence[str], *, refusals: bool) -> dict[int, str]:
        """A materialized view of each query that is not refused: their names."""
        made: dict[int, str] = {}
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            done = pool.map(
                lambda k: self._made(
                    self.sessions[k % _AT_ONCE], f"{prefix}_{k}{_ENDS_LATE * (k % _EACH_WITH_TTL == 0)}", queries[k]
                ),
                range(len(queries)),
            )
            for k, refused in enumerate(done):
                if refused is None:
                    made[k] = f"{prefix}_{k}"
                elif refused and refusals:
                    self.outcome.refused[refused] += 1
        return made

    def _made(self, run: Run, name: str, sql: str) -> str | None:
        """None, or why there is no view; empty for a defect, which is noted."""
        try:
            run(f"CREATE MATERIALIZED VIEW {name} AS {for_us(sql)}")
        except FeatureNotSupported as error:
            return error.message
        except Exception as error:
            self.outcome.differences.append(
                f"CREATE MATERIALIZED VIEW fails: {type(error).__name__}: {error}\n  {for_us(sql)}"
            )
            return ""
        return None

    def compare(self, queries: Sequence[str], views: dict[int, str], *, select: bool) -> None:
        """Whether the views, and SELECT if asked, give PostgreSQL's answers."""
        for k, sql in enumerate(queries):
            if not select and k not in views:
                continue
            try:
                expected = answer_of(self.postgres, sql)
            except psycopg.Error:  # a value that its expressions do not take: views go on, SELECT need not
                continue
            asked = [("SELECT", for_us(sql))] if select else []
            asked += [(views[k], f"SELECT * FROM {views[k]}")] if k in views else []
            for who, question in asked:
                self._compare(who, question, for_us(sql), expected)

    def _compare(self, who: str, question: str, sql: str, expected: Answer) -> None:
        try:
            got = self.ours(question)
        except Exception as error:
            self.outcome.differences.append(f"{who} fails: {type(error).__name__}: {error}\n  {sql}")
            return
        if got != expected and _CHOOSES_AMONG_EQUALS.search(sql):
            got, expected = by_value(got), by_value(expected)
        if got != expected:
            missing, extra = expected - got, got - expected
            text = f"{who}: missing {dict(missing)}, extra {dict(extra)}\n  {sql}\n  after "
            self.outcome.differences.append(text + "; ".join(self.statements))


def answer_of(postgres: Postgres, sql: str) -> Answer:
    """PostgreSQL's."""
    rows = postgres.execute(for_postgres(sql).encode()).fetchall()
    return Counter(tuple(map(_plain, row)) for row in rows)


def fresh_schema(postgres: Postgres) -> None:
    """An empty schema, in which the session's tables are from now on."""
    postgres.execute("DROP SCHEMA IF EXISTS fuzz CASCADE")
    postgres.execute("CREATE SCHEMA fuzz")
    postgres.execute("SET search_path = fuzz")
    postgres.execute(f"SET statement_timeout = '{_LONGEST}'")
    postgres.adapters.register_loader("date", TextLoader)


def run_seed(seed: int, postgres: Postgres, asked: int = QUERIES) -> Outcome:
    """Plays one seed's history, with so many queries."""
    generator = Generator(seed)
    outcome = Outcome()
    fresh_schema(postgres)
    with database(SHARDS[seed % len(SHARDS)], Random(seed)) as new_session:
        history = _History(new_session, postgres, outcome)
        if seed % _SET_ASIDE_EACH:
            history.ours("ALTER SYSTEM SET job_epoch_ms = 60000")
        for statement in SCHEMA:
            history.both(statement)
        _make_shared_views(history, generator)
        queries = [sql for sql in (generator.query().sql for _ in range(asked)) if _is_valid(postgres, sql)]
        early = history.make_views("early", queries, refusals=True)
        for epoch in range(EPOCHS):
            changes = [generator.change() for _ in range(CHANGES)]
            history.change(changes, at_once=generator.random.random() < _AT_ONCE_SHARE)
            is_last = epoch == EPOCHS - 1
            some = {k: view for k, view in early.items() if is_last or generator.random.random() < _LOOKED_AT}
            history.compare(queries, some, select=is_last)
        late = history.make_views("late", [sql for k, sql in enumerate(queries) if k in early], refusals=False)
        history.compare([sql for k, sql in enumerate(queries) if k in early], late, select=False)
        outcome.queries = len(queries)
    return outcome


def _make_shared_views(history: _History, generator: Generator) -> None:
    generator.add_views()
    for name, view in list(generator.views.items()):
        if not _is_valid(history.postgres, view.sql):
            del generator.views[name]
            continue
        history.postgres.execute(f"CREATE VIEW {name} AS {for_postgres(view.sql)}".encode())
        try:
            history.ours(f"CREATE MATERIALIZED VIEW {name} AS {for_us(view.sql)}")
        except SqlError as error:
            history.outcome.differences.append(f"CREATE MATERIALIZED VIEW fails: {error}\n  {for_us(view.sql)}")
            del generator.views[name]


def _is_valid(postgres: Postgres, sql: str) -> bool:
    try:
        postgres.execute(for_postgres(sql).encode())
    except psycopg.Error:
        return False
    return True


def main(arguments: list[str]) -> None:
    sys.setswitchinterval(0.02)  # seconds: a dozen threads that make views hand the lock around, a tenth of the time
    gc.disable()  # collections are a tenth of the time, and each seed's database leaves its garbage at its end
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())  # after the seed: an exception would be DuckDB's to swallow
    first, count = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 1
    queries, refused, bad = 0, Counter[str](), 0
    seed = first
    try:
        with postgres_server() as server, server.connect() as postgres:
            while seed < first + count and not ended.is_set():
                outcome = run_seed(seed, postgres)
                gc.collect()
                seed += 1
                queries += outcome.queries
                refused += outcome.refused
                bad += bool(outcome.differences)
                shortest = min(outcome.differences, key=len, default=None)
                if shortest is not None:
                    number = len(outcome.differences)
                    print(f"seed {seed - 1}: {number} differences, the shortest:\n{shortest}\n", flush=True)
                if (seed - first) % _TOLD_EACH == 0:
                    print(f"{seed - first} seeds, {queries} queries, {bad} seeds with differences", flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        summary = f"{seed - first} seeds, {queries} queries, {bad} seeds with differences"
        print(f"{summary}; refused as views: {dict(refused)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""The process that runs users' functions: `python -m risingpy.functions.python.worker BYTES [confined]`.

Takes messages from its input and answers on its output until its input ends. Its memory is limited by RLIMIT_AS to
BYTES more than it has at the start, and walls keep a confined one from everything else (`walls/`). A call that takes
longer than its header says is interrupted by a signal. What the functions print goes to the standard error.
"""

from __future__ import annotations

import decimal
import os
import resource
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute

from risingpy.errors import SqlError
from risingpy.functions.python.aggregation import aggregation
from risingpy.functions.python.definition import RoutineKind, definition_of
from risingpy.functions.python.messages import BUILTIN, WALLS, Header, read_message, write_message
from risingpy.functions.python.routine import RoutineError, TookTooLong, column_function, failure
from risingpy.functions.python.walls import Wall, is_filling, raise_walls
from risingpy.memory_guard import lift_limit
from risingpy.statement_limits import StatementLimits, working_for

_PAGE = resource.getpagesize()
_NO_LIMIT = 1 << 62  # the process has its own
_DIGITS = 100  # of what functions compute with Decimals: any numeric has fewer


def answer(
    header: Header, batches: Sequence[pa.RecordBatch], walls: Sequence[Wall] = ()
) -> tuple[Header, list[pa.RecordBatch]]:
    """The answer to one message: what its "do" says, or the error."""
    if header["do"] == WALLS:
        return {"walls": [[wall.name, wall.stands, wall.how] for wall in walls]}, []
    text, seconds = header["definition"], header["seconds"]

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLong(seconds)

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return _done(header, text, batches)
    except RoutineError as error:
        return {"error": error.message, "kind": error.kind}, []
    except BaseException as error:
        found = failure(definition_of(text), error, "")
        return {"error": found.message, "kind": found.kind}, []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _done(header: Header, text: str, batches: Sequence[pa.RecordBatch]) -> tuple[Header, list[pa.RecordBatch]]:
    match header["do"]:
        case "check" if definition_of(text).kind is RoutineKind.AGGREGATE:
            return {"retracts": aggregation(text).retracts}, []
        case "check":
            column_function(text)
            return {"retracts": False}, []
        case "call":
            rows, *columns = batches[0].columns
            return {}, [pa.record_batch([column_function(text)(columns, len(rows))], names=["value"])]
        case str(do) if do.startswith(BUILTIN):
            return _builtin(do.removeprefix(BUILTIN), batches[0].columns)
        case "fold":
            sizes, rows = batches
            column, errors = aggregation(text).fold(sizes.column(0), rows.columns[1:], tolerant=header["tolerant"])
            return {"errors": errors}, [pa.record_batch([column], names=["value"])]
        case "change":
            codes, signs, *columns = batches[1].columns
            states, results, errors = aggregation(text).change(batches[0].column(0), codes, signs, columns)
            return {"errors": errors}, [pa.record_batch([states, *results], names=["state", "old", "new"])]
    raise RoutineError(f"unknown request {header['do']}")


def _builtin(name: str, columns: Sequence[pa.Array]) -> tuple[Header, list[pa.RecordBatch]]:
    # A topic calls workers, so it imports this package. Most workers run users' functions, and never load ours.
    from risingpy.functions.topics import FUNCTIONS  # noqa: PLC0415

    try:
        with working_for(StatementLimits(_NO_LIMIT, alone=True)):
            return {}, [pa.record_batch([FUNCTIONS[name].compute(*columns)], names=["value"])]
    except SqlError as error:
        return {"error": error.message, "sqlstate": error.sqlstate}, []


def limit_memory(more: int) -> None:
    """Lets the process take `more` bytes than it has now."""
    with open("/proc/self/statm") as statm:
        size = int(statm.read().split()[0]) * _PAGE
    lift_limit()  # the server's: this process has its own
    resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))


def main() -> None:
    """Answers messages until the input ends; the process ends with status 1 when nobody reads the answers.

    The answers go to the former standard output, which from then on is the standard error: a print of a user's function
    must not get between them.
    """
    requests: BinaryIO = os.fdopen(os.dup(0), "rb")
    answers: BinaryIO = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what functions print must not get between the answers
    limit_memory(int(sys.argv[1]))
    walls = raise_walls() if sys.argv[2:] == ["confined"] else ()
    decimal.getcontext().prec = decimal.DefaultContext.prec = _DIGITS

    def read(size: int) -> bytes:
        data = requests.read(size)
        if len(data) < size:
            raise EOFError
        return data

    while True:
        try:
            header, batches = read_message(read)
        except EOFError:
            return
        answered, columns = answer(header, batches, walls)
        # A thread that goes on would work beside another function, perhaps another user's.
        worn = threading.active_count() > 1 or is_filling(walls)
        try:
            write_message(answers, {**answered, "call": header["call"], "worn": worn}, columns)
        except BrokenPipeError:  # nobody waits for it: the server has ended, or has given this call up
            os._exit(1)


if __name__ == "__main__":
    main()

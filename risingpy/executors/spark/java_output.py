"""Reads what Java and the Python processes that it starts print, and writes it to the server's log.

Spark prints a stack trace whenever one of its processes ends early: at every stop, when a task is dismissed, or when a
worker was killed and its task is tried again. But an operator must be able to trust that a stack trace in the log means
a defect. So `JavaOutput` joins lines to records. A record that only says that a process ended early becomes one line
without its trace; while the server stops, it goes to the debug level. Any other record stays as it was printed.
"""

from __future__ import annotations

import logging
import re
import select
import threading
from collections.abc import Callable, Iterator
from typing import IO

LOG = logging.getLogger("risingpy.spark")

PAUSE_SECONDS = 0.3  # a record is complete if no further line comes for so long
LONGEST_RECORD = 2_000  # lines; longer records are logged in pieces
LONGEST_LINE = 4_000  # characters

_LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING, "ERROR": logging.ERROR}
_OF_LOG4J = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
_TRACEBACK = "Traceback (most recent call last):"
_GOES_ON = re.compile(
    r"\s|$|Caused by: |Suppressed: |During handling of the above|The above exception was|Driver stacktrace:"
)
_EXCEPTION = re.compile(r"[\w.$]*(Error|Exception|Exit|Interrupt)\b(?! in thread)")
_PYTHON_FILE = re.compile(r'^\s*File "([^"]+)"', re.MULTILINE)
_PYTHON_ERROR = re.compile(r"^([\w.]+)(?::|$)", re.MULTILINE)
# The other side of a pipe or a socket is gone.
_HUNG_UP = frozenset({"BrokenPipeError", "ConnectionResetError", "EOFError", "ConnectionRefusedError"})
# Java's errors when a Python process was killed. If its code fails, Java has a PythonException instead.
_WORKER_GONE = re.compile(
    r"SparkException: Python worker (exited unexpectedly|failed to connect back)"
    r"|^java\.io\.(EOFException|IOException: (Stream closed|Broken pipe|Connection reset.*))\n"
    r"(?=(\tat .*\n)*\tat org\.apache\.spark\.[\w.]*python\.)",
    re.MULTILINE,
)
_JAVA_STACK = re.compile(r"\n\s*(?:at [\w.$]+|Driver stacktrace:|=== Streaming Query ===)")
_CHATTER = re.compile(
    r"WARNING: Using incubator modules|Using Spark's default log4j|Setting (default|Spark) log level|To adjust logging"
    r"|.*NativeCodeLoader|.*WARN Utils: (Your hostname|Set SPARK_LOCAL_IP|Service )"
    r"|PySpark daemon failed to flush the output"
    r"|.*ERROR DataWritingSparkTask: Abort(ing|ed) commit"  # another record, before it, says why
)


class JavaOutput:
    """Reads the pipe to its end, in its own thread: Java would block on a full pipe that nobody reads."""

    def __init__(self, pipe: IO[bytes], tell: Callable[[int, str], None] = LOG.log) -> None:
        self._pipe = pipe
        self._tell = tell
        self._ending = False
        threading.Thread(target=self._read, name="spark-output", daemon=True).start()

    def end_is_expected(self) -> None:
        """From now on, processes end because the server stops them."""
        self._ending = True

    def _read(self) -> None:
        for record in records(self._pipe):
            try:
                told = sorted_out(record, ending=self._ending)
            except Exception:
                LOG.exception("what Spark printed could not be read")
                told = logging.ERROR, "\n".join(record)
            if told is not None:
                self._tell(*told)


def records(pipe: IO[bytes]) -> Iterator[list[str]]:
    """The records of the output: a record is a message and its stack trace, with those of its causes."""
    record: list[str] = []
    for line in _lines(pipe):
        if record and (line is None or len(record) >= LONGEST_RECORD or not _belongs(line, record)):
            yield record
            record = []
        if line is not None and (record or line.strip()):
            record.append(line)
    if record:
        yield record


def sorted_out(record: list[str], *, ending: bool) -> tuple[int, str] | None:
    """The level and text with which a record is logged; None if it is not."""
    text = "\n".join(record).rstrip()
    has_trace = len(record) > 1
    if _CHATTER.match(text) and (not has_trace or is_hang_up(text)):
        return logging.DEBUG, text
    if has_trace and is_hang_up(text):
        return logging.DEBUG, text
    is_ours = any("/risingpy/" in path for path in _PYTHON_FILE.findall(text))
    if ending and not is_ours:
        return logging.DEBUG, text
    if has_trace and not is_ours and _WORKER_GONE.search(text):
        what = _message(record[0])
        return logging.WARNING, f"a process of Spark's ended before it was done, its work is done again: {what}"
    return _level(record[0], has_trace=has_trace), text


def without_java_stack(text: str) -> str:
    """What an error of Spark's says, with Python's traceback if it has one, and without where Java was."""
    return _JAVA_STACK.split(text, 1)[0].rstrip()


def is_hang_up(text: str) -> bool:
    """Whether a text only says that PySpark wrote to, or read from, a process that had ended."""
    if _TRACEBACK not in text:
        return False
    after = text[text.index(_TRACEBACK) :]
    if "[CANNOT_OPEN_SOCKET]" in after:  # on a busy machine it connects too late: Java has given it up, and says so
        return not any("/risingpy/" in path for path in _PYTHON_FILE.findall(after))
    errors = [line.split(":", 1)[0] for line in after.splitlines() if line[:1].isalpha() and _is_error(line)]
    files = _PYTHON_FILE.findall(after)
    return bool(errors) and set(errors) <= _HUNG_UP and not any("/risingpy/" in path for path in files)


def _is_error(line: str) -> bool:
    found = _PYTHON_ERROR.match(line)
    return found is not None and not line.startswith(("Traceback", "During", "The above"))


def _level(first: str, *, has_trace: bool) -> int:
    found = _OF_LOG4J.match(first)
    if found:
        return _LEVELS.get(found[1], logging.ERROR)
    return logging.ERROR if has_trace else logging.INFO


def _message(first: str) -> str:
    """A line of Log4j without its time and level."""
    return _OF_LOG4J.sub("", first)


def _belongs(line: str, record: list[str]) -> bool:
    if _OF_LOG4J.match(line):
        return False
    if line.startswith(_TRACEBACK):  # that of a cause, or of the message before it; otherwise a new record
        return record[-1].endswith(":") or not record[-1].strip() or len(record) == 1
    if _EXCEPTION.match(line):  # the last line of a traceback, or the error of a Log4j message
        ends_traceback = record[-1][:1].isspace() and any(_TRACEBACK in each for each in record)
        return ends_traceback or (len(record) == 1 and _OF_LOG4J.match(record[0]) is not None)
    return _GOES_ON.match(line) is not None


def _lines(pipe: IO[bytes]) -> Iterator[str | None]:
    """The lines, and None where no further line comes for PAUSE_SECONDS."""
    poller, rest = select.poll(), b""
    poller.register(pipe, select.POLLIN)
    has_told = True
    while True:
        if not poller.poll(None if has_told else PAUSE_SECONDS * 1000):
            has_told = True
            yield None
            continue
        data = pipe.read1(1 << 16)  # type: ignore[attr-defined]
        if not data:
            break
        *whole, rest = (rest + data).split(b"\n")
        rest = rest[-LONGEST_LINE:]
        for line in whole:
            has_told = False
            yield line.decode(errors="replace")[:LONGEST_LINE]
    if rest:
        yield rest.decode(errors="replace")

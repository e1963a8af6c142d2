"""The log gets every defect from the output of Spark's processes, and nothing that only looks like one."""

from __future__ import annotations

import logging
import os
import time

from risingpy.executors.spark.java_output import JavaOutput, records, sorted_out, without_java_stack

SURVIVED_KILL = """\
26/11/22 18:37:59 ERROR Utils: Aborting task
org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting …
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator$$anonfun$1.applyOrElse(PythonRunner.scala:1136)
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)
\t... 33 more
"""
KILLED_SOURCE = """\
26/11/22 18:40:40 ERROR AsyncProgressTrackingMicroBatchExecution: Query wide-1 terminated with error
java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)
\tat org.apache.spark.sql.execution.python.streaming.PythonStreamingSourceRunner.latestOffset(P.scala:235)
\tat org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution.x(MicroBatchExecution.scala:1072)
"""
HUNG_UP = """\
Traceback (most recent call last):
  File "/x/site-packages/pyspark/python/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager
  File "/x/site-packages/pyspark/python/lib/pyspark.zip/pyspark/daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe
"""
TOO_LATE = """\
Traceback (most recent call last):
  File "/x/pyspark.zip/pyspark/util.py", line 822, in local_connect_and_auth
FileNotFoundError: [Errno 2] No such file or directory

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/x/pyspark.zip/pyspark/util.py", line 828, in local_connect_and_auth
pyspark.errors.exceptions.base.PySparkRuntimeError: [CANNOT_OPEN_SOCKET] Can not open socket: tried to connect to /tmp/x
"""
FLUSH = f"PySpark daemon failed to flush the output to the worker process:\n{HUNG_UP}"
CHAINED_HANG_UP = f"{HUNG_UP}\nDuring handling of the above exception, another exception occurred:\n\n{HUNG_UP}"
DEFECT_OF_OURS = """\
26/11/22 18:37:59 ERROR Executor: Exception in task 0.0 in stage 1.0 (TID 2)
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/work/risingpy/executors/spark/stage_task.py", line 60, in run_epochs
    client.report(epoch, report)
ValueError: something is wrong
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
"""
OUR_BROKEN_PIPE = HUNG_UP.replace("pyspark/daemon.py", "x.py").replace("/x/site", "/work/risingpy/site")
DEFECT_OF_SPARKS = """\
Exception in thread "main" java.lang.NullPointerException: x
\tat org.apache.spark.Something.run(Something.scala:1)
"""
KEY_ERROR = HUNG_UP.replace("BrokenPipeError: [Errno 32] Broken pipe", "KeyError: 'x'")


def told(*texts: str, ending: bool = False) -> list[tuple[int, str]]:
    """What the log has of texts that are printed one after the other, above debug."""
    reading, writing = os.pipe()
    with open(writing, "wb") as pipe:
        pipe.write("".join(texts).encode())
    with open(reading, "rb") as pipe:
        found = [sorted_out(record, ending=ending) for record in records(pipe)]
    return [each for each in found if each is not None and each[0] > logging.DEBUG]


def test_what_is_survived_has_no_trace() -> None:
    ((level, text),) = told(SURVIVED_KILL)
    assert level == logging.WARNING
    assert text.endswith("its work is done again: Utils: Aborting task")
    assert "\n" not in text and "Exception" not in text
    refused = "org.apache.spark.SparkException: Python worker failed to connect back."
    gave_up = KILLED_SOURCE.replace("java.io.EOFException", refused)
    assert [level for level, _ in told(gave_up)] == [logging.WARNING]
    ((level, text),) = told(KILLED_SOURCE)
    assert level == logging.WARNING and "\n" not in text
    elsewhere = KILLED_SOURCE.replace("python", "something")  # a file that is cut is a defect
    assert told(elsewhere) == [(logging.ERROR, elsewhere.rstrip("\n"))]


def test_whoever_hangs_up_is_no_defect() -> None:
    assert told(HUNG_UP) == told(FLUSH) == told(CHAINED_HANG_UP) == told(HUNG_UP, HUNG_UP, FLUSH) == []
    assert told(TOO_LATE) == []


def test_a_defect_is_told_as_it_was_printed() -> None:
    for defect in (DEFECT_OF_OURS, OUR_BROKEN_PIPE, DEFECT_OF_SPARKS, KEY_ERROR):
        assert told(defect) == [(logging.ERROR, defect.rstrip("\n"))]
        # Also between those that are none.
        mixed = told(HUNG_UP, SURVIVED_KILL, defect, HUNG_UP)
        assert (logging.ERROR, defect.rstrip("\n")) in mixed and len(mixed) == 2


def test_while_the_server_stops_only_our_own_tracebacks_are_told() -> None:
    assert told(SURVIVED_KILL, DEFECT_OF_SPARKS, HUNG_UP, ending=True) == []
    assert told(DEFECT_OF_OURS, ending=True) == [(logging.ERROR, DEFECT_OF_OURS.rstrip("\n"))]


def test_chatter_and_messages() -> None:
    chatter = 'WARNING: Using incubator modules: jdk.incubator.vector\nSetting Spark log level to "ERROR".\n'
    assert told(chatter, "26/11/22 18:36:57 WARN NativeCodeLoader: Unable to load native-hadoop library …\n") == []
    assert told("26/11/22 18:36:57 WARN Other: low on memory\n") == [
        (logging.WARNING, "26/11/22 18:36:57 WARN Other: low on memory")
    ]
    assert told("printed by a function\n") == [(logging.INFO, "printed by a function")]


def test_a_record_is_told_soon_though_nothing_follows() -> None:
    reading, writing = os.pipe()
    heard: list[tuple[int, str]] = []
    pipe = open(reading, "rb")  # noqa: SIM115 - the thread reads it to its end
    output = JavaOutput(pipe, lambda level, text: heard.append((level, text)))
    os.write(writing, DEFECT_OF_SPARKS.encode())
    end = time.monotonic() + 10
    while not heard and time.monotonic() < end:
        time.sleep(0.02)
    assert heard == [(logging.ERROR, DEFECT_OF_SPARKS.rstrip("\n"))]
    output.end_is_expected()
    os.write(writing, b"x" * 100_000 + b"\n" + DEFECT_OF_SPARKS.encode())
    os.close(writing)


def test_what_an_error_says_without_where_java_was() -> None:
    killed = "Job aborted: Task 0 failed 4 times: SparkException: Python worker exited unexpectedly"
    stack = "\n\tat org.apache.spark.X.y(Z.scala:1)\nCaused by: java.io.EOFException\n\t... 33 more"
    query = "\n\nDriver stacktrace:\n=== Streaming Query ===\nIdentifier: n"
    assert without_java_stack(killed + stack + query) == killed
    ours = (
        'PythonException: Traceback (most recent call last):\n  File "/x/risingpy/a.py", line 1, in f\nValueError: no'
    )
    assert without_java_stack(f"{ours}\n{stack}") == ours
    assert without_java_stack("the disk is full") == "the disk is full"

"""A relation's rows in a notebook, shown anew when they change."""

from __future__ import annotations

import contextlib
import threading
from html import escape
from importlib import import_module
from typing import Any, Protocol

from risingpy.client.statement_result import StatementResult
from risingpy.errors import SqlError


class _Watched(Protocol):
    def __iter__(self) -> Any: ...

    def close(self) -> None: ...


class _Session(Protocol):
    def sql(self, text: str) -> StatementResult: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class LiveResult:
    """The newest answer to a query. It is asked again after changes, at most once in so many seconds.

    As the value of a notebook's cell it shows itself, and goes on changing there until `close`. `result` is the newest
    answer; `wait` waits for one after it. After an error, which `error` holds, nothing is asked any more.
    """

    def __init__(self, changes: _Watched, session: _Session, text: str, first: StatementResult, seconds: float) -> None:
        """Closes `changes` and `session` in the end. `first` was asked for when `changes` had begun."""
        self.result = first
        self.error: SqlError | None = None
        self._changes = changes
        self._session = session
        self._text = text
        self._seconds = seconds
        self._changed = threading.Event()
        self._ended = threading.Event()
        self._answered = threading.Condition()
        self._is_new = False
        self._showing = threading.Lock()  # no older picture takes the place of a newer one
        self._shown: list[Any] = []
        self._threads = [
            threading.Thread(target=each, name="risingpy watch", daemon=True) for each in (self._listen, self._ask)
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, timeout: float | None = None) -> StatementResult | None:
        """The newest answer that no `wait` has given yet; None when `timeout` seconds are over, or the end has come."""
        with self._answered:
            self._answered.wait_for(lambda: self._is_new or self._ended.is_set(), timeout)
            is_new, self._is_new = self._is_new, False
            return self.result if is_new else None

    def close(self) -> None:
        """Stops asking; what is shown stays. A second call does nothing."""
        self._end()
        if threading.current_thread() not in self._threads:
            for thread in self._threads:
                thread.join()
        self._session.close()

    def __enter__(self) -> LiveResult:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.result)

    def _repr_html_(self) -> str:
        problem = f"<pre>{escape(str(self.error))}</pre>" if self.error is not None else ""
        return self.result._repr_html_() + problem

    def _ipython_display_(self) -> None:
        """Shows it in the cell that runs, where IPython calls this; every answer then takes the place of the last."""
        with self._showing:
            shown = import_module("IPython.display").display(_Picture(self), display_id=True)
            if shown is not None:  # None outside of a notebook
                self._shown.append(shown)

    def _listen(self) -> None:
        try:
            for _ in self._changes:
                self._changed.set()
        except SqlError as error:
            self._fail(error)

    def _ask(self) -> None:
        while not self._ended.is_set():
            self._changed.wait()
            if self._ended.is_set():
                return
            # What changes from here on is asked for the next time.
            self._changed.clear()
            try:
                answer = self._session.sql(self._text)
            except SqlError as error:
                self._fail(error)
                return
            self._take(answer)
            self._ended.wait(self._seconds)

    def _take(self, answer: StatementResult) -> None:
        with self._answered:
            self.result = answer
            self._is_new = True
            self._answered.notify_all()
        self._show()

    def _show(self) -> None:
        with self._showing:
            for handle in self._shown:
                with contextlib.suppress(RuntimeError):  # the notebook's kernel is ending
                    handle.update(_Picture(self))

    def _fail(self, error: SqlError) -> None:
        if not self._ended.is_set():
            self.error = error
            self._end()
            self._show()

    def _end(self) -> None:
        self._ended.set()
        self._changed.set()
        self._changes.close()
        self._session.cancel()
        with self._answered:
            self._answered.notify_all()


class _Picture:
    """What IPython shows of it: were it the LiveResult itself, `update` would show that anew, and not in its place."""

    def __init__(self, live: LiveResult) -> None:
        self._repr_html = live._repr_html_()
        self._repr = repr(live)

    def _repr_html_(self) -> str:
        return self._repr_html

    def __repr__(self) -> str:
        return self._repr

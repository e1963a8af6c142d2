"""The server's log: lines of text or of JSON, on standard error or in a file that is rotated.

A record may carry `facts` (`extra={"facts": {…}}`): in JSON they are fields of their own, and the text has them in its
message.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

LARGEST_FILE = 64 << 20  # bytes; then the file becomes FILE.1, that one FILE.2, and so on
KEPT_FILES = 5
_TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def start_logging(level: str, form: str, file: Path | None) -> None:
    """Sets the log of this process up. `form` is "text" or "json". Raises OSError if the file cannot be written."""
    handler: logging.Handler
    if file is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        handler = _PrivateFiles(file, maxBytes=LARGEST_FILE, backupCount=KEPT_FILES, encoding="utf-8")
    handler.setFormatter(JsonLines() if form == "json" else logging.Formatter(_TEXT))
    handler.addFilter(_is_no_end_of_java)
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.getLogger("py4j").setLevel(logging.WARNING)


class _PrivateFiles(RotatingFileHandler):
    """Files that only their owner may read: statements stand in them, and addresses of clients."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)  # also one that is there already
        return TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding, errors=self.errors)


def _is_no_end_of_java(record: logging.LogRecord) -> bool:
    """Leaves out, above the debug level, what py4j says on the root logger, with a traceback, if Java ends in a call.

    Whoever made the call gets the error.
    """
    return record.name != "root" or "py4j" not in record.pathname or logging.getLogger().isEnabledFor(logging.DEBUG)


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time (UTC), level, logger, thread, message, the record's facts, exception."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "thread": record.threadName,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False, default=str)

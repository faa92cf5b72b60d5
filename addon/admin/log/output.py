"""The output of the proxy: its request log, and what it says to people."""

import os
import sys
from pathlib import Path
from typing import TextIO

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.log.formats import LogFormat, log_format
from bestbefore.addon.admin.log.requests import RequestLog
from bestbefore.addon.admin.log.writer import Writer


class Output:
    """The log of requests, in a file or on standard output, and texts for people. Must be closed."""

    def __init__(self, name: str, file: Path | None, *, keep_query: bool, quiet: bool, heading: bool = True) -> None:
        """`name`: the log format, or a template. `quiet`: nothing is logged on standard output. Raises OSError.

        `heading`: lines on a terminal have a heading.
        """
        self._file = None if file is None else _opened(file)
        self._path = file
        stream = text_stream(name, file)
        stream.flush()
        self._texts = Writer(stream)
        self._lines = self._texts
        self._log: RequestLog | None = None
        self._format: LogFormat | None = None
        if quiet and self._file is None:
            return
        out = self._file or sys.stdout
        if out is not stream:
            out.flush()
            self._lines = Writer(out)
        if name == "line":
            self._log = RequestLog(out, self._lines, heading=heading)
        else:
            self._format = log_format(name, keep_query=keep_query)

    def add(self, answered: Answered) -> None:
        """Log a request. Never raises and never waits."""
        if self._log is not None:
            self._log.add(answered)
        elif self._format is not None and (line := self._format(answered)):
            self._lines.write(line + "\n")

    def say(self, text: str) -> None:
        """Write a text for people, which must end in a newline."""
        self._texts.write(text)

    def reopen(self) -> None:
        """Continue in a new log file of the same name, after the old one was renamed."""
        if self._path is not None:
            self._lines.reopen(self._path)

    def close(self) -> None:
        """Write what is pending."""
        self._lines.close()
        if self._texts is not self._lines:
            self._texts.close()
        if self._file is not None:
            self._file.close()


def text_stream(name: str, file: Path | None) -> TextIO:
    """Return the stream for texts: standard output, unless programs read the log there."""
    return sys.stdout if name == "line" or file is not None else sys.stderr


def _opened(file: Path) -> TextIO:
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640), "a")

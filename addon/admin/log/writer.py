"""A writer to a terminal, pipe or file in a separate thread, so that a slow reader blocks no request.

A terminal may be stopped (Ctrl-S), an ssh connection dead, a pipe full, or a disk slow. A write to any of these may
block for hours, and must not block the proxy.
"""

import logging
import os
import queue
import threading
from pathlib import Path
from typing import TextIO

QUEUE_LIMIT = 10_000
"""How many texts may be pending; beyond that they are dropped, and counted."""

_logger = logging.getLogger(__name__)


class Writer:
    """A queue of texts for a stream. Must be closed."""

    def __init__(self, stream: TextIO) -> None:
        """`stream` must have a file descriptor. Its own buffer is bypassed, so it must be flushed before."""
        # Its buffer has a lock: a thread that blocks while holding the lock would block the end of the process too.
        self._descriptor = stream.fileno()
        self._queue: queue.SimpleQueue[str | Path | None] = queue.SimpleQueue()
        self._left_out = 0
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Queue a text, which must end in a newline; drop it if too many are pending."""
        if self._queue.qsize() >= QUEUE_LIMIT:
            self._left_out += 1
            return
        self._report_dropped()
        self._queue.put(text)

    def reopen(self, path: Path) -> None:
        """Write what follows to the file at a path, which is created if necessary."""
        self._queue.put(path)

    def close(self, patience_s: float = 1.0) -> None:
        """Write pending texts, for at most `patience_s` real seconds."""
        self._report_dropped()
        self._queue.put(None)
        self._thread.join(patience_s)

    def _report_dropped(self) -> None:
        if self._left_out:
            self._queue.put(f"... {self._left_out} lines left out: they were not taken fast enough\n")
            self._left_out = 0

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            if isinstance(item, Path):
                self._reopen(item)
            else:
                self._write_all(item.encode("utf-8", "backslashreplace"))

    def _reopen(self, path: Path) -> None:
        try:
            opened = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        except OSError as error:
            _logger.warning("%s cannot be opened: %s; the old log file is continued", path, error.strerror)
            return
        os.dup2(opened, self._descriptor, inheritable=False)
        os.close(opened)

    def _write_all(self, data: bytes) -> None:
        """Write all data. Log only the first of consecutive failures: a full disk may have room later."""
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            self._failing = False
        except OSError as error:
            if not self._failing:
                _logger.warning("the request log cannot be written: %s", error.strerror)
            self._failing = True

"""A writer to a terminal, pipe or file in a thread of its own, so that a slow reader blocks no request.

A terminal may be stopped (Ctrl-S), an ssh connection dead, a pipe full, a disk slow. A write to any of these waits,
perhaps for hours, and a proxy that waited with it would be down.
"""

import logging
import os
import queue
import threading
from typing import TextIO

QUEUE_LIMIT = 10_000
"""How many texts may wait to be written; beyond that they are left out, and counted."""

_logger = logging.getLogger(__name__)


class Writer:
    """A queue of texts on their way to a stream. Must be closed at the end."""

    def __init__(self, stream: TextIO) -> None:
        """`stream` must be a file of the system's; it is written to below its own buffer, so flush that before."""
        # Its buffer has a lock: a thread that waits while holding it would hold up the end of the process too.
        self._descriptor = stream.fileno()
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._left_out = 0
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Write this text, which ends in a newline, soon; or leave it out, if too much is waiting."""
        if self._queue.qsize() >= QUEUE_LIMIT:
            self._left_out += 1
            return
        self._own_up()
        self._queue.put(text)

    def close(self, patience_s: float = 1.0) -> None:
        """Write what is waiting, as far as the reader takes it within this many real seconds."""
        self._own_up()
        self._queue.put(None)
        self._thread.join(patience_s)

    def _own_up(self) -> None:
        if self._left_out:
            self._queue.put(f"... {self._left_out} lines left out: they were not taken fast enough\n")
            self._left_out = 0

    def _run(self) -> None:
        while (text := self._queue.get()) is not None:
            self._write_all(text.encode("utf-8", "backslashreplace"))

    def _write_all(self, data: bytes) -> None:
        """Said once for each time that it begins to fail: a full disk may have room again."""
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            self._failing = False
        except OSError as error:
            if not self._failing:
                _logger.warning("the request log cannot be written: %s", error.strerror)
            self._failing = True

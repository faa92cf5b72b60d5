"""Messages about conditions, logged once when a condition begins and once when it ends."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger("bestbefore.store")


class Notices:
    """The active conditions."""

    def __init__(self) -> None:
        self._active: set[str] = set()
        self.muted = False
        """Whether nothing is logged: another process on the same store does."""

    def begin(self, condition: str, message: str) -> None:
        """Begin a condition: log the message, unless the condition is active already."""
        if condition not in self._active:
            self._active.add(condition)
            self._log(message)

    def end(self, condition: str, message: str) -> None:
        """End a condition: log the message if the condition was active."""
        if condition in self._active:
            self._active.remove(condition)
            self._log(message)

    def _log(self, message: str) -> None:
        if not self.muted:
            log.warning("%s", message)

    def active(self) -> frozenset[str]:
        return frozenset(self._active)


@contextmanager
def silenced() -> Iterator[None]:
    """Log no warnings of the store: its caller reports errors itself."""
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)

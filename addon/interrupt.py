"""SIGINT while modules are imported."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

INTERRUPTED = 130
"""The exit status after SIGINT, as a shell gives it."""


@contextmanager
def importing() -> Iterator[None]:
    """End the process at once at SIGINT, while modules are imported.

    KeyboardInterrupt is lost where it comes in a callback of a weak reference, as imports have many: a traceback is
    printed and the command goes on. A handler that is not Python's own is left alone, as is SIGINT in other threads.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    with suppress(ValueError):
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        with suppress(ValueError):
            signal.signal(signal.SIGINT, before)

"""The progress of a replay, as it is shown to the user."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

Watch = Callable[[Iterator[Any]], Iterable[Any]]
"""Passes items on and sees how many have passed."""
Bar = Callable[[str, int], AbstractContextManager[Watch]]
"""Given what is done and with how many items, watches them while the context lasts."""


@contextmanager
def no_bar(_description: str, _total: int) -> Iterator[Watch]:
    """Show no progress."""
    yield iter

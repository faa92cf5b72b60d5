"""The types of progress bars, which the commands provide."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

Watch = Callable[[Iterator[Any]], Iterable[Any]]
"""Iterates over the items of an iterator and counts them."""
Bar = Callable[[str, int], AbstractContextManager[Watch]]
"""Opens a progress bar, from a description and the number of items."""


@contextmanager
def no_bar(_description: str, _total: int) -> Iterator[Watch]:
    """Show no progress."""
    yield iter

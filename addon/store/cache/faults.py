"""Faults of single things: counted by kind, and logged in one line a minute for each kind."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from bestbefore.addon.store.backend.interface import UnavailableError, UnwritableError
from bestbefore.addon.store.cache.notices import log

SILENT_S = 60.0
"""For so long after a line about a kind further ones of that kind are only counted."""
SHOWN_CHARACTERS = 200
"""Of what a line is about, at most."""


class Faults:
    """Counts what was set aside or found damaged."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds since some fixed moment."""
        self._monotonic = monotonic
        self._counts: dict[str, int] = {}
        self._said: dict[str, tuple[float, int]] = {}
        """By kind: when the last line was, and the count then."""

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of faults of each kind."""
        return dict(self._counts)

    def add(self, kind: str, message: str, *, error: BaseException | None = None) -> None:
        """Count a fault; `error` is logged with its traceback, as a bug."""
        n = self._counts[kind] = self._counts.get(kind, 0) + 1
        now_s = self._monotonic()
        said_s, said = self._said.get(kind, (-SILENT_S, 0))
        if now_s - said_s < SILENT_S:
            return
        self._said[kind] = now_s, n
        more = f" (and {n - said - 1} more since the last such line)" if n - said > 1 else ""
        log.warning("%s%s", message, more, exc_info=error)


async def write_each[T](
    items: Sequence[T], write: Callable[[Sequence[T]], Awaitable[None]]
) -> list[tuple[T, Exception]]:
    """Write items together; those that cannot be written even alone are answered, with why.

    The others are written, though some of them perhaps twice. Raises UnavailableError, UnwritableError.
    """
    if not items:
        return []
    try:
        await write(items)
    except (UnavailableError, UnwritableError):
        raise
    except Exception as e:  # what it may be is not known: it must not stop what else waits
        if len(items) == 1:
            return [(items[0], e)]
        middle = len(items) // 2
        return [*await write_each(items[:middle], write), *await write_each(items[middle:], write)]
    return []


def shown(text: str) -> str:
    """A URL or key for a log: without its query, and not too long."""
    return ascii(text.partition("?")[0][:SHOWN_CHARACTERS])

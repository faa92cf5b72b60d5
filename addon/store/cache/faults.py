"""Faults of single entries: counted by kind, and logged in one line a minute for each kind."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import batched

from bestbefore.addon.store.backend.interface import UnavailableError, UnwritableError
from bestbefore.addon.store.cache.notices import log

LOG_INTERVAL_S = 60.0
"""The shortest time between two log lines about one kind; further faults are only counted."""
MAX_CHARACTERS = 200
"""The longest URL or key in a log line."""
AT_ONCE = 16
"""How many items are encoded before the event loop has another turn: requests wait while a hundred are, for 15 ms."""


class Faults:
    """Counts entries that could not be written or were found corrupt."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds since some fixed moment."""
        self._monotonic = monotonic
        self._counts: dict[str, int] = {}
        self._logged: dict[str, tuple[float, int]] = {}
        """By kind: the time of the last log line, and the count then."""

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of faults of each kind."""
        return dict(self._counts)

    def add(self, kind: str, message: str, *, error: BaseException | None = None) -> None:
        """Count a fault; `error` is logged with its traceback, as a bug."""
        n = self._counts[kind] = self._counts.get(kind, 0) + 1
        now_s = self._monotonic()
        logged_s, logged = self._logged.get(kind, (-LOG_INTERVAL_S, 0))
        if now_s - logged_s < LOG_INTERVAL_S:
            return
        self._logged[kind] = now_s, n
        more = f" (and {n - logged - 1} more since the last such line)" if n - logged > 1 else ""
        log.warning("%s%s", message, more, exc_info=error)


async def write_each[T](
    items: Sequence[T], write: Callable[[Sequence[T]], Awaitable[None]]
) -> list[tuple[T, Exception]]:
    """Write items, some at a time; return those that cannot be written even alone, with their errors.

    The others are written, some of them possibly twice. Raises UnavailableError, UnwritableError; later items are not
    written then.
    """
    failed: list[tuple[T, Exception]] = []
    for part in batched(items, AT_ONCE):
        failed += await _write_part(part, write)
    return failed


async def _write_part[T](
    items: Sequence[T], write: Callable[[Sequence[T]], Awaitable[None]]
) -> list[tuple[T, Exception]]:
    try:
        await write(items)
    except (UnavailableError, UnwritableError):
        raise
    except Exception as e:  # an unknown error of one item must not block the others
        if len(items) == 1:
            return [(items[0], e)]
        middle = len(items) // 2
        return [*await _write_part(items[:middle], write), *await _write_part(items[middle:], write)]
    return []


def short(text: str) -> str:
    """Return a URL or key for a log line: without its query, and abbreviated."""
    return ascii(text.partition("?")[0][:MAX_CHARACTERS])

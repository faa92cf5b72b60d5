"""Messages that are said once: when a condition begins, and when it has ended."""

import logging

log = logging.getLogger("bestbefore.store")


class Notices:
    """The conditions that hold now, each of which was said when it began."""

    def __init__(self) -> None:
        self._holding: set[str] = set()

    def holds(self, condition: str, message: str) -> None:
        """Say the message, unless the condition held already."""
        if condition not in self._holding:
            self._holding.add(condition)
            log.warning("%s", message)

    def ended(self, condition: str, message: str) -> None:
        """Say that it is over, if it held."""
        if condition in self._holding:
            self._holding.remove(condition)
            log.warning("%s", message)

    def holding(self) -> frozenset[str]:
        return frozenset(self._holding)

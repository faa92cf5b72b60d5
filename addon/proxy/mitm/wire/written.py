"""Responses that answer requests at the beginning of some data."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bestbefore.addon.proxy.exchange.answer import Answer


@dataclass(slots=True)
class Written:
    """What was written in answer to some data."""

    response: bytes
    """The responses, in order."""
    end: int
    """Where the requests end that were answered; those behind are not."""
    closes: bool
    """Whether the connection is closed then, and the data behind discarded."""
    _answers: list[Answer] = field(default_factory=list)

    def finish(self) -> None:
        """Record the requests as answered, once the responses are sent."""
        for answer in self._answers:
            answer.finish(len(answer.body), complete=True)


type HitAnswerer = Callable[[bytes], Written | None]
"""Answers the requests at the beginning of data; None if the first is not answered so."""

"""Responses that answer requests at the beginning of some data."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Written:
    """What was written in answer to some data."""

    response: bytes
    """The responses, in order."""
    end: int
    """Where the requests end that were answered; those behind are not."""
    closes: bool
    """Whether the connection is closed then, and the data behind discarded."""
    finish: Callable[[], None]
    """Records the requests as answered; called once the responses are sent."""


type HitAnswerer = Callable[[bytes], Written | None]
"""Answers the requests at the beginning of data; None if the first is not answered so."""

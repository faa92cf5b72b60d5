"""Responses that answer requests at the beginning of some data."""

from collections.abc import Callable
from dataclasses import dataclass

from bestbefore.addon.proxy.exchange.context import Pending


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
"""Answers the hits at the beginning of data; None if the first request there is none."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A simple request that is no hit."""

    pending: Pending
    size: int
    """How long it is, bytes."""


@dataclass(frozen=True, slots=True)
class AtSocket:
    """How the requests at the socket of a client are answered."""

    hits: HitAnswerer
    unanswered: Callable[[], Unanswered | None]
    """Returns the request behind what was answered last; None if it is not simple, and mitmproxy reads it."""
    encode: Callable[[bytes], bytes] = bytes
    """Returns what is sent for a part of the answer to such a request: its records, within TLS."""

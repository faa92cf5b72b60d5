"""The result of a contact with an origin: a head and a stream of content, or the kind of failure."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bestbefore.addon.proxy.access.reach import EVERYWHERE, Reach
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.message import Head, Request


class Failure(StrEnum):
    """The kind of failure if an origin sent no response, or only a part of one."""

    UNREACHABLE = "origin-unreachable"
    TIMEOUT = "origin-timeout"
    TLS = "origin-tls"
    MALFORMED = "origin-malformed"
    RESET = "origin-reset"
    UPLOAD = "upload-broken-off"
    """The client did not send the content that it had announced."""

    @property
    def status(self) -> int:
        """The status of the error response to the client."""
        return {Failure.TIMEOUT: 504, Failure.UPLOAD: 408}.get(self, 502)


class OriginError(ConnectionError):
    """The origin could not be reached, or its response is incomplete or malformed."""

    def __init__(self, failure: Failure, detail: str, advice: str = "") -> None:
        """`detail` says what failed, for users; `advice` what they can do."""
        super().__init__(detail)
        self.failure = failure
        self.advice = advice


@dataclass(slots=True)
class Fetched:
    """The head of an origin's response, and a stream of its content."""

    head: Head
    request_time_s: float
    """Policy time when the request was sent."""
    response_time_s: float
    """Policy time when the head was complete."""
    chunks: AsyncGenerator[bytes]
    """The content in its content coding. Raises OriginError if it is truncated."""
    length: int | None
    """The announced length of the content, bytes; None if unknown."""
    close: Callable[[], object] = lambda: None
    """Closes the connection if the content was not read to its end."""
    has_arrived: Callable[[], bool] = lambda: False
    """Whether all content has arrived, so that reading it waits for nothing."""
    local: bool = False
    """Whether it came from a loopback or link-local address."""
    range: str = ""
    """The range of the address from which it came (`reach.range_of`)."""
    spared_bytes: int = 0
    """By how much the content so far is longer than what came, as it was coded with a dictionary."""
    stored_bytes: int = 0
    """How much of the content is from stored parts."""


class Source(Protocol):
    """The interface of a source of responses: the network or, in a replay, the recorded updates."""

    async def fetch(
        self,
        request: Request,
        *,
        reach: Reach = EVERYWHERE,
        interim: Interim = no_interim,
        upload: Upload | None = None,
    ) -> Fetched:
        """Fetch as `client.Origin.fetch` does."""

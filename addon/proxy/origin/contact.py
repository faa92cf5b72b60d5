"""The result of a contact with an origin: a head and a stream of content, or the reason why there is none."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bestbefore.addon.proxy.access.reach import EVERYWHERE, Reach
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.message import Head, Request


class Failure(StrEnum):
    """The reason why there is no answer from an origin, or only a part of one."""

    UNREACHABLE = "origin-unreachable"
    TIMEOUT = "origin-timeout"
    TLS = "origin-tls"
    MALFORMED = "origin-malformed"
    RESET = "origin-reset"
    UPLOAD = "upload-broken-off"
    """The client did not send the content that it had announced."""

    @property
    def status(self) -> int:
        """The status of the answer that tells a client of it."""
        return {Failure.TIMEOUT: 504, Failure.UPLOAD: 408}.get(self, 502)


class OriginError(ConnectionError):
    """The origin could not be asked, or stopped in mid-answer."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(detail)
        self.failure = failure


@dataclass(slots=True)
class Fetched:
    """The head of an origin's response, and its content still to be read."""

    head: Head
    request_time_s: float
    """Policy time when the request was sent."""
    response_time_s: float
    """Policy time when the head was complete."""
    chunks: AsyncGenerator[bytes]
    """The content as it was transferred (no content coding is undone). Raises OriginError if it is cut short."""
    length: int | None
    """The length of the content, bytes, where it is known before it is read."""
    close: Callable[[], object] = lambda: None
    """Closes the connection, if the content is not read to its end; has no effect after that."""
    local: bool = False
    """Whether it came from an address that only this machine means."""
    range: str = ""
    """The range of the address that it came from (`reach.range_of`)."""


class Source(Protocol):
    """The interface of what contacts go to: the network, or in a replay the recorded updates."""

    async def fetch(
        self,
        request: Request,
        *,
        reach: Reach = EVERYWHERE,
        interim: Interim = no_interim,
        upload: Upload | None = None,
    ) -> Fetched:
        """Fetch as `client.Origin.fetch` does."""

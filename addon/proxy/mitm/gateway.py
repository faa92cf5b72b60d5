"""The interface of the gateway: the shell around the engine, as mitmproxy's side of the proxy uses it."""

from typing import Protocol

import mitmproxy.http
from mitmproxy.connection import Connection

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.exchange import Pending
from bestbefore.addon.proxy.exchange.interim import Interim
from bestbefore.addon.proxy.limits import TimeLimits
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.message import Request


class Gateway(Protocol):
    """The interface of the gateway, which answers requests."""

    announce: bool
    """Whether other addons listen, so that each exchange must be shown to them as a flow."""

    @property
    def limits(self) -> TimeLimits:
        """The time limits for clients and origins."""

    def takes(self, request: mitmproxy.http.Request, client: mitmproxy.connection.Client, *, has_content: bool) -> bool:
        """Whether this request is answered by the gateway rather than by mitmproxy."""

    def refusal(self, request: Request, client: mitmproxy.connection.Client) -> Answer | None:
        """The error that answers a request, as it came, which could be read in two ways; None if it could not."""

    def refuse(self, request: Request, client: mitmproxy.connection.Client, status: int, detail: str) -> Answer:
        """The error that answers a request that is not answered otherwise."""

    def decide(self, request: Request, client: mitmproxy.connection.Client) -> Answer | Pending:
        """The answer, if it can be given at once from a copy in memory; else what is decided, for `answer`."""

    async def answer(self, pending: Pending, interim: Interim, upload: Upload | None) -> Answer:
        """The answer, after asking the store or the origin, and what is to be sent before it. `upload`: the content."""

    async def drained(self, client: mitmproxy.connection.Client) -> None:
        """Wait until the client has taken most of what was sent to it."""

    def set_reading(self, connection: Connection, client: mitmproxy.connection.Client, *, on: bool) -> None:
        """Read from the client, or from an origin for it; or leave what comes in the socket."""

    def share_bytes(self) -> int:
        """Return how many bytes may wait on one connection."""

    def cut(self, client: mitmproxy.connection.Client) -> None:
        """Close the connection of a client at once."""

    def now(self) -> float:
        """Return the policy time, in seconds."""

"""The interface of the gateway, the shell around the engine, as mitmproxy's layers and hooks use it."""

from collections.abc import Hashable
from typing import Protocol

import mitmproxy.http
from mitmproxy.connection import Client, Connection

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.context import Pending
from bestbefore.addon.proxy.exchange.interim import Interim
from bestbefore.addon.proxy.limits import TimeLimits
from bestbefore.addon.proxy.mitm.wire.kept import KeptRoom, SharedAnswers
from bestbefore.addon.proxy.mitm.wire.written import AtSocket, Written
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.proxy.tunnels.first_speaker import Expected
from bestbefore.addon.rfc9111.message import Request

HIT_BYTES = 256 * 1024
"""The largest content of a copy that `Gateway.hit` returns: to send more, one waits until the client reads it.

It is less with many clients (`Gateway.share_bytes`), as each may leave one response unread.
"""


class Gateway(Protocol):
    """The interface of the gateway, which answers requests."""

    kept: KeptRoom
    """The room for answers that may be repeated."""
    shared: SharedAnswers[Written]
    """The answers that may be repeated on any connection of the same sender."""
    uses_hooks: bool
    """Whether mitmproxy has other addons, so that each exchange must pass through their hooks as a flow."""

    @property
    def limits(self) -> TimeLimits:
        """The time limits for clients and origins."""

    def handles(self, request: mitmproxy.http.Request, client: Client, *, has_content: bool) -> bool:
        """Whether the gateway, rather than mitmproxy, handles this request."""

    def refusal(self, request: Request, client: Client) -> Answer | None:
        """Return the error response to an ambiguous or forbidden request, given as received; None if it is neither."""

    def refuse(self, request: Request, client: Client, status: int, detail: str) -> Answer:
        """Return an error response to a request."""

    def hit(self, request: Request, client: Client, started_s: float) -> Answer | None:
        """Return the answer to an unambiguous request if a copy in memory gives it at once; None: `decide` decides.

        Content of the answer is in memory, and at most `HIT_BYTES` and `share_bytes()`.
        """

    def sender(self, client: Client) -> Hashable | None:
        """Return what the answers to requests on a connection without tunnel depend on, besides the requests.

        None if they may also depend on what the connection has sent before.
        """

    def begin(self, request: Request, client: Client, started_s: float) -> Pending | None:
        """Return the pending decision on a request for which `hit` has just returned None; None: `decide` decides."""

    def answer_at_socket(self, client: Client, answers: AtSocket) -> None:
        """Answer requests at the socket of a client, as `hit_protocol.install` does."""

    def ask_at_socket(self, client: Client, pending: Pending) -> bool:
        """Answer a request that the layers have read, as `hit_protocol.ask` does; False: they answer it."""

    def decide(self, request: Request, client: Client, started_s: float | None = None) -> Answer | Pending:
        """Return the answer, if a copy in memory gives it at once; else the pending decision, for `answer`.

        `started_s`: when the first byte of the request was read, by the monotonic clock; None: now.
        """

    async def answer(self, pending: Pending, interim: Interim, upload: Upload | None) -> Answer:
        """Return the answer, from the store or the origin. `interim` gets interim responses; `upload`: the content."""

    def expected(self, host: str, port: int) -> Expected:
        """Return what is expected of a tunnel that opens."""

    def is_behind(self, client: Client) -> bool:
        """Whether much of what was sent to the client is not on its way yet, because it does not read."""

    async def drained(self, client: Client) -> None:
        """Wait until the client has read most of what was sent to it."""

    def set_reading(self, connection: Connection, client: Client, *, on: bool) -> None:
        """Resume or pause reading from the client, or from an origin on its behalf."""

    def share_bytes(self) -> int:
        """Return how many bytes may be buffered for one connection."""

    def disconnect(self, client: Client) -> None:
        """Close the connection of a client at once."""

    def now(self) -> float:
        """Return the policy time, in seconds."""

    def monotonic(self) -> float:
        """Return the time by the monotonic clock, in seconds."""

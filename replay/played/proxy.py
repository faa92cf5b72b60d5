"""The proxy in a replay: a client connection through mitmproxy's HTTP layer and the live exchanges, in memory."""

import asyncio
import re
from dataclasses import dataclass, replace
from enum import Enum

import mitmproxy.http
from mitmproxy import options
from mitmproxy.connection import Client, Connection, ConnectionState
from mitmproxy.proxy import commands, events, mode_specs
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode

from bestbefore.addon.clock import Clock
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.context import Pending
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.exchange.interim import Interim
from bestbefore.addon.proxy.limits import DEFAULT_LIMITS, TimeLimits
from bestbefore.addon.proxy.mitm.layer import CachingHttpLayer
from bestbefore.addon.proxy.mitm.memory import bounds
from bestbefore.addon.proxy.mitm.wait import BestbeforeWait
from bestbefore.addon.proxy.mitm.wire.kept import KeptRoom, SharedAnswers
from bestbefore.addon.proxy.mitm.wire.written import AtSocket, Written
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.proxy.tunnels.first_speaker import Expected
from bestbefore.addon.rfc9111.message import Request
from bestbefore.replay.played.errors import PlayError

_STATUS = re.compile(
    rb"cache-status: bestbefore; (?:(?P<hit>hit)|fwd=(?P<fwd>[a-z-]+); fwd-status=(?P<status>[0-9]+)"
    rb"(?:; ttl=-?[0-9]+)?; stored)",
    re.IGNORECASE,
)


class RequestOutcome(Enum):
    """The outcome of a replayed request."""

    MISS = "there was no copy"
    HIT = "a copy was served without contact"
    UNCHANGED = "a copy was validated, and still current"
    CHANGED = "a copy was validated, and replaced"


@dataclass(frozen=True, slots=True)
class PlayedAnswer:
    """The response to a replayed request as the client receives it."""

    outcome: RequestOutcome
    content: bytes


class ReplayGateway:
    """A gateway (`gateway.Gateway`) to the live exchanges, with the cache partition of the current client."""

    uses_hooks = False

    def __init__(self, exchanges: Exchanges, clock: Clock) -> None:
        self.partition = ""
        self.kept, self.shared = KeptRoom(), SharedAnswers[Written]()
        self._exchanges = exchanges
        self._clock = clock

    def handles(self, request: mitmproxy.http.Request, client: Client, *, has_content: bool) -> bool:  # noqa: ARG002
        """Return true: the cache handles all requests of a trace."""
        return True

    def hit(self, request: Request, client: Client, started_s: float) -> Answer | None:  # noqa: ARG002
        """Return None: all requests of a trace take the same way."""
        return None

    def sender(self, client: Client) -> None:
        """Return None: each answer is made for its request."""

    def begin(self, request: Request, client: Client, started_s: float) -> Pending | None:  # noqa: ARG002
        """Return None, as `hit` does."""
        return None

    def answer_at_socket(self, client: Client, answers: AtSocket) -> None:
        """Do nothing: the client has no socket."""

    def ask_at_socket(self, client: Client, pending: Pending) -> bool:  # noqa: ARG002
        """Return false: the client has no socket."""
        return False

    def decide(self, request: Request, client: Client, started_s: float | None = None) -> Answer | Pending:
        """Decide as `Exchanges.decide`, in the partition of the current client."""
        return self._exchanges.decide(replace(request, partition=self.partition), client, started_s)

    async def answer(self, pending: Pending, interim: Interim, upload: Upload | None) -> Answer:
        """Answer as `Exchanges.answer`."""
        return await self._exchanges.answer(pending, interim, upload)

    def refusal(self, request: Request, client: Client) -> Answer | None:  # noqa: ARG002
        """Return None: a trace has no ambiguous requests, which would be refused."""
        return None

    def refuse(self, request: Request, client: Client, status: int, detail: str) -> Answer:
        """Return an error response; a trace has no requests that need one."""
        return self._exchanges.refused(request, client, status, detail)

    def disconnect(self, client: Client) -> None:
        """Do nothing: the client sends complete requests."""

    @property
    def limits(self) -> TimeLimits:
        """The time limits of the default configuration."""
        return DEFAULT_LIMITS

    def expected(self, host: str, port: int) -> Expected:  # noqa: ARG002
        """Return that the client speaks first: a trace has no tunnels."""
        return Expected(None)

    def is_behind(self, client: Client) -> bool:  # noqa: ARG002
        """Return false: nothing is sent."""
        return False

    async def drained(self, client: Client) -> None:
        """Do nothing: all data are sent at once."""

    def set_reading(self, connection: Connection, client: Client, *, on: bool) -> None:
        """Do nothing: the client sends one request at a time."""

    def share_bytes(self) -> int:
        """Return the whole bound of buffered bytes, as there is one connection."""
        return bounds.WAITING_BYTES

    def now(self) -> float:
        """Return the policy time, in seconds."""
        return self._clock.now()

    def monotonic(self) -> float:
        """Return the time by the monotonic clock, in seconds."""
        return self._clock.monotonic()


class PlayedClient:
    """A client connection to the proxy, in memory."""

    def __init__(self, exchanges: Exchanges, clock: Clock) -> None:
        settings = options.Options()
        settings.add_option("validate_inbound_headers", bool, True, "As in mitmproxy's proxy server.")  # noqa: FBT003
        client = Client(
            peername=("127.0.0.1", 1),
            sockname=("127.0.0.1", 2),
            timestamp_start=0.0,
            state=ConnectionState.OPEN,
            proxy_mode=mode_specs.ProxyMode.parse("regular"),
        )
        self._client = client
        self._gateway = ReplayGateway(exchanges, clock)
        self._layer = CachingHttpLayer(Context(client, settings), HTTPMode.regular, self._gateway)
        list(self._layer.handle_event(events.Start()))

    async def get(self, url: str, partition: str, *, reload: bool = False) -> PlayedAnswer:
        """Send a GET for this URL in a cache partition; with `reload`, with `Cache-Control: no-cache`.

        Raises PlayError if the response is an error or was not stored.
        """
        self._gateway.partition = partition
        host = url.split("/", 3)[2]
        control = "Cache-Control: no-cache\r\n" if reload else ""
        answer = await self._sent(f"GET {url} HTTP/1.1\r\nHost: {host}\r\n{control}\r\n".encode())
        head, _, content = answer.partition(b"\r\n\r\n")
        found = _STATUS.search(head)
        if found is None:
            lines = head.decode("latin-1").split("\r\n")
            why = next((line for line in lines if line.lower().startswith("cache-status")), "no Cache-Status")
            raise PlayError(f"the proxy keeps no copy of {url}: {lines[0].strip()}, {why}")
        if found["hit"]:
            return PlayedAnswer(RequestOutcome.HIT, content)
        if found["fwd"] == b"uri-miss":
            return PlayedAnswer(RequestOutcome.MISS, content)
        return PlayedAnswer(RequestOutcome.UNCHANGED if found["status"] == b"304" else RequestOutcome.CHANGED, content)

    async def _sent(self, message: bytes) -> bytes:
        await asyncio.sleep(0)  # a series of hits awaits nothing, and would block the store's writer and Ctrl-C
        answer = b""
        pending: list[events.Event] = [events.DataReceived(self._client, message)]
        while pending:
            waits: list[BestbeforeWait] = []
            for command in self._layer.handle_event(pending.pop(0)):
                if isinstance(command, commands.SendData):
                    answer += command.data
                elif isinstance(command, BestbeforeWait):
                    waits.append(command)
            for wait in waits:
                await wait.work.run()
                pending.append(events.HookCompleted(wait))
        return answer

"""The gateway of the running proxy: it admits clients, refuses requests, and answers them."""

import logging
from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY, dataclass, field

import mitmproxy.http
from mitmproxy.connection import Client, Connection

from bestbefore.addon.clock import Clock
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.engine import heads
from bestbefore.addon.engine.request import is_one_host, misframed
from bestbefore.addon.proxy.access.access import is_restricted, peer_of
from bestbefore.addon.proxy.access.admission import Admission
from bestbefore.addon.proxy.access.gate import Gate
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.context import Pending
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.limits import TimeLimits, limits_of
from bestbefore.addon.proxy.mitm import transports
from bestbefore.addon.proxy.mitm.forwarded import upgrade_protocols
from bestbefore.addon.proxy.mitm.gateway import HIT_BYTES
from bestbefore.addon.proxy.mitm.memory import bounds
from bestbefore.addon.proxy.mitm.translate import fields_of
from bestbefore.addon.proxy.mitm.wire import hit_protocol
from bestbefore.addon.proxy.mitm.wire.kept import KeptRoom, SharedAnswers
from bestbefore.addon.proxy.mitm.wire.written import AtSocket, Written
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.proxy.pages import pages
from bestbefore.addon.proxy.tunnels.first_speaker import Expected, FirstSpeakers
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.store.store import Store

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LiveGateway:
    """The implementation of `gateway.Gateway` in a running proxy."""

    clock: Clock
    gate: Gate
    admission: Admission
    budget: Budget
    store: Store
    exchanges: Exchanges
    first_speakers: FirstSpeakers
    settings: Callable[[], Settings]
    """Returns the settings in force."""
    _: KW_ONLY
    uses_hooks: bool
    kept: KeptRoom = field(default_factory=KeptRoom)
    shared: SharedAnswers[Written] = field(default_factory=SharedAnswers)
    _undecided: Pending | None = field(init=False, default=None)
    """The decision on the last request for which `hit` returned None."""

    def handles(self, request: mitmproxy.http.Request, client: Client, *, has_content: bool) -> bool:
        """Whether the gateway answers this request. mitmproxy handles tunnels, upgrades and missing credentials."""
        if request.data.method == b"CONNECT":
            return False
        is_upgrade = not has_content and "upgrade" in request.headers and upgrade_protocols(fields_of(request.headers))
        # As a reverse proxy, mitmproxy overwrites Host, so a malformed Host must be refused before that.
        if is_upgrade and is_one_host(request.headers.get_all("host")):
            return False
        return self.gate.admitted(client, request.headers.get("Proxy-Authorization"))

    def refusal(self, request: Request, client: Client) -> Answer | None:
        """Return the error response to an ambiguous request, given as received; None if it is not ambiguous."""
        why = misframed(request)
        return self.exchanges.refused(request, client, 400, why) if why else None

    def refuse(self, request: Request, client: Client, status: int, detail: str) -> Answer:
        """Return an error response to a request."""
        return self.exchanges.refused(request, client, status, detail)

    def hit(self, request: Request, client: Client, started_s: float) -> Answer | None:
        """Return the answer if a copy in memory gives it, as `decide` would to an admitted client; else None."""
        self._undecided = None
        in_memory = self.store.hot(request.target.url, request.partition)
        if in_memory is None:
            return None
        largest = max((copy.body.size for copy in in_memory.copies), default=0)
        if largest > bounds.MIN_SHARE_BYTES and largest > min(HIT_BYTES, self.share_bytes()):
            return None
        if not self.gate.admitted(client, request.fields.get("proxy-authorization")):
            return None
        decided = self.decide(request, client, started_s)
        if isinstance(decided, Answer):
            return decided
        self._undecided = decided
        return None

    def sender(self, client: Client) -> Hashable | None:
        """Return the client's address, rights and mode; None if credentials are required: a tunnel's count later too.

        Of two clients with the same address, a balancer may have stated one.
        """
        if self.gate.access.users:
            return None
        return peer_of(client), is_restricted(client), client.proxy_mode.full_spec

    def begin(self, request: Request, client: Client, started_s: float) -> Pending | None:
        """Return the pending decision on a request that is no hit, as `decide` would to an admitted client.

        None if it may be a hit after all, with content that is too large for `hit`, or if the client is not admitted.
        """
        pending, self._undecided = self._undecided, None
        if pending is not None and pending.context.request is request:
            return pending
        in_memory = self.store.hot(request.target.url, request.partition)
        if in_memory is not None or not self.gate.admitted(client, request.fields.get("proxy-authorization")):
            return None
        decided = self.decide(request, client, started_s)
        return decided if isinstance(decided, Pending) else None

    def answer_at_socket(self, client: Client, answers: AtSocket) -> None:
        """Answer requests at the socket of a client, as `hit_protocol.install` does."""
        hit_protocol.install(self, client, answers)

    def ask_at_socket(self, client: Client, pending: Pending) -> bool:
        """Answer a request that the layers have read, as `hit_protocol.ask` does."""
        return hit_protocol.ask(client, pending)

    def decide(self, request: Request, client: Client, started_s: float | None = None) -> Answer | Pending:
        """Decide as `Exchanges.decide` does."""
        settings = self.settings()
        try:
            passes_through = bool(settings.passthrough) and settings.is_passthrough(request.target.host)
            return self.exchanges.decide(request, client, started_s, passes_through=passes_through)
        except Exception:
            return self._fault(request, client)

    async def answer(self, pending: Pending, interim: Interim = no_interim, upload: Upload | None = None) -> Answer:
        """Answer as `Exchanges.answer` does; requests to the proxy itself get one of its pages or an error."""
        request, client = pending.context.request, pending.client
        if self.gate.is_own(request.target.host, request.target.port):
            hint = f"this is a proxy: use it as one, and open http://{pages.HOST}/ through it"
            return self.exchanges.refused(request, client, 403, "own-address", hint)
        if upload is not None or request.method not in ("GET", "HEAD", "PURGE"):
            refusal = self.gate.refusal(request, client, self.exchanges.site)
            if refusal is not None:
                return self.exchanges.refused(request, client, refusal[0], "not-allowed", refusal[1])
        if not self.admission.begin_request():
            return self.exchanges.refused(request, client, 503, "too-many-requests")
        return await self.admission.end_when_sent(self._answer(pending, interim, upload))

    async def _answer(self, pending: Pending, interim: Interim, upload: Upload | None) -> Answer:
        request, client = pending.context.request, pending.client
        try:
            if request.method == "PURGE":
                return await self._purge(request, client)
            return await self.exchanges.answer(pending, interim, upload)
        except Exception:
            return self._fault(request, client)

    def _fault(self, request: Request, client: Client) -> Answer:
        """Return the answer after an exception, which mitmproxy would leave unanswered."""
        logger.exception("a request could not be answered: this is a bug in bestbefore")
        return self.exchanges.refused(request, client, 500, "fault")

    async def _purge(self, request: Request, client: Client) -> Answer:
        """Remove the copies of the request's target (the command `purge` also takes hosts and patterns)."""
        url = request.target.url
        address = peer_of(client)
        if not self.gate.access.purges(address, request.fields):
            status, text = 403, "PURGE is for programs of this machine, and for no web page"
        else:
            had_copies = await self.store.has_copies(url)
            self.store.drop(url)  # also without a copy: one may be being fetched
            await self.store.flush()
            status, text = (200, f"purged {url}") if had_copies else (404, f"there is no copy of {url}")
            logger.info("%s: %s", address, text)
        body = f"bestbefore: {text}\n".encode()
        return Answer(heads.generated(status, self.now(), f"{cache_status.NAME}; detail=purge", len(body)), body)

    def expected(self, host: str, port: int) -> Expected:
        """Return what is expected of a tunnel that opens."""
        if self.settings().is_passthrough(host):
            return Expected(0.0, is_passthrough=True)
        return Expected(None) if self.exchanges.site.offline else self.first_speakers.expected(host, port)

    def is_behind(self, client: Client) -> bool:
        """Decide as `transports.is_behind` does."""
        return transports.is_behind(client)

    async def drained(self, client: Client) -> None:
        """Wait until written data is sent, as `transports.drained` does."""
        await transports.drained(client)

    def set_reading(self, connection: Connection, client: Client, *, on: bool) -> None:
        """Pause or resume reading, as `transports.set_reading` does."""
        transports.set_reading(connection, client, on=on)

    def disconnect(self, client: Client) -> None:
        """Close a connection at once, as `transports.close` does."""
        transports.close(client, client)

    @property
    def limits(self) -> TimeLimits:
        """The time limits for clients and origins."""
        return limits_of(self.settings())

    def share_bytes(self) -> int:
        """Return how many bytes may be buffered for one connection, given the number of connections."""
        return self.budget.share_bytes(transports.client_count(), bounds.MIN_SHARE_BYTES, bounds.WAITING_BYTES)

    def now(self) -> float:
        """Return the policy time, in seconds."""
        return self.clock.now()

    def monotonic(self) -> float:
        """Return the time by the monotonic clock, in seconds."""
        return self.clock.monotonic()

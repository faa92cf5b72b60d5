"""The service: creates the parts of the proxy, and starts and stops them in the right order."""

import asyncio
import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from mitmproxy.connection import Connection

from bestbefore.addon.admin.server import AdminServer, url_of
from bestbefore.addon.clock import Clock, FastClock, clock_from_environment
from bestbefore.addon.config.load import Config
from bestbefore.addon.config.settings import DEFAULT_ADMIN, Address, Settings
from bestbefore.addon.config.watch import ConfigSource, ConfigWatch, Refused
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.access.descriptors import raised_limit
from bestbefore.addon.proxy.access.passthrough_cleanup import REMOVED_FILE, PassthroughCleanup
from bestbefore.addon.proxy.access.trust import targeted, trust
from bestbefore.addon.proxy.allocator import release_free_regularly
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.identity import read_identity
from bestbefore.addon.proxy.limits import limits_of
from bestbefore.addon.proxy.live_gateway import LiveGateway
from bestbefore.addon.proxy.mitm import transports
from bestbefore.addon.proxy.mitm.lingering import Lingering
from bestbefore.addon.proxy.origin.client import Origin
from bestbefore.addon.proxy.pages import pages
from bestbefore.addon.proxy.pages.ca_bundle import write_ca_bundle
from bestbefore.addon.proxy.place import WorkerPlace
from bestbefore.addon.proxy.recording import Recording
from bestbefore.addon.proxy.signals.signals import Signals
from bestbefore.addon.proxy.state import WorkerState
from bestbefore.addon.proxy.tunnels.interception import Interception
from bestbefore.addon.proxy.tunnels.listing import TunnelListing
from bestbefore.addon.store.backend.interface import Tombstone
from bestbefore.addon.store.cache.replacements import Replaced
from bestbefore.addon.store.cache.tombstones import matcher_of
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.traffic.files import TrafficFiles
from bestbefore.addon.traffic.log import TrafficLog, client_names

logger = logging.getLogger(__name__)

RELOAD_EVERY_S = 1.0
"""In real seconds."""
DRAIN_S = 5.0
"""How long requests in progress may take after SIGTERM; service managers kill after 10 s or more."""
DRAIN_CHECK_S = 0.02
CA_FILE = "mitmproxy-ca-cert.pem"


class Service:
    """The parts of a running proxy.

    It is started before the first request and stopped after the last. Once started, it has `store`, `origin`,
    `exchanges` and the `gateway`, which answers requests.
    """

    def __init__(
        self,
        watch: ConfigSource,
        clock: Clock,
        *,
        log_requests: bool = False,
        uses_hooks: bool = False,
        companion: Callable[["Service"], Companion] = lambda _service: Companion(),
        place: WorkerPlace = WorkerPlace(),  # noqa: B008 - it is immutable
    ) -> None:
        self.clock = clock
        self.place = place
        self.ready = False
        self.uses_hooks = uses_hooks
        """Whether mitmproxy has other addons, so that each exchange must pass through their hooks as a flow."""
        self.recording = Recording(
            clock,
            lambda: self.store.status(),
            lambda client, fields: self.gate.user_of(client, fields),
            lambda url: self._companion.note_contact(url),
        )
        self.metrics = self.recording.metrics
        self._watch = watch
        self._log_requests = log_requests
        self._admin: AdminServer | None = None
        self._closing = AsyncExitStack()
        self._companion = companion(self)
        self.lingering = Lingering()
        self.state = WorkerState.of(self.settings, raised_limit(), clock.monotonic, self.metrics.refused, place.workers)
        self.gate, self.admission = self.state.gate, self.state.admission
        self.interception = Interception(self.state.refusals, self.metrics, clock)
        self._tunnel_listing = TunnelListing(
            self.settings.state,
            self.state.refusals,
            clock,
            self.metrics.tunnels_lifted.labels("command").inc,
        )

    @classmethod
    def from_options(cls, options: Mapping[str, str | None], companion: Callable[["Service"], Companion]) -> Self:
        """Create a service for a stock mitmproxy from its options. Raises InputError, ValueError."""
        given = dict(options)
        file = given.pop("config", None)
        watch = ConfigWatch(Path(file) if file else None, given)
        return cls(watch, clock_from_environment(os.environ), uses_hooks=True, companion=companion)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._watch.config.settings

    @property
    def config_file(self) -> Path | None:
        """The configuration file."""
        return self._watch.path

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._watch.config

    @property
    def admin_url(self) -> str | None:
        """The URL of the metrics, once started."""
        if self.place.admin is not None:
            return url_of(self.place.admin.host, self.place.admin.port)
        return None if self._admin is None else self._admin.url

    # Start and stop.

    async def start(self) -> None:
        """Open the store and the admin address. Raises StartError and their errors, with a message for the user."""
        settings = self.settings
        identity, salt = read_identity(settings.state)
        site = Site(
            name=f"bestbefore-{identity.hex()}",
            salt=salt,
            max_cached_body=settings.max_cached_body,
            max_cached_file=_max_cached_file(settings),
            offline=settings.offline,
            own_host=pages.HOST,
            via_request=settings.via_request,
            reverse=settings.mode is not None,
            targeted=targeted(settings),
        )
        self._traffic = TrafficLog(
            TrafficFiles(settings.state),
            self.clock,
            client_names(settings.traffic_clients, salt),
            settings.traffic_keep,
            writes=settings.traffic_log,
        )
        self.recording.log_traffic = self._traffic.add
        self.store = await open_store(
            settings.store,
            clock=self.clock,
            proxy=site.name,
            state=settings.state,
            clock_mark="accelerated" if isinstance(self.clock, FastClock) else "real",
            store_max=settings.store_max,
            files_max=settings.files_max,
            hot_max=settings.hot_max,
            keep_s=settings.keep,
            forgotten=self._forget,
            supervised_socket=self.place.socket,
            processes=self.place.workers,
            sweeps=self.place.is_first,
        )
        self._closing.push_async_callback(self.store.close)
        self.state.relay.on(Tombstone, self.store.invalidation.take_over)
        self.state.relay.on(Replaced, lambda news: self.store.take_replaced(news.urls))
        self.store.invalidation.pass_on = self.store.replacements.pass_on = self.state.relay.pass_on
        self._poll_tunnels()
        self._traffic.start()
        self._closing.push_async_callback(self._traffic.close)
        self._passthrough_cleanup = PassthroughCleanup(settings.state / REMOVED_FILE, self.store, settings.store)
        self._closing.push_async_callback(self._passthrough_cleanup.close)
        self._clean_up()
        verify, ca_file = trust(stock=self.uses_hooks)
        self.origin = Origin(
            self.clock,
            upstream=settings.upstream,
            verify=verify,
            ca_file=ca_file,
            limits=limits_of(settings),
            max_open=self.admission.descriptors,
            on_unexpected_data=self._drop_all,
            unsound=self.state.unsound,
            on_answer=self._companion.note_answer,
            trust_of=lambda host: self.config.rules.trust_of(host),
        )
        self._closing.push_async_callback(self.origin.close)
        budget, admission = self.state.budget, self.admission
        self.metrics.in_flight_bytes.set_function(lambda: budget.used_bytes)
        self.metrics.in_flight_file_bytes.set_function(lambda: budget.file_bytes)
        self.metrics.requests_in_progress.set_function(lambda: admission.exchanges)
        self.signals = Signals(self.clock, self.store, self._companion.signalled, self.metrics.signalled)
        self._closing.push_async_callback(self.signals.write)
        self.exchanges = Exchanges(
            self.clock,
            self.store,
            self.origin,
            self._watch.config.rules,
            site,
            self.recording.add_soon,
            budget,
            self.state.flights,
            self.state.hit_for_miss,
            self.state.new_objects,
            lambda: self._companion.counts_demand,
            self.gate.credentials_of,
            self.gate.user_of,
            signals=self.signals,
        )
        self._closing.push_async_callback(self.exchanges.close)
        self.state.coverage.start(self.exchanges.covered, lambda url: self.store.leave_memory(url, math.inf))
        self.gateway = LiveGateway(
            self.clock,
            self.gate,
            self.admission,
            budget,
            self.store,
            self.exchanges,
            self.state.first_speakers,
            lambda: self.settings,
            uses_hooks=self.uses_hooks,
        )
        self._closing.push_async_callback(self._companion.close)
        await self._companion.start()
        if settings.admin is not None and not self.place.has_supervisor:
            self._admin = await AdminServer.start(
                settings.admin.host,
                settings.admin.port,
                self.metrics,
                self.health,
                next_free=settings.admin == DEFAULT_ADMIN,
                refresh=self.recording.count,
                mount=self._companion.mount,
            )
            self._closing.push_async_callback(self._admin.close)
        if not self.uses_hooks:
            self.recording.open_output(
                settings,
                log_requests=self._log_requests,
                heading=self.place.is_first,
                rotates=not self.place.has_supervisor,
            )
        if not self.place.has_supervisor:  # which writes that of all workers
            summaries = asyncio.create_task(self.recording.log_summaries())
            self._closing.push_async_callback(_cancelled, summaries)
        for work in (
            self._reload(),
            self.signals.keep(),
            release_free_regularly(
                lambda: self.recording.summary.total.all.requests,
                lambda: admission.exchanges,
                lambda: self.lingering.closed_count,
            ),
        ):
            task = asyncio.create_task(work)
            self._closing.push_async_callback(_cancelled, task)
        self.ready = True

    def listening(self, host: str, port: int, authority: Path) -> Path:
        """Note that mitmproxy listens; `authority` is the folder of its certificate authority.

        Returns the path of the CA bundle.
        """
        self.admission.shortage.watch(asyncio.get_running_loop())
        ca_file = authority / CA_FILE
        bundle = write_ca_bundle(self.settings.state, ca_file.read_bytes())
        admin = self._admin or self.place.admin
        self.gate.own_ports = frozenset({port} if admin is None else {port, admin.port})
        own = pages.PageContents.of(f"http://{Address(host, port)}", ca_file, bundle, self.admin_url)
        self.origin.answer_for(pages.HOST, lambda request, now_s: pages.respond(own, request, now_s))
        return bundle

    async def drain(self) -> None:
        """Wait until the requests in progress are answered and the answers sent, for at most `DRAIN_S`."""
        end_s = self.clock.monotonic() + DRAIN_S
        while (self.admission.exchanges or self.lingering.has_unsent) and self.clock.monotonic() < end_s:  # noqa: ASYNC110
            await asyncio.sleep(DRAIN_CHECK_S)

    async def stop(self) -> None:
        """Write pending data, and close everything. Also valid after a failed start."""
        self.ready = False
        self.recording.flush()
        await self._closing.aclose()
        self.recording.close(summary=bool(self.gate.own_ports) and not self.place.has_supervisor)

    async def _reload(self) -> None:
        while True:
            await asyncio.sleep(RELOAD_EVERY_S)
            self.admission.shortage.log_counts()
            self._poll_tunnels()
            self.poll_config()
            self.recording.rotate()

    def _poll_tunnels(self) -> None:
        if self.place.is_first:  # of what it lifts, the others are informed
            self._tunnel_listing.poll()

    def poll_config(self) -> None:
        """Apply a configuration that has changed."""
        outcome = self._watch.poll()
        if isinstance(outcome, Refused):
            self.metrics.reload_failures.inc()
            logger.warning("the changed configuration is not used:\n%s", outcome.message)
        elif outcome is not None:
            self._reconfigure(outcome.need_restart)

    def switch(self, *, offline: bool) -> None:
        """Contact no origin, or do so again, in place of what the configuration says, until the process ends."""
        self._watch.switch(offline=offline)
        self.poll_config()

    def checked(self, toml: str) -> Config:
        """Return the configuration that would be loaded from its file, if it had this text. Raises ConfigError."""
        return self._watch.checked(toml)

    def _clean_up(self) -> None:
        if self.place.is_first:
            self._passthrough_cleanup.reconfigured(self.settings.passthrough)

    def reopen(self) -> None:
        """Open the log file again, after it was renamed, and look for a changed configuration."""
        self.recording.reopen()
        self.poll_config()

    def _reconfigure(self, need_restart: tuple[str, ...]) -> None:
        settings = self.settings
        try:
            self.gate.reconfigured(settings)
        except (OSError, ValueError) as error:
            logger.warning("changed credentials are not used: %s", error)
        site = replace(
            self.site,
            max_cached_body=settings.max_cached_body,
            max_cached_file=_max_cached_file(settings),
            offline=settings.offline,
        )
        self.exchanges.reconfigured(self._watch.config.rules, site)
        transports.close_all(self.gate.is_shut_out)
        self._clean_up()
        self._companion.reconfigured()
        logger.info("the configuration has changed")
        if need_restart:
            logger.warning("changes that need a restart: %s", ", ".join(need_restart))

    def pushed_until(self, url: str, until_s: float) -> None:
        """Inform prefetching until when the changes of an object are pushed, policy time; 0: they are not any more."""
        self._companion.pushed_until(url, until_s)

    # For the hooks.

    def connection_closed(self, connection: Connection) -> None:
        """Forget a connection that mitmproxy has closed: a client's, or one to an origin."""
        self.gate.closed(connection.id)
        self.interception.closed(connection.id)
        self.lingering.closed(connection)

    @property
    def site(self) -> Site:
        """The settings of the whole proxy on which decisions depend."""
        return self.exchanges.site

    def _forget(self, tombstone: Tombstone) -> None:
        """Forget what is kept outside the store of the objects of a tombstone."""
        self._traffic.forget(tombstone)
        if self.ready:  # else nothing was read yet
            self.signals.forget(tombstone)
        self._companion.forgotten(matcher_of(tombstone))

    def _drop_all(self, urls: Sequence[str]) -> None:
        """Remove the copies of objects whose stored responses may belong to other requests."""
        self.metrics.unexpected_data.inc()
        for url in urls:
            self.store.drop(url)

    def health(self) -> dict[str, object]:
        """Return the JSON object for /healthz."""
        connections = "too many" if self.admission.shortage.is_recent else "ok"
        return {**self.store.health(), "connections": connections}


async def _cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _max_cached_file(settings: Settings) -> int:
    """Return the largest content that is stored as a file, bytes; only an embedded store has files."""
    return min(settings.max_cached_file, settings.files_max) if settings.store == "embedded" else 0

"""The supervisor of several workers: it owns their address, the embedded store, the admin address and the signals."""

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import replace

import click
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from bestbefore.addon.admin.log.output import text_stream
from bestbefore.addon.admin.log.rotation import LogRotation
from bestbefore.addon.admin.log.writer import Writer
from bestbefore.addon.admin.metrics import exposition_of
from bestbefore.addon.admin.server import AdminAddressError, AdminServer
from bestbefore.addon.admin.summary import Summary
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.settings import DEFAULT_ADMIN, Address, Settings
from bestbefore.addon.config.watch import ConfigWatch, Reloaded
from bestbefore.addon.dashboard.application import Dashboard
from bestbefore.addon.dashboard.companion import users_of
from bestbefore.addon.errors import InputError
from bestbefore.addon.proxy.allocator import limit_retained, release_all_regularly
from bestbefore.addon.proxy.inherited_sockets import bound_sockets
from bestbefore.addon.proxy.mitm.master import listening_error
from bestbefore.addon.proxy.place import WorkerPlace
from bestbefore.addon.proxy.recording import SUMMARY_EVERY_S
from bestbefore.addon.proxy.relay import ANNOUNCEMENTS_KEPT, Lasting
from bestbefore.addon.proxy.service import RELOAD_EVERY_S
from bestbefore.addon.proxy.start_error import StartError
from bestbefore.addon.store.backend.interface import StoreUnusableError
from bestbefore.addon.store.opening import start_server
from bestbefore.addon.store.server.statedir import StateDir
from bestbefore.addon.workers.forker import Forker, ForkersLostError
from bestbefore.addon.workers.merging import merged, merged_health
from bestbefore.addon.workers.messages import Announcement, Begin, Drain, Failed, Message, Reconfigure, Reopen, Stop
from bestbefore.addon.workers.source import WorkersSource
from bestbefore.addon.workers.supervised import Supervised
from bestbefore.addon.workers.worker import work

logger = logging.getLogger(__name__)

REPORT_S = 1.0
"""For how long the metrics of a worker that does not answer are waited for."""
STOP_S = 20.0
"""After which workers that do not end are killed; they wait 5 s for requests in progress and 5 s for the store."""


def supervise(
    watch: ConfigWatch, clock: Clock, workers: int, passed: list[socket.socket], *, log_requests: bool
) -> None:
    """Run the workers of a proxy until SIGINT or SIGTERM. Must be called before any thread is started.

    `passed`: sockets that already listen, in place of the configured address.
    """
    settings = watch.config.settings
    try:
        sockets = passed or bound_sockets(settings.listen.host, settings.listen.port)
    except OSError as error:
        raise click.ClickException(listening_error(settings.listen, error)) from None
    forker = Forker(lambda end: work(end, sockets))
    gc.freeze()  # so that neither its collector nor its end visits all that was imported for the workers
    limit_retained()
    try:
        asyncio.run(_Supervisor(watch, clock, workers, forker, sockets, log_requests=log_requests).run())
    finally:
        forker.close()


class _Supervisor(Collector):
    def __init__(
        self,
        watch: ConfigWatch,
        clock: Clock,
        workers: int,
        forker: Forker,
        sockets: list[socket.socket],
        *,
        log_requests: bool,
    ) -> None:
        self._watch = watch
        self._clock = clock
        self._forker = forker
        self._sockets = sockets
        self._log_requests = log_requests
        self._workers: list[Supervised] = []
        self._announcements: deque[object] = deque(maxlen=ANNOUNCEMENTS_KEPT)
        """What workers have passed on that is for those that start later, too."""
        self._latest: dict[type, object] = {}
        """Of it, the kinds of which only the last is."""
        self._summary = Summary(clock.monotonic())
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._stopping = asyncio.Event()
        self._failure: ForkersLostError | None = None
        """Why it stops by itself."""
        self._place = WorkerPlace(workers=workers)

    @property
    def _settings(self) -> Settings:
        return self._watch.config.settings

    async def run(self) -> None:
        """Run until a signal. Raises ClickException."""
        settings = self._settings
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._stop, Stop())
        loop.add_signal_handler(signal.SIGTERM, self._terminate)
        without_terminal = settings.log_file is not None or not sys.stdout.isatty()
        loop.add_signal_handler(signal.SIGHUP, self._hang_up if without_terminal else self._terminate)
        try:
            async with AsyncExitStack() as closing:
                await self._start(closing)
            if self._failure is not None:
                raise self._failure
        except (StartError, StoreUnusableError, AdminAddressError, ForkersLostError) as error:
            raise click.ClickException(str(error)) from None

    async def _start(self, closing: AsyncExitStack) -> None:
        settings = self._settings
        store_socket = None
        if settings.store == "embedded":
            state = StateDir(settings.state)
            closing.callback(state.close)
            server = await start_server(state, self._clock, settings.store_max)
            closing.push_async_callback(server.stop)
            store_socket = server.socket
        admin = None
        if settings.admin is not None:
            source = WorkersSource(
                self._watch, self._clock, self._workers, self._summary, store_socket, lambda: list(self.collect()),
                self._health, self._refresh, lambda tombstone: self._pass_on(0, Announcement(tombstone)),
            )  # fmt: skip
            closing.push_async_callback(source.close)
            admin = await AdminServer.start(
                settings.admin.host, settings.admin.port, self, self._health,
                next_free=settings.admin == DEFAULT_ADMIN, refresh=self._refresh,
                mount=Dashboard(source, users_of(settings)).mount,
            )  # fmt: skip
            closing.push_async_callback(admin.close)
        self._place = WorkerPlace(
            workers=self._place.workers,
            socket=store_socket,
            admin=None if admin is None else Address(admin.host, admin.port),
        )
        texts = Writer(text_stream(settings.log_format, settings.log_file))
        closing.callback(texts.close)
        releasing = asyncio.create_task(release_all_regularly())  # of reports, scrapes and pages
        closing.callback(releasing.cancel)
        try:
            # The first one creates the certificate authority and the identity of the proxy.
            greeting = await self._started(1)
            if not self._stopping.is_set():
                await asyncio.gather(*(self._started(number) for number in range(2, self._place.workers + 1)))
            if greeting and not self._stopping.is_set():
                texts.write(greeting)
                await self._watch_over(texts)
        finally:
            await self._end()
        if greeting:
            texts.write(self._summary.render(self._clock.now(), self._clock.monotonic()))

    async def _started(self, number: int) -> str:
        """Start a worker; return its greeting, empty if it was stopped before. Raises StartError, InputError."""
        worker = Supervised(number, self._clock, self._fork, self._begin, self._summary.merge, self._pass_on)
        self._workers.append(worker)
        outcome = await worker.greeting
        if not isinstance(outcome, Failed):
            return outcome
        if self._stopping.is_set():
            return ""
        raise InputError(outcome.message) if outcome.is_input else StartError(outcome.message)

    def _fork(self) -> socket.socket:
        """Fork a worker. Raises OSError; if none can be forked any more, the proxy stops, and can be restarted."""
        try:
            return self._forker.fork()
        except ForkersLostError as error:
            self._fail(error)
            raise OSError(0, str(error)) from None

    def _fail(self, error: ForkersLostError) -> None:
        self._failure = error
        self._stop(Drain())

    def _begin(self, number: int) -> Begin:
        place = replace(self._place, number=number)
        announcements = (*self._announcements, *self._latest.values())
        return Begin(place, self._watch.config, self._watch.path, self._clock, self._log_requests, announcements)

    def _pass_on(self, number: int, announcement: Announcement) -> None:
        """Pass on what a worker has found to the others; 0: to all."""
        if announcement.lasting is Lasting.ALL:
            self._announcements.append(announcement.content)
        elif announcement.lasting is Lasting.LATEST:
            self._latest[type(announcement.content)] = announcement.content
        for other, worker in enumerate(self._workers, 1):
            if other != number:
                worker.send(announcement)

    async def _watch_over(self, texts: Writer) -> None:
        """Look for a changed configuration and collect reports each second, until a signal to stop."""
        summary_s = self._clock.monotonic() + SUMMARY_EVERY_S
        file, keep_s = self._settings.log_file, self._settings.log_keep
        rotation = None if file is None or keep_s is None else LogRotation(file, keep_s, self._clock.now())
        while not self._stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), RELOAD_EVERY_S)
            self._poll_config()
            if rotation is not None and rotation.turn(self._clock.now()):
                self._reopen()
            try:
                self._forker.replace_ended()
            except ForkersLostError as error:
                self._fail(error)
            except OSError as error:
                logger.warning("no process can be forked: %s", error.strerror)
            await self._refresh()
            for worker in self._workers:
                worker.check()
            now_s = self._clock.monotonic()
            if now_s >= summary_s:
                if not self._summary.is_idle:
                    texts.write(self._summary.render(self._clock.now(), now_s))
                self._summary.start_period(now_s)
                summary_s = now_s + SUMMARY_EVERY_S

    # Signals

    def _stop(self, message: Message) -> None:
        self._stopping.set()
        for worker in self._workers:
            worker.stop(message)

    def _terminate(self) -> None:
        self._stop(Stop() if self._stopping.is_set() else Drain())

    def _hang_up(self) -> None:
        self._reopen()
        self._poll_config()

    def _reopen(self) -> None:
        for worker in self._workers:
            worker.send(Reopen())

    async def _end(self) -> None:
        """Wait until all workers have ended."""
        if not self._stopping.is_set():
            self._stop(Stop())
        if not self._workers:
            return
        ending = asyncio.gather(*(worker.wait() for worker in self._workers))
        closed = asyncio.gather(*(worker.closed.wait() for worker in self._workers))
        await asyncio.wait([closed], timeout=STOP_S)
        for one in self._sockets:
            with suppress(OSError):  # further connections are refused; closing would not do, as the forker has it too
                one.shutdown(socket.SHUT_RDWR)
        await asyncio.wait([ending], timeout=STOP_S)
        for worker in self._workers:
            worker.kill()
        await ending

    # Configuration

    def _poll_config(self) -> None:
        outcome = self._watch.poll()
        if outcome is None:
            return
        first, *others = self._workers
        first.send(Reconfigure(outcome))  # which also logs it
        if isinstance(outcome, Reloaded):
            for worker in others:
                worker.send(Reconfigure(Reloaded(outcome.config, ())))

    # What the admin address says

    async def _refresh(self) -> None:
        await asyncio.wait([asyncio.create_task(worker.refresh()) for worker in self._workers], timeout=REPORT_S)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of all workers together."""
        restarts = sum(worker.restarts for worker in self._workers)
        for family in merged([metrics for worker in self._workers for metrics in worker.metrics]):
            if family.name == "bestbefore_worker_restarts":
                family.samples = [
                    one._replace(value=float(restarts)) if one.name.endswith("_total") else one
                    for one in family.samples
                ]
            yield family

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics in the format that an Accept field asks for, and its media type."""
        return exposition_of(self._registry, accept)

    def _health(self) -> dict[str, object]:
        running = [worker.health for worker in self._workers if worker.is_running]
        health = merged_health(running)
        if not running:
            health["status"] = "degraded"
        return {**health, "workers": f"{len(running)} of {len(self._workers)}"}

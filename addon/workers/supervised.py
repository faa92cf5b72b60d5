"""A worker as its supervisor sees it."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prometheus_client.core import Metric

from bestbefore.addon.admin.summary import DomainCounts
from bestbefore.addon.clock import Clock
from bestbefore.addon.workers.merging import lasting, merged
from bestbefore.addon.workers.messages import (
    Announcement,
    AskReport,
    Begin,
    Born,
    Draining,
    Failed,
    Listening,
    Message,
    Report,
    Stop,
    WorkerChannel,
)
from bestbefore.addon.workers.pauses import Pauses
from bestbefore.addon.workers.processor_wait import processor_wait_s

if TYPE_CHECKING:
    from bestbefore.addon.dashboard.source import Watcher

logger = logging.getLogger(__name__)

SILENT_CHECKS = 5.0
"""After how many checks in a row without a report a process is killed: 10 s, as a check takes 2 s then. They are
counted, not timed, since the machine or all processes may have been suspended."""
STARVED_S = 1.0
STARVED_CHECK = 0.2
"""As how many checks one counts during which the process has waited for a processor for more than `STARVED_S`: killing
it would only make the others wait longer. But it may hang besides."""


class Supervised:
    """Runs one worker, and starts it again whenever it ends."""

    def __init__(
        self,
        number: int,
        clock: Clock,
        fork: Callable[[], socket.socket],
        begin: Callable[[int], Begin],
        count: Callable[[DomainCounts], None],
        pass_on: Callable[[int, Announcement], None],
    ) -> None:
        """Start the worker.

        `fork` and `begin` return the socket and the first message of a new process; `count` is called with what it has
        counted, `pass_on` with its number and what it has to pass on to the others.
        """
        self._number = number
        self._clock = clock
        self._fork = fork
        self._begin = begin
        self._count = count
        self._pass_on = pass_on
        self._channel: WorkerChannel | None = None
        self._pid = 0
        self._asked: list[asyncio.Future[None]] = []
        self._silent_checks = 0.0
        self._waited_s = 0.0
        """How long the process has waited for a processor, at the last check without a report."""
        self._failure: Failed | None = None
        self._last: Sequence[Metric] = ()
        self._past: Sequence[Metric] = ()
        """Counters of the processes that have ended."""
        self._stops = asyncio.Event()
        self.health: Mapping[str, Any] = {}
        self.greeting: asyncio.Future[str | Failed] = asyncio.get_running_loop().create_future()
        """The text of the first process that listens, or why it cannot."""
        self.closed = asyncio.Event()
        """Set when it does not accept connections any more, because it was asked to stop."""
        self.restarts = 0
        self.watcher: Watcher | None = None
        """Called with the requests that the process answers; None: it does not keep them."""
        self._task = asyncio.create_task(self._keep())

    @property
    def metrics(self) -> list[Sequence[Metric]]:
        """The metrics of the running process, as last reported, and those that others have left."""
        return [self._last, self._past]

    @property
    def is_running(self) -> bool:
        return self._channel is not None and bool(self.health)

    def send(self, message: Message) -> None:
        """Send a message to the process, if there is one."""
        if self._channel is not None:
            self._channel.send(message)

    async def refresh(self) -> None:
        """AskReport for metrics and health, and wait for them."""
        if not self.is_running:
            return
        asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked.append(asked)
        if len(self._asked) == 1:
            self.send(AskReport(watched=self.watcher is not None))
        await asyncio.wait([asked])

    def stop(self, message: Message) -> None:
        """Let the process end, for good."""
        self._stops.set()
        self.send(message)

    async def wait(self) -> None:
        """Wait until it has ended for good."""
        await asyncio.shield(self._task)

    def kill(self) -> None:
        """End a process that does not stop."""
        if self._channel is not None and self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def check(self) -> None:
        """End a process that has not reported for long; it is started again. To be called after each `refresh`."""
        if not self._asked:
            self._silent_checks = 0.0
            return
        before_s, self._waited_s = self._waited_s, processor_wait_s(self._pid)
        is_starved = self._silent_checks > 0.0 and self._waited_s - before_s > STARVED_S
        was_long = self._silent_checks >= SILENT_CHECKS
        self._silent_checks += STARVED_CHECK if is_starved else 1.0
        if self._silent_checks >= SILENT_CHECKS and not was_long:
            logger.warning("worker %d (process %d) does not answer: it is killed", self._number, self._pid)
            self.kill()

    async def _keep(self) -> None:
        pauses = Pauses()
        while not self._stops.is_set():
            started_s = self._clock.monotonic()
            await self._run()
            if self._stops.is_set() or not self.greeting.done() or isinstance(self.greeting.result(), Failed):
                break
            why = f"cannot run: {self._failure.message}" if self._failure else f"(process {self._pid}) has ended"
            pause_s = pauses.after(self._clock.monotonic() - started_s)
            logger.warning("worker %d %s; it is started again in %.2f s", self._number, why, pause_s)
            self.restarts += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stops.wait(), pause_s)
        self.closed.set()

    async def _run(self) -> None:
        """Run one process to its end."""
        self._failure = None
        try:
            end_of_pair = self._fork()
        except OSError as error:  # of file descriptors, say
            self._failure = Failed(f"no process can be forked: {error.strerror}", is_input=False)
            self._ended()
            return
        self._channel = channel = await WorkerChannel.open(end_of_pair)
        channel.send(self._begin(self._number))
        if self._stops.is_set():  # while the channel was opened
            channel.send(Stop())
        while (message := await channel.receive()) is not None:
            self._received(message)
        self._channel = None
        self._ended()
        await channel.close()

    def _ended(self) -> None:
        self._past, self._last, self.health = merged([self._past, lasting(self._last)]), (), {}
        self._answered()
        if not self.greeting.done():
            self.greeting.set_result(self._failure or Failed("a worker ended while it started", is_input=False))

    def _received(self, message: Message) -> None:
        match message:
            case Born(pid):
                self._pid = pid
            case Listening(greeting):
                self.health = {"status": "ok"}
                if not self.greeting.done():
                    self.greeting.set_result(greeting)
            case Draining():
                self.closed.set()
            case Announcement():
                self._pass_on(self._number, message)
            case Failed():
                self._failure = message
            case Report(metrics, health, requests, seen):
                if seen and self.watcher is not None:
                    self.watcher(seen)
                self._last, self.health = metrics, health
                self._count(requests)
                self._answered()

    def _answered(self) -> None:
        asked, self._asked = self._asked, []
        for one in asked:
            if not one.done():
                one.set_result(None)

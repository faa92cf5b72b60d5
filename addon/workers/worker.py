"""A worker: one of several processes that serve an address, run by a supervisor."""

import asyncio
import logging
import os
import signal
import socket
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from bestbefore.addon.dashboard.recent import KEPT
from bestbefore.addon.errors import InputError
from bestbefore.addon.hub.companions import of_proxy
from bestbefore.addon.proxy import service as service_module
from bestbefore.addon.proxy.allocator import limit_retained
from bestbefore.addon.proxy.mitm.master import accept_no_more, end, make_master
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.proxy.start_error import StartError
from bestbefore.addon.store.backend.interface import StoreInputError, StoreUnusableError
from bestbefore.addon.workers.messages import (
    Announcement,
    AskReport,
    Begin,
    Born,
    Drain,
    Draining,
    Failed,
    Listening,
    Reconfigure,
    Reopen,
    Report,
    Stop,
    WorkerChannel,
)
from bestbefore.addon.workers.sent_config import SentConfig

if TYPE_CHECKING:
    from mitmproxy.master import Master

    from bestbefore.addon.admin.event import Answered


def work(end_of_pair: socket.socket, sockets: Sequence[socket.socket]) -> None:
    """Serve connections of these sockets until the supervisor says so or ends."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(asyncio.CancelledError):  # stopped before it listened
        asyncio.run(_run(end_of_pair, sockets))


async def _run(end_of_pair: socket.socket, sockets: Sequence[socket.socket]) -> None:
    channel = await WorkerChannel.open(end_of_pair)
    channel.send(Born(os.getpid()))
    begin = await channel.receive()
    if isinstance(begin, Begin):
        try:
            worker = _Worker(begin, channel)
        except (InputError, OSError, ValueError) as error:  # from the files that the configuration names
            channel.send(Failed(str(error), is_input=True))
        else:
            await worker.run(sockets)
    await channel.close()


class _Worker:
    def __init__(self, begin: Begin, channel: WorkerChannel) -> None:
        _name_in_log(begin.place.number)
        self._channel = channel
        self._config = SentConfig(begin.config_file, begin.config)
        self._service = Service(
            self._config, begin.clock, log_requests=begin.log_requests, companion=of_proxy, place=begin.place
        )
        relay = self._service.state.relay
        for announcement in begin.announcements:
            relay.receive(announcement)
        relay.send = lambda content, lasting: channel.send(Announcement(content, lasting))
        self._seen: deque[Answered] | None = None
        self._master: Master | None = None
        self._starting = asyncio.current_task()
        self._ending: asyncio.Task[None] | None = None

    async def run(self, sockets: Sequence[socket.socket]) -> None:
        """Serve until asked to stop, and report the reason if that is not possible."""
        limit_retained()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._drain)
        obeying = asyncio.create_task(self._obey())
        try:
            await self._service.start()
            self._master = make_master(self._service, lambda text: self._channel.send(Listening(text)), sockets)
            await self._master.run()
        except (InputError, StoreInputError) as error:
            self._channel.send(Failed(str(error), is_input=True))
        except (StartError, StoreUnusableError) as error:
            self._channel.send(Failed(str(error), is_input=False))
        finally:
            obeying.cancel()
            await self._service.stop()
            if self._master is not None:
                await accept_no_more(self._master)  # before the supervisor closes the sockets
                self._report()

    async def _obey(self) -> None:
        while (message := await self._channel.receive()) is not None:
            match message:
                case AskReport(watched):
                    if self._service.ready:
                        self._watch(watched)
                        self._report()
                case Reconfigure(outcome):
                    self._config.sent(outcome)
                    if self._service.ready:
                        self._service.poll_config()
                case Reopen():
                    self._service.recording.reopen()
                case Announcement(content):
                    self._service.state.relay.receive(content)
                case Drain():
                    self._drain()
                case Stop():
                    self._stop()
        self._drain()  # the supervisor was killed

    def _report(self) -> None:
        recording = self._service.recording
        recording.flush()
        seen = () if self._seen is None else tuple(self._seen)
        if self._seen is not None:
            self._seen.clear()
        self._channel.send(
            Report(recording.metrics.families(), self._service.health(), recording.summary.take(), seen)
        )

    def _watch(self, watched: bool) -> None:
        """Keep the last requests for reports, or do not."""
        if watched == (self._seen is not None):
            return
        self._seen = deque(maxlen=KEPT) if watched else None
        self._service.recording.watch(None if self._seen is None else self._seen.extend)

    def _stop(self) -> None:
        if self._master is not None:
            self._master.shutdown()
        elif self._starting is not None:
            self._starting.cancel()

    def _drain(self) -> None:
        if self._master is None:
            self._stop()
        elif self._ending is None:
            self._ending = asyncio.create_task(self._end())

    async def _end(self) -> None:
        assert self._master is not None
        await accept_no_more(self._master)
        self._channel.send(Draining())
        await end(self._master, self._service)


def _name_in_log(number: int) -> None:
    """Let each line of the log name the worker; what all would say of the configuration is said by the first alone."""

    def name(record: logging.LogRecord) -> bool:
        if number > 1 or record.name != service_module.__name__:
            record.msg = f"worker {number}: {record.msg}"
        return True

    for handler in logging.getLogger().handlers:
        handler.addFilter(name)
    if number > 1:
        logging.getLogger(service_module.__name__).setLevel(logging.WARNING)

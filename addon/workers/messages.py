"""What a supervisor and its workers send each other, over a socket that no other process has."""

import asyncio
import pickle
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client.core import Metric

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.summary import DomainCounts
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.load import Config
from bestbefore.addon.config.watch import Refused, Reloaded
from bestbefore.addon.proxy.place import WorkerPlace
from bestbefore.addon.proxy.relay import Lasting

_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Begin:
    """To a worker, first: what it is to run."""

    place: WorkerPlace
    config: Config
    config_file: Path | None
    clock: Clock
    log_requests: bool
    announcements: Sequence[object] = ()
    """What earlier workers have passed on, and this one must know too."""


@dataclass(frozen=True, slots=True)
class Reconfigure:
    """To a worker: the configuration has changed, or a changed one was refused."""

    outcome: Reloaded | Refused


@dataclass(frozen=True, slots=True)
class Reopen:
    """To a worker: open the log file again."""


@dataclass(frozen=True, slots=True)
class AskReport:
    """To a worker: report. `watched`: whether it is to keep its requests for the next report."""

    watched: bool = False


@dataclass(frozen=True, slots=True)
class Announcement:
    """Of a worker, and to the others: what `WorkerRelay` passes on."""

    content: object
    lasting: Lasting = Lasting.NONE


@dataclass(frozen=True, slots=True)
class Drain:
    """To a worker: accept no connections, answer the requests in progress, and end."""


@dataclass(frozen=True, slots=True)
class Stop:
    """To a worker: end now."""


@dataclass(frozen=True, slots=True)
class Born:
    """Of a worker, first: its process."""

    pid: int


@dataclass(frozen=True, slots=True)
class Listening:
    """Of a worker: it accepts connections. With the text for the user."""

    greeting: str


@dataclass(frozen=True, slots=True)
class Draining:
    """Of a worker: it accepts no connections any more."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Of a worker: it cannot run, with the reason for the user. `is_input`: the user's input is wrong."""

    message: str
    is_input: bool


@dataclass(frozen=True, slots=True)
class Report:
    """Of a worker, when it is asked and at its end: its metrics and health, and its counts since the last report."""

    metrics: Sequence[Metric]
    health: Mapping[str, Any]
    requests: DomainCounts
    seen: Sequence[Answered] = ()
    """The last requests since the last report, if they are watched."""


type Message = (
    Begin | Reconfigure | Reopen | AskReport | Announcement | Drain | Stop
    | Born | Listening | Draining | Failed | Report
)


class WorkerChannel:
    """One end of the connection between a supervisor and a worker. Must be closed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, end: socket.socket) -> "WorkerChannel":
        """Take over one end of a socket pair."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    def send(self, message: Message) -> None:
        """Send a message. It is lost if the other process has ended."""
        data = pickle.dumps(message)
        self._writer.write(_LENGTH.pack(len(data)) + data)

    async def receive(self) -> Message | None:
        """Return the next message; None if the other process has ended."""
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            message: Message = pickle.loads(await self._reader.readexactly(length))  # noqa: S301 - our own process
        except (asyncio.IncompleteReadError, OSError):
            return None
        return message

    async def close(self) -> None:
        """Close it after what was sent is written."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:  # the other process has ended
            return

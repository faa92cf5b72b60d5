"""The list of what is tunnelled, in a file, and requests to lift it, in another.

The command `bestbefore tunnels` and the proxy share the state folder and nothing else.
"""

import json
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bestbefore.addon.clock import Clock
from bestbefore.addon.proxy.tunnels.refusals import Refusals
from bestbefore.addon.rules import HostPattern

logger = logging.getLogger(__name__)

LIST_FILE = "tunnels.json"
_MAX_LIFT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Tunnelled:
    """A client and a host whose connections are tunnelled."""

    client: str
    user: str
    program: str
    host: str
    since_s: float
    """In policy time, as `until_s`."""
    until_s: float
    reason: str


class TunnelListing:
    """Keeps the list up to date, and lifts what is asked for."""

    def __init__(
        self, state: Path, refusals: Refusals, clock: Clock, lifted: Callable[[int], object]
    ) -> None:
        """`lifted` is called with the number of tunnels that a request has lifted."""
        self._path = state / LIST_FILE
        self._refusals = refusals
        self._clock = clock
        self._lifted = lifted
        self._written: int | None = None

    def poll(self) -> None:
        """Lift what is asked for, and write the list if it has changed. Must be called about once a second."""
        for pattern, address in self._requests():
            count = self._refusals.lift(pattern, address)
            self._lifted(count)
            logger.info("%s: %d tunnel%s lifted", pattern, count, "" if count == 1 else "s")
        if self._written == self._refusals.version:
            return
        self._written = self._refusals.version
        monotonic_s = self._clock.monotonic()
        offset_s = self._clock.now() - monotonic_s
        rows = [
            Tunnelled(*one.client, one.host, one.since_s + offset_s, one.until_s + offset_s, one.reason)
            for one in self._refusals.current(monotonic_s)
        ]
        path = self._path
        try:
            _write(path.with_suffix(".part"), "".join(json.dumps(asdict(row)) + "\n" for row in rows), os.O_TRUNC)
            path.with_suffix(".part").replace(path)
        except OSError as error:
            logger.warning("%s cannot be written: %s", path, error.strerror)

    def _requests(self) -> Sequence[tuple[HostPattern, str | None]]:
        path = _lift_file(self._path)
        taken = path.with_suffix(".taken")
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            path.rename(taken)
            with taken.open("rb") as file:
                lines = file.read(_MAX_LIFT_BYTES).splitlines()
            taken.unlink()
            asked = [json.loads(line) for line in lines]
            return [(HostPattern.parse(one["host"]), one["client"]) for one in asked]
        return ()


def read_list(state: Path, now_s: float) -> list[Tunnelled]:
    """Return what the proxy of a state folder tunnels. Raises FileNotFoundError if no proxy has run with it."""
    rows = [Tunnelled(**json.loads(line)) for line in (state / LIST_FILE).read_text("utf-8").splitlines()]
    return [row for row in rows if row.until_s > now_s]


def request_lift(state: Path, pattern: HostPattern, address: str | None) -> Path:
    """Ask the proxy of a state folder to lift tunnels; return the file that is gone once it has."""
    path = _lift_file(state / LIST_FILE)
    _write(path, json.dumps({"host": pattern.text, "client": address}) + "\n", os.O_APPEND)
    return path


def _lift_file(path: Path) -> Path:
    return path.with_suffix(".lift")


def _write(path: Path, text: str, flag: int) -> None:
    """Write a file that others cannot read: it says who visits what."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600), "w", encoding="utf-8") as file:
        file.write(text)

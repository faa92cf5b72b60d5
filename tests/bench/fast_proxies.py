"""Real proxies in compressed time, on one clock.

    python fast_proxies.py ZERO_S LEASE_S proxy ...

runs a proxy whose clock of BESTBEFORE_CLOCK began at `ZERO_S` of the monotonic clock (`-`: now), with this lease on
shards in real seconds (`-`: the usual one).
"""

import asyncio
import math
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path

import aiohttp

from bestbefore.addon import clock
from bestbefore.addon.cli import main as command
from bestbefore.addon.store.server.embedded import server_binary

PORT = 21_377


class Client:
    """What asks a proxy, and what it knows of the proxy's clock."""

    def __init__(
        self, session: aiohttp.ClientSession, process: Process, proxy: str, start_s: float, factor: int
    ) -> None:
        self._session = session
        self._process = process
        self._proxy = proxy
        self._factor = factor
        self.start_s = start_s
        self.zero_s = 0.0
        """Monotonic time at which the proxy's clock began; both processes have the same monotonic clock."""

    async def ask(self, url: str) -> str:
        """The Date of the answer."""
        async with self._session.get(url, proxy=self._proxy) as answer:
            await answer.read()
            answer.raise_for_status()
            return answer.headers["Date"]

    async def synchronise(self) -> None:
        """Find the beginning of the proxy's clock from the whole seconds of its Dates, to some milliseconds.

        It is rather taken for later than it was: an origin that is ahead would date items in the future.
        """
        latest_s = math.inf
        for _ in range(40):
            date_s = parsedate_to_datetime(await self.ask("http://bestbefore.test/")).timestamp()
            latest_s = min(latest_s, time.monotonic() - (date_s - self.start_s) / self._factor)
        self.zero_s = latest_s

    def now(self) -> float:
        """Policy time of the proxy."""
        return self.start_s + self._factor * (time.monotonic() - self.zero_s)

    async def until(self, policy_s: float) -> None:
        await asyncio.sleep(max(0.0, policy_s - self.now()) / self._factor)

    def kill(self) -> None:
        """End the proxy at once."""
        self._process.kill()


@asynccontextmanager
async def running_proxy(
    state: Path, config: Path, store: str, start_s: float, factor: int, *, zero_s: float | None = None,
    lease_s: float | None = None,
) -> AsyncIterator[Client]:
    """A proxy whose clock began at `start_s`, now or at `zero_s` of the monotonic clock."""
    own = [sys.executable, __file__, "-" if zero_s is None else repr(zero_s), "-" if lease_s is None else repr(lease_s)]
    process = await asyncio.create_subprocess_exec(
        *own, "proxy", "--quiet", "--workers", "1", "--admin", "off", "--state", state, "--store", store,
        "--config", config, "--listen", "127.0.0.1:0",
        stdout=PIPE, env={**os.environ, "BESTBEFORE_CLOCK": f"{start_s},{factor}"},
    )
    said = asyncio.create_task(_address(process))
    try:
        async with aiohttp.ClientSession() as session:
            client = Client(session, process, await asyncio.wait_for(asyncio.shield(said), 120.0), start_s, factor)
            await client.synchronise()
            yield client
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def _address(process: Process) -> str:
    assert process.stdout is not None
    while line := (await process.stdout.readline()).decode():
        if "listens on" in line:
            return line.split("listens on", 1)[1].split()[0]
    raise RuntimeError("the proxy did not start")


@asynccontextmanager
async def running_server(folder: Path) -> AsyncIterator[str]:
    """A server for the store of several proxies; its URL."""
    settings = ("--port", str(PORT), "--save", "", "--appendonly", "no")
    process = await asyncio.create_subprocess_exec(server_binary(), *settings, cwd=folder, stdout=DEVNULL)
    try:
        await asyncio.sleep(1.0)
        yield f"redis://127.0.0.1:{PORT}/0"
    finally:
        process.terminate()
        await process.wait()


def main() -> None:
    """See the module."""
    zero, lease = sys.argv[1:3]
    sys.argv[1:3] = []
    if zero != "-":
        start_s, factor = map(float, os.environ[clock.VARIABLE].split(","))
        made = clock.FastClock(start_s, factor)
        made._started_at = float(zero)

        def clock_of(_: Mapping[str, str]) -> clock.FastClock:
            return made

        clock.clock_from_environment = clock_of  # before the command is imported
    if lease != "-":
        from bestbefore.addon.prefetcher import prefetcher

        prefetcher.LEASE_S, prefetcher.RENEW_S, prefetcher.SHORT_OF_SHARDS_S = (
            float(lease), float(lease) / 4, float(lease) / 4
        )
    command()


if __name__ == "__main__":
    main()

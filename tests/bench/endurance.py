"""Whether the proxy grows: many requests to origins of which most fail, and its descriptors and memory on the way.

    python tests/bench/endurance.py --out docs/results/endurance.md

Linux only, since it reads /proc. The slopes are those of the second half, when what is held on purpose (hot copies,
connections that are kept open) has its size.
"""

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import bad_origins
import numpy as np
from results_page import write_page

CLIENTS = 16
EVERY = 10_000
QUIET_S = 70.0
"""After the last request: longer than the proxy waits for an origin that says nothing."""
LEAVES_AFTER_S = 0.2
"""How long a client waits for an answer that does not come."""
PATIENCE_S = 30.0
PAGE = """16 clients request many URLs, most from origins that refuse, hang up, reset within the content, send
invalid HTTP or nothing. The lines show the resources of the proxy during the run, and the last one after it was idle
for longer than it waits for an origin. The lines between them count the requests and their outcomes. See
[conformance](../conformance.md#broken-input)."""
printed: list[str] = []


def say(line: str) -> None:
    """Print a line, and keep it for the page."""
    print(line, flush=True)
    printed.append(line)


class Mix:
    """Which URL is asked for next."""

    def __init__(self, origins: dict[str, str]) -> None:
        self._origins = origins
        self._random = random.Random(1)

    def next(self) -> tuple[str, str]:
        """What is asked, and its URL. Of the failing origins there are many URLs, as there are of the web."""
        draw, number = self._random.random(), self._random.randrange(5000)
        if draw < 0.4:
            return "fresh", f"{self._origins['behaving']}/fresh?{number % 500}"
        if draw < 0.5:
            return "short", f"{self._origins['behaving']}/short?{number % 50}"
        if draw < 0.55:
            return "not stored", f"{self._origins['behaving']}/other?{number}"
        if draw < 0.552:
            return "silent", f"{self._origins['silent']}/{number}"
        if draw < 0.66:  # some of what it sends can be stored
            return "malformed", f"{self._origins['malformed']}/{number % 50}"
        kind = self._random.choice(("refusing", "resetting", "hanging up"))
        return kind, f"{self._origins[kind]}/{number}"


class Client:
    """Asks on one connection for as long as the proxy keeps it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, url: str, patience_s: float) -> str:
        """The status of the answer, or what became of it."""
        try:
            async with asyncio.timeout(patience_s):
                return await self._ask(url)
        except TimeoutError:
            self._leave()
            return "left"
        except (asyncio.IncompleteReadError, ConnectionError):
            self._leave()
            return "broken off"

    async def _ask(self, url: str) -> str:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        host = url.split("/", 3)[2]
        self._writer.write(f"GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), None)
        if length is None:
            while size := int(await self._reader.readuntil(b"\r\n"), 16):
                await self._reader.readexactly(size + 2)
            await self._reader.readuntil(b"\r\n")
        else:
            await self._reader.readexactly(length)
        return head.split(b" ", 2)[1].decode()

    def _leave(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
            self._writer = None


def measured(pid: int) -> tuple[int, int]:
    """Open descriptors and resident KiB of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()), int(resident.split()[1])


def told(asked: int, pid: int, began_s: float) -> tuple[int, int, int]:
    """Print a line, and return what is in it."""
    descriptors, resident_kib = measured(pid)
    rate = asked / (time.perf_counter() - began_s)
    say(f"{asked:8d} requests {descriptors:5d} descriptors {resident_kib / 1024:7.1f} MiB {rate:6.0f}/s")
    return asked, descriptors, resident_kib


async def endure(port: int, pid: int, requests: int) -> list[tuple[int, int, int]]:
    """Ask, and measure on the way."""
    origins = {
        "behaving": await bad_origins.start(bad_origins.behaving),
        "resetting": await bad_origins.start(bad_origins.resetting),
        "hanging up": await bad_origins.start(bad_origins.hanging_up),
        "malformed": await bad_origins.start(bad_origins.malformed()),
        "silent": await bad_origins.start(bad_origins.silent),
        "refusing": bad_origins.refusing(),
    }
    mix, outcomes, lines, asked = Mix(origins), Counter[tuple[str, str]](), [], 0
    began_s = time.perf_counter()

    async def work() -> None:
        nonlocal asked
        client = Client(port)
        while asked < requests:
            asked += 1
            if asked % EVERY == 0:
                lines.append(told(asked, pid, began_s))
            kind, url = mix.next()
            outcomes[kind, await client.ask(url, LEAVES_AFTER_S if kind == "silent" else PATIENCE_S)] += 1

    lines.append(told(0, pid, began_s))
    await asyncio.gather(*(work() for _ in range(CLIENTS)))
    for (kind, outcome), n in sorted(outcomes.items()):
        say(f"    {kind:12s} {outcome:10s} {n:8d}")
    await asyncio.sleep(QUIET_S)
    told(asked, pid, began_s)
    return lines


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--out", type=Path, help="write a page with what is printed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as state:
        proxy = subprocess.Popen(
            [Path(sys.executable).parent / "bestbefore", "proxy", "--quiet", "--admin", "off", "--state", state,
             "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert proxy.stdout is not None
            port = int(proxy.stdout.readline().rpartition(":")[2])
            lines = asyncio.run(endure(port, proxy.pid, asked.requests))
        finally:
            proxy.terminate()
            proxy.wait()
    half = np.array(lines[len(lines) // 2 :], dtype=float)
    for name, column in (("descriptors", 1), ("KiB", 2)):
        slope = np.polyfit(half[:, 0] / EVERY, half[:, column], 1)[0]
        say(f"slope over the second half: {slope:+.1f} {name} per {EVERY} requests")
    if asked.out is not None:
        write_page(asked.out, "Endurance", PAGE, "\n".join(printed))


if __name__ == "__main__":
    main()

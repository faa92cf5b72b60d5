"""How long the pages of the dashboard take with many objects, and what hits notice of it.

    python tests/bench/dashboard.py 100000

A store has so many objects of 500 domains, each tenth of them with an update and a copy. A proxy on it is asked for its
pages, a few times each, and for one page that it has stored, alone and while pages are asked for.
"""

import asyncio
import hashlib
import os
import statistics
import sys
import tempfile
import time
from itertools import batched
from pathlib import Path

import aiohttp

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.opening import open_store

PORT = 18_985
HIT = "http://bestbefore.test/clock"
PAGES = (
    "/", "/requests", "/domains", "/objects", "/objects?start=950", "/objects?url=http://www.site-0.example/500",
    "/objects?url=http://www.site-7.example/absent", "/objects?url=site-7",
    "/objects?url=nowhere", "/feeds", "/plan", "/policies", "/tunnels", "/configuration",
)  # fmt: skip
CONFIG = f"""
[proxy]
listen = "127.0.0.1:{PORT}"
admin = "127.0.0.1:{PORT + 1}"
[[domain]]
match = "bestbefore.test"
policy = "fixed"
"""
TIMES = 7
BATCH = 1_000


def _url(number: int) -> str:
    return f"http://www.site-{number % 500}.example/{number}"


def _seen(number: int, at_s: float) -> Observation:
    return Observation(_url(number), at_s, "", Fingerprint(body=f"{number} {at_s}"))


async def fill(folder: Path, number: int) -> None:
    clock = RealClock()
    store = await open_store("embedded", clock=clock, state=folder)
    now_s, head = clock.now(), Head(200, Fields([("ETag", '"x"'), ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")]))
    for first in range(0, number, BATCH):
        batch = range(first, min(first + BATCH, number))
        for some in batched(batch, 4):
            await asyncio.gather(*(store.learn(_seen(i, now_s - 90_000.0)) for i in some))
        for i in batch[::10]:
            await store.learn(_seen(i, now_s - 3600.0))
        for i in batch:
            store.requested(_url(i))
        for i in batch[::10]:
            body = f"{i:010}".encode() * 10
            ref = BodyRef(hashlib.blake2b(body, digest_size=20).hexdigest(), len(body))
            store.put(Copy(_url(i), head, ref, now_s, now_s, now_s, now_s, expiry_s=now_s + 600), body)
            store.requested(_url(i))
        await store.flush()
    await store.close()


async def hits(session: aiohttp.ClientSession, until: asyncio.Event) -> list[float]:
    """The seconds of each hit, one at a time with a pause of 2 ms, until the event."""
    took = []
    while not until.is_set():
        began = time.perf_counter()
        async with session.get(HIT, proxy=f"http://127.0.0.1:{PORT}") as answer:
            await answer.read()
        took.append(time.perf_counter() - began)
        await asyncio.sleep(0.002)
    return took


def told(what: str, took: list[float]) -> None:
    ordered = sorted(took)
    high = ordered[int(0.99 * len(ordered))]
    print(f"{what:55s} {len(took):6d} {1e3 * statistics.median(took):8.1f} {1e3 * high:8.1f} {1e3 * ordered[-1]:8.1f}")


async def measured() -> None:
    print(f"{'ms':55s} {'number':>6s} {'median':>8s} {'p99':>8s} {'max':>8s}")
    async with aiohttp.ClientSession() as session:
        alone = asyncio.Event()
        asyncio.get_running_loop().call_later(5.0, alone.set)
        told("hits, no page asked for", await hits(session, alone))
        ended = asyncio.Event()
        beside = asyncio.create_task(hits(session, ended))
        for path in PAGES:
            took = []
            for _ in range(TIMES):
                began = time.perf_counter()
                async with session.get(f"http://127.0.0.1:{PORT + 1}{path}") as answer:
                    await answer.read()
                took.append(time.perf_counter() - began)
            told(path, took)
        ended.set()
        told("hits, while pages were asked for", await beside)


async def main(number: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.perf_counter()
        await fill(folder, number)
        print(f"{number} objects, stored in {time.perf_counter() - began:.0f} s; load {os.getloadavg()[0]:.1f}")
        config = folder / "bestbefore.toml"
        config.write_text(CONFIG)
        process = await asyncio.create_subprocess_exec(
            Path(sys.executable).parent / "bestbefore", "proxy", "--quiet", "--state", folder, "--config", config,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            while b"bestbefore show" not in await process.stdout.readline():
                pass
            await measured()
        finally:
            process.terminate()
            await process.wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))

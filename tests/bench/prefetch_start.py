"""How long a proxy takes to start prefetching many objects, the memory that they take, and what a hit notices of it.

    python tests/bench/prefetch_start.py 1000000

A server has so many candidates, with URLs of some 55 characters, 200 of a domain. A proxy on it is asked for one page
again and again, until its metrics say that it has all of them. Linux only (`/proc`).
"""

import asyncio
import math
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
import numpy as np
import redis
from fast_proxies import PORT, running_server

from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.keeper import digest_of, shard_of
from bestbefore.addon.store.candidate import Candidate, encode

CONFIG = """
[proxy]
admin = "127.0.0.1:{admin}"
[prefetch]
enabled = true
budget = "24/day"
"""
BATCH = 10_000
OTHERS = 10
"""The objects of the proxy with which the memory is compared."""


def fill(number: int) -> None:
    """Put candidates into the server, last contacted now."""
    rng = random.Random(1)
    with redis.Redis(port=PORT) as client:
        client.flushall()
        for first in range(0, number, BATCH):
            shards: dict[str, dict[str, bytes]] = {}
            for i in range(first, min(first + BATCH, number)):
                url = f"https://www.site-{i // 200}.example.org/news/feeds/{i}.xml"
                hours = bytes(rng.choices(range(1, 30), k=24))
                one = Candidate(math.exp(rng.gauss(-3.0, 1.5)), time.time(), rng.randrange(2, 50), hours, 0.2)
                shards.setdefault(keys.of_shard(shard_of(digest_of(url))), {})[url] = encode(one)
            pipeline = client.pipeline(transaction=False)
            for name, of in shards.items():
                pipeline.hset(name, mapping=of)
            pipeline.execute()


def _used(pid: int) -> tuple[float, float]:
    """The memory of a process, MB, and the seconds of the processor that it took."""
    memory = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    assert memory is not None
    return int(memory[1]) / 1024, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


async def measured(folder: Path, number: int) -> tuple[float, float, float, list[float]]:
    """The seconds until all objects are there, MB of memory, processor seconds, and the seconds of each answer."""
    config = folder / "proxy.toml"
    config.write_text(CONFIG.format(admin=PORT + 1))
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).parent / "bestbefore", "proxy", "--quiet", "--workers", "1", "--state", folder,
        "--config", config, "--store", f"redis://127.0.0.1:{PORT}/0", "--listen", f"127.0.0.1:{PORT + 2}",
    )
    hits: list[float] = []
    try:
        async with aiohttp.ClientSession() as session:
            began = None
            while True:
                at = time.monotonic()
                try:
                    async with session.get("http://bestbefore.test/", proxy=f"http://127.0.0.1:{PORT + 2}") as answer:
                        await answer.read()
                    if began is None:
                        began = at
                    hits.append(time.monotonic() - at)
                    if len(hits) % 20 == 0:
                        async with session.get(f"http://127.0.0.1:{PORT + 1}/metrics") as answer:
                            text = await answer.text()
                        found = re.search(r"^bestbefore_prefetch_objects (\S+)$", text, re.MULTILINE)
                        if found is not None and float(found[1]) >= number:
                            break
                except aiohttp.ClientConnectionError:
                    pass
                await asyncio.sleep(0.02)
            return time.monotonic() - began, *_used(process.pid), hits
    finally:
        process.terminate()
        await process.wait()


async def main() -> None:
    """See the module."""
    number = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with running_server(folder):
            memory_mb = {}
            for n in (OTHERS, number):
                fill(n)
                (folder / str(n)).mkdir()
                start_s, memory_mb[n], cpu_s, hits = await measured(folder / str(n), n)
    grown = (memory_mb[number] - memory_mb[OTHERS]) * 2**20 / number
    print(f"{number} objects: {start_s:.0f} s from the first answer, {cpu_s:.0f} s of the processor")
    print(f"{grown:.0f} bytes of memory an object: {memory_mb[OTHERS]:.0f} MB without, {memory_mb[number]:.0f} MB with")
    shown = [f"{1000 * np.quantile(hits, q):.0f} ms" for q in (0.5, 0.99, 1.0)]
    print(f"{len(hits)} answers meanwhile: {shown[0]} in the median, {shown[1]} at 99 percent, {shown[2]} at most")


if __name__ == "__main__":
    asyncio.run(main())

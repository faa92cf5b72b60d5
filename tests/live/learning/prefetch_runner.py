"""A process that prefetches from a Redis until it is killed: `prefetch_runner.py URL HOLDER LEASE_S FETCH_S`.

It prints `holds N` whenever it holds other shards, and `begin URL` and `end URL` for each fetch, which takes `FETCH_S`,
asks nobody, and is not repeated.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable

import numpy as np
from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.prefetch_section import PrefetchSettings
from bestbefore.addon.prefetcher import runner
from bestbefore.addon.prefetcher.candidates import Candidates
from bestbefore.addon.prefetcher.due_jobs import Job
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.prefetcher.runner import Done, Runner
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store


async def hold(store: Store, candidates: Candidates, wake: asyncio.Event, holder: str, lease_s: float) -> None:
    while True:
        held = await store.planning.hold(holder, lease_s)
        if held is not None and held.shards != candidates.shards:
            await candidates.hold(held.shards)
            wake.set()
            print("holds", len(held.shards), flush=True)
        await asyncio.sleep(lease_s / 8)


async def main(where: str, holder: str, lease_s: float, fetch_s: float) -> None:
    runner.LEASE_S, runner.RENEW_INTERVAL_S, runner.LONGEST_WAIT_S = lease_s, lease_s / 4, 0.05
    clock = RealClock()
    store = await open_store(where, clock=clock)
    rules, settings = load_config(None, {"state": "/nowhere"}).rules, PrefetchSettings()
    metrics = PrefetchMetrics(CollectorRegistry())
    candidates = Candidates(store, clock, lambda: rules, lambda *_: False, settings, metrics)

    async def fetch(job: Job, may_contact: Callable[[], Awaitable[bool]]) -> Done:
        assert await may_contact()
        print("begin", job.url, flush=True)
        await asyncio.sleep(fetch_s)
        print("end", job.url, flush=True)
        return Done("unchanged")

    def ended(job: Job, _: Done) -> None:
        candidates.leave(job.url)

    politeness = Politeness(0.01, 1, np.random.default_rng(1))
    running = Runner(
        clock, store.planning, candidates, politeness, settings.budget, metrics, holder, fetch, ended
    )
    await asyncio.gather(running.run(), hold(store, candidates, running.wake, holder, lease_s))


asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])))

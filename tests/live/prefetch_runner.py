"""A process that runs the plan in a Redis until it is killed: `prefetch_runner.py URL HOLDER LEASE_S FETCH_S`.

It prints `begin URL` and `end URL` for each fetch, which takes `FETCH_S` and asks nobody.
"""

import asyncio
import sys

import numpy as np
from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.prefetch_metrics import PrefetchMetrics
from bestbefore.addon.clock import RealClock
from bestbefore.addon.prefetcher import runner
from bestbefore.addon.prefetcher.politeness import Politeness
from bestbefore.addon.prefetcher.runner import Done, Runner
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.plan import Job
from bestbefore.addon.wishes import FetchRate


async def main(where: str, holder: str, lease_s: float, fetch_s: float) -> None:
    runner.LEASE_S, runner.RENEW_INTERVAL_S, runner.POLL_S = lease_s, lease_s / 4, 0.05
    clock = RealClock()
    store = await open_store(where, clock=clock)

    async def fetch(job: Job) -> Done:
        print("begin", job.url, flush=True)
        await asyncio.sleep(fetch_s)
        print("end", job.url, flush=True)
        return Done("unchanged")

    print("open", flush=True)
    politeness = Politeness(0.01, 1, np.random.default_rng(1))
    metrics = PrefetchMetrics(CollectorRegistry())
    await Runner(clock, store.planning, politeness, FetchRate(1000, 3600.0), metrics, holder, fetch).run()


asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])))

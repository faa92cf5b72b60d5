"""How long postings wait with live prefetching, in compressed time.

    python tests/bench/prefetch_feeds.py --parallel 2 --out docs/results/prefetch_live.md

The folder of the traces is BESTBEFORE_TRACES. Each row of the table is a run of its own, of some minutes; `--runs 1
pair` makes two of them. Linux only (`feed_origin`).
"""

import argparse
import asyncio
import math
import os
import random
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from fast_proxies import Client, running_proxy, running_server
from feed_origin import FeedOrigin
from feed_replay import contacts_s
from results_page import write_page

from bestbefore.addon.prefetcher.candidates import AIMED_PART
from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.papers.feeds.learnt_rates import LearntRates
from bestbefore.replay.papers.feeds.polling import Listed, Measured, Postings, Schedules
from bestbefore.replay.papers.feeds.runs import BOTH, PLANNED, STRATEGIES, UNIFORM
from bestbefore.replay.papers.feeds.spans import START_S, TRACES, Spans, cut, like_paper
from bestbefore.replay.traces.columns.files import read_updates

BASE_S = 1_704_067_200.0
"""2024-01-01, the first midnight of all feeds. Their two weeks to learn from begin there."""
FEEDS = 200
LEASE_S = 2.0
"""The lease on shards of the proxies of `pair`, in real seconds: compressed time makes it long."""


@dataclass(frozen=True, slots=True)
class Run:
    """How a run goes: fetches of each feed and day, days of policy time, how much faster than real time they pass."""

    per_day: int
    factor: int
    asking_days: float
    """In which clients ask for each feed, twice."""
    before_days: int
    """From the start of the proxies until postings are judged."""
    judged_days: int
    after_days: float
    """In which the last postings may still be fetched."""
    proxies: int = 1
    """Of two, the first is killed in the middle of the judged days."""


RUNS: Mapping[str, Run] = {
    "1": Run(1, 1440, 0.9, 3, 6, 1.5),
    "2": Run(2, 1440, 0.5, 2, 3, 1.0),
    "4": Run(4, 720, 0.25, 1, 2, 0.5),
    "8": Run(8, 540, 0.25, 1, 1, 0.5),
    "weeks": Run(1, 5760, 0.9, 3, 35, 1.5),
    "pair": Run(1, 1440, 0.9, 3, 7, 1.5, proxies=2),
}
TOLERANCE = 0.05
"""Of the delay that the replay has."""
EXPLANATION = """A real origin plays {feeds} feeds of `postings_*.csv.gz` in compressed time
(`BESTBEFORE_CLOCK`), and a real `bestbefore proxy` with `[prefetch]` fetches them for `objective = "delay"`.
The feeds are spans of 90 days, drawn so that their numbers of postings follow the law of the paper's figure 7.
Each has an address of its own, so that politeness (2 s) holds for each apart. Every posting is an item with its
time.

A client asks for each feed once, and the proxy is stopped. It is started again two weeks of policy time later,
and clients ask for each feed twice, at moments spread over some hours; a feed takes part from its second
request on, and for good (`prefetch = "always"`). The documents list the items of the two weeks, so that the
history is complete without a contact in between. Of a budget {aimed:.0%} are aimed at; it is set so that these
are the fetches a day of the first column. `robots.txt` is not read, since that would count in it. Some days
later, from a midnight on, postings are judged, until they are fetched or the run ends.

- *live*: the mean delay, in minutes, from a posting to the first contact at or after it that the origin has
  logged;
- *replayed*: the same for the moments at which the same code would fetch, without proxy and origin
  (`feed_replay.py`);
- *fetches*: by feed and day, in the judged days, live and replayed;
- *uniform*, *both*, *planned*: the same postings under the plans of the [replay](feeds.md), made from the two
  weeks: evenly spaced, the paper's best, and ours.

**Tolerance.** *live* and *replayed* are to agree within {tolerance:.0%}. They do in {agreeing} of {rows} rows.

A second of real time is {factors} minutes in these rows, so that each tenth of a second that a fetch takes on a
busy machine is as many tenths of that. The judged days are {days}, so rows are not of the same postings.
Postings not fetched by the end count as fetched then, live and replayed."""
PAIR = """

In `pair` two proxies share a store and the objects, and the first is killed (SIGKILL) in the middle of the
judged week. Their lease on shards is {lease:g} s of real time, {lease_min:.0f} minutes of policy time, in place
of 20 s. Of the run:

- {before:.2f} fetches a feed and day before the kill, by both; {during:.2f} in the {gap_h:.0f} hours after it;
  {after:.2f} then;
- {longest_h:.1f} h was the longest time without a fetch of any feed of the killed one, for feeds fetched daily
  or more;
- {twice} fetches of a feed within {twice_s:.0f} s of policy time of one by the other proxy."""
TWICE_S = 600.0
GAP_H = 6.0


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a run."""

    name: str
    run: Run
    live: Measured
    replayed: Measured
    plans: Sequence[Measured]
    """`uniform`, `both`, and ours."""
    pair: str = ""

    @property
    def agrees(self) -> bool:
        return abs(self.live.mean_s / self.replayed.mean_s - 1.0) <= TOLERANCE

    def line(self) -> str:
        plans = " ".join(f"{plan.mean_s / 60:>8.1f}" for plan in self.plans)
        return (
            f"{self.name:<6} {self.run.per_day:>5} {self.live.mean_s / 60:>7.1f} {self.replayed.mean_s / 60:>8.1f} "
            f"{self.live.mean_s / self.replayed.mean_s - 1:>+6.1%} {self.live.retrievals_per_day:>7.2f} "
            f"{self.replayed.retrievals_per_day:>8.2f} {plans}"
        )


HEADING = "run    a day    live replayed   diff fetches replayed  uniform     both  planned"


async def measured(spans: Spans, name: str) -> Row:
    """Make a run."""
    run, feeds = RUNS[name], len(spans)
    budget = math.ceil(run.per_day * feeds / AIMED_PART)
    start_s = BASE_S + START_S
    judged_s = START_S + run.before_days * DAY_S, START_S + (run.before_days + run.judged_days) * DAY_S
    end_s = judged_s[1] + run.after_days * DAY_S
    times_s = [BASE_S + times for times in spans.times_s]
    order = 2 * random.Random(run.per_day).sample(range(feeds), feeds)
    asked_s = [(start_s + place / len(order) * run.asking_days * DAY_S, feed) for place, feed in enumerate(order)]
    origin = FeedOrigin([times.tolist() for times in times_s])
    await origin.start()
    killed_s = BASE_S + (judged_s[0] + judged_s[1]) / 2.0
    try:
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            store = await stack.enter_async_context(running_server(folder)) if run.proxies > 1 else "embedded"
            config = folder / "proxy.toml"
            config.write_text("")
            async with running_proxy(folder / "0", config, store, BASE_S, run.factor) as client:
                origin.now = client.now
                for feed in range(feeds):
                    await client.ask(origin.url(feed))
            clients: list[Client] = []
            for number in range(run.proxies):
                config = folder / f"{number}.toml"
                config.write_text(_config(budget, f"proxy-{number}"))
                clock = (start_s, None) if not clients else (clients[0].start_s, clients[0].zero_s)
                clients.append(await stack.enter_async_context(running_proxy(
                    folder / str(number), config, store, clock[0], run.factor, zero_s=clock[1],
                    lease_s=LEASE_S if run.proxies > 1 else None,
                )))
            origin.now = clients[0].now
            began_s = clients[0].now()
            for place, (at_s, feed) in enumerate(asked_s):
                await clients[0].until(began_s + at_s - start_s)
                await clients[place % len(clients)].ask(origin.url(feed))
            if run.proxies > 1:
                await clients[0].until(killed_s)
                clients[0].kill()
            await clients[-1].until(BASE_S + end_s)
    finally:
        await origin.stop()
    live = [np.array(moments) - BASE_S for moments in origin.contacts_s]
    again = contacts_s(times_s, "delay", budget, BASE_S, asked_s, BASE_S + end_s, evenly=False)
    postings = Postings.of(spans.times_s).between(*judged_s)

    def judged(schedules: Schedules) -> Measured:
        return Measured.of(schedules, postings, feeds, *judged_s)

    learnt = LearntRates(spans)
    return Row(
        name,
        run,
        judged(Listed([moments[moments <= end_s] for moments in live])),
        judged(Listed([moments - BASE_S for moments in again])),
        [judged(STRATEGIES[plan](learnt, run.per_day)) for plan in (UNIFORM, BOTH, PLANNED)],
        "" if run.proxies == 1 else _of_pair(origin, run, [BASE_S + t for t in judged_s], killed_s),
    )


def _config(budget: int, agent: str) -> str:
    return f"""
[default]
prefetch = "always"
[prefetch]
enabled = true
budget = "{budget}/day"
objective = "delay"
robots = false
user_agent = "{agent}"
"""


def _of_pair(origin: FeedOrigin, run: Run, judged_s: Sequence[float], killed_s: float) -> str:
    """What became of the objects of a killed proxy."""
    gap_s = GAP_H * HOUR_S
    fetches = sorted((at, feed, agent) for feed, of in enumerate(origin.agents) for at, agent in of)
    counts = [
        sum(a <= at < b for at, _, _ in fetches) / len(origin.agents) / ((b - a) / DAY_S)
        for a, b in ((judged_s[0], killed_s), (killed_s, killed_s + gap_s), (killed_s + gap_s, judged_s[1]))
    ]
    twice, longest_s = 0, 0.0
    for of in origin.agents:
        of = [(at, agent) for at, agent in of if "proxy-" in agent and at >= judged_s[0]]
        pairs = list(pairwise(of))
        twice += sum(a[1] != b[1] and b[0] - a[0] < TWICE_S for a, b in pairs)
        if len(of) >= run.judged_days and any(agent == "proxy-0" for _, agent in of):
            longest_s = max(longest_s, *(b[0] - a[0] for a, b in pairs if a[0] <= killed_s < b[0]), 0.0)
    return PAIR.format(
        lease=LEASE_S, lease_min=LEASE_S * run.factor / 60.0, before=counts[0], during=counts[1], after=counts[2],
        gap_h=GAP_H, longest_h=longest_s / HOUR_S, twice=twice, twice_s=TWICE_S,
    )


def read_feeds(folder: Path) -> Spans:
    """Those that are played."""
    spans = [
        span for name in TRACES for span in cut(read_updates(folder / f"postings_{name}.csv.gz", print))
    ]
    return like_paper(Spans("all", spans), FEEDS)


async def measured_all(spans: Spans, names: Sequence[str], parallel: int) -> list[Row]:
    free = asyncio.Semaphore(parallel)

    async def one(name: str) -> Row:
        async with free:
            row = await measured(spans, name)
        print(row.line() + row.pair, flush=True)
        return row

    return await asyncio.gather(*map(one, names))


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--parallel", type=int, default=1, help="how many runs are made at a time")
    parser.add_argument("--out", type=Path, help="write a page with the table")
    asked = parser.parse_args()
    spans = read_feeds(Path(os.environ["BESTBEFORE_TRACES"]))
    print(HEADING, flush=True)
    rows = asyncio.run(measured_all(spans, asked.runs, asked.parallel))
    if asked.out is None:
        return
    explanation = EXPLANATION.format(
        feeds=len(spans),
        aimed=AIMED_PART,
        factors=", ".join(f"{row.run.factor / 60:g}" for row in rows),
        days=", ".join(str(row.run.judged_days) for row in rows),
        tolerance=TOLERANCE,
        agreeing=sum(row.agrees for row in rows),
        rows=len(rows),
    )
    table = "\n".join([HEADING, *(row.line() for row in rows)])
    write_page(asked.out, "Prefetching feeds, live", explanation + "".join(row.pair for row in rows), table)


if __name__ == "__main__":
    main()

"""A week of live prefetching, in compressed time: two proxies on a store, one killed, feeds with a hub, and a sitemap.

    python tests/bench/prefetch_week.py --out docs/results/prefetch_week.md

The week is played twice, without what the origins tell and with it, in some minutes each. The folder of the traces is
BESTBEFORE_TRACES. Linux only (`feed_origin`).
"""

import argparse
import asyncio
import math
import os
import random
import socket
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from fast_proxies import Client, running_proxy, running_server
from prefetch_feeds import BASE_S, LEASE_S, TWICE_S, read_feeds
from results_page import write_page
from week_origin import WeekOrigin

from bestbefore.addon.prefetcher.candidates import AIMED_PART
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray
from bestbefore.replay.papers.feeds.polling import Listed, Postings
from bestbefore.replay.papers.feeds.spans import START_S, Spans

ASKING_DAYS, BEFORE_DAYS, JUDGED_DAYS, AFTER_DAYS = 0.9, 2, 7, 1.0
"""In which clients ask for each object, twice; until updates are judged; the week; for the last updates of it."""
EVERY = 10
"""Of so many objects in turn one is a feed with a hub, and one a page that the sitemap lists."""
FACTOR = 1440
EXPLANATION = """Two proxies (`bestbefore proxy`, `BESTBEFORE_CLOCK`) share a store and {objects} objects that play
`postings_*.csv.gz` as in [prefetching feeds](prefetch_live.md): {feeds} feeds, {hubbed} feeds with a WebSub hub that
pushes each posting to both proxies, and {pages} pages of one site, whose updates its sitemap lists. The sitemap is an
object like the others. The budget is {budget} fetches a day, of which {aimed:.0%} are aimed at: one for each object.
Clients ask for each object twice, on the first day. Updates are judged in a week that begins {before} days later, in
whose middle the first proxy is killed (SIGKILL). The lease on shards is {lease:g} s of real time, here {lease_min:.0f}
minutes, in place of 20 s.

- *delay*: the mean, in minutes, from an update to the first contact at or after it that the origin has logged, and
  the median;
  *before* and *after* the kill: the mean of the updates of that time;
- *polled*: the mean in the same week without hubs and without a sitemap, with the same budget;
- *a day*: fetches by object and day;
- *open*: updates of the week that no contact has found by its end and {after:g} days more, of objects fetched that
  seldom.

A second of real time is {factor_min:g} minutes, so each tenth of a second that a push and its fetch take on a busy
machine is {tenth_min:.1f} minutes."""
FINDINGS = """

- Fetches in 24 hours of the clock: at most {most} of {budget}, as the origin dates them, a little after the proxies
  do; {mean:.1f} in the mean of the week.
- {pushed} pushes were accepted, {unreachable} were not, as they were for the killed proxy; at the end there were
  {subscriptions} subscriptions.
- The other proxy fetched an object of the killed one {takeover_min:.0f} minutes after the kill for the first time.
  {taken} of its {killed} objects were fetched again. {longest_h:.1f} h was the longest time between two fetches of one
  of those that are fetched daily or more.
- {twice} fetches of an object within {twice_s:.0f} s of policy time of one by the other proxy."""
HEADING = "objects          n updates delay median before  after polled  a day open"


@dataclass(frozen=True, slots=True)
class Week:
    """What is played, and when; times of `times_s` are Unix seconds."""

    times_s: Sequence[FloatArray]
    budget: int

    start_s = BASE_S + START_S
    judged_s = start_s + BEFORE_DAYS * DAY_S, start_s + (BEFORE_DAYS + JUDGED_DAYS) * DAY_S
    killed_s = (judged_s[0] + judged_s[1]) / 2.0
    end_s = judged_s[1] + AFTER_DAYS * DAY_S

    @property
    def hubbed(self) -> range:
        return range(0, len(self.times_s), EVERY)

    @property
    def pages(self) -> range:
        return range(1, len(self.times_s), EVERY)

    @property
    def polled(self) -> list[int]:
        return [n for n in range(len(self.times_s)) if n not in self.hubbed and n not in self.pages]


def week_of(spans: Spans) -> Week:
    """The week of these feeds."""
    objects = len(spans) + 1  # and the sitemap
    return Week([BASE_S + times_s for times_s in spans.times_s], math.ceil(objects / AIMED_PART))


def _config(week: Week, agent: str, *, signals: bool) -> str:
    config = f"""
[default]
prefetch = "always"
[prefetch]
enabled = true
budget = "{week.budget}/day"
objective = "delay"
robots = false
user_agent = "{agent}"
"""
    if not signals:
        return config
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return f"""{config}[websub]
listen = "127.0.0.1:{port}"
callback_url = "http://127.0.0.1:{port}/cb/"
"""


async def _push(
    week: Week, hubbed: Collection[int], origin: WeekOrigin, until: Callable[[float], Awaitable[None]]
) -> None:
    postings = sorted((at_s, feed) for feed in hubbed for at_s in week.times_s[feed] if at_s > week.start_s)
    async with asyncio.TaskGroup() as group:
        for at_s, feed in postings:
            await until(at_s)
            group.create_task(origin.push(feed))


async def played(week: Week, asked_s: Sequence[tuple[float, int]], *, signals: bool) -> WeekOrigin:
    """Play the week; return the origin with what it has logged. Without `signals` there are no hubs and no sitemap."""
    hubbed = week.hubbed if signals else ()
    origin = WeekOrigin([times_s.tolist() for times_s in week.times_s], hubbed, week.pages)
    await origin.start()
    try:
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            store = await stack.enter_async_context(running_server(folder))
            config = folder / "proxy.toml"
            config.write_text("")
            async with running_proxy(folder / "0", config, store, BASE_S, FACTOR) as client:
                origin.now = client.now
                for feed in (*week.hubbed, *week.polled):
                    await client.ask(origin.url(feed))
            clients: list[Client] = []
            for number in range(2):
                config = folder / f"{number}.toml"
                config.write_text(_config(week, f"proxy-{number}", signals=signals))
                clock = (week.start_s, None) if not clients else (clients[0].start_s, clients[0].zero_s)
                clients.append(await stack.enter_async_context(running_proxy(
                    folder / str(number), config, store, clock[0], FACTOR, zero_s=clock[1], lease_s=LEASE_S,
                )))
            origin.now = clients[1].now
            pushing = asyncio.create_task(_push(week, hubbed, origin, clients[1].until))
            for place, (at_s, number) in enumerate(asked_s):
                if number == len(week.times_s) and not signals:
                    continue
                await clients[1].until(at_s)
                for client in clients if number in hubbed else [clients[place % 2]]:
                    await client.ask(origin.sitemap if number == len(week.times_s) else origin.url(number))
            await clients[1].until(week.killed_s)
            clients[0].kill()
            await clients[1].until(week.end_s)
            pushing.cancel()
    finally:
        await origin.stop()
    return origin


def _line(
    name: str, week: Week, numbers: Collection[int], live: Sequence[FloatArray], polled: Sequence[FloatArray]
) -> str:
    """A line of the table."""
    times_s = [week.times_s[number] - BASE_S for number in numbers]
    begin_s, killed_s, end_s = (at_s - BASE_S for at_s in (week.judged_s[0], week.killed_s, week.judged_s[1]))
    found, other = (Listed([of[number] - BASE_S for number in numbers]) for of in (live, polled))

    def delays_min(schedules: Listed, since_s: float, until_s: float) -> FloatArray:
        return schedules.delays_s(Postings.of(times_s).between(since_s, until_s)) / 60.0

    delays = delays_min(found, begin_s, end_s)
    known = delays[np.isfinite(delays)]
    before, after, without = (
        float(some[np.isfinite(some)].mean())
        for some in (
            delays_min(found, begin_s, killed_s), delays_min(found, killed_s, end_s), delays_min(other, begin_s, end_s)
        )
    )
    a_day = found.retrievals(begin_s, end_s).sum() / len(numbers) / JUDGED_DAYS
    return (
        f"{name:<14} {len(numbers):>3} {delays.size:>7} {known.mean():>5.1f} {np.median(known):>6.1f} {before:>6.1f} "
        f"{after:>6.1f} {without:>6.1f} {a_day:>6.2f} {delays.size - known.size:>4}"
    )


def _findings(week: Week, origin: WeekOrigin) -> str:
    """What is said below the explanation."""
    logged = [*origin.agents, origin.sitemap_agents]
    fetches = sorted((at_s, n, agent) for n, of in enumerate(logged) for at_s, agent in of if "proxy-" in agent)
    by_hour = Counter(int(at_s // HOUR_S) for at_s, _, _ in fetches)
    first, last = min(by_hour), max(by_hour)
    most = max(sum(by_hour[hour + k] for k in range(24)) for hour in range(first, last + 1))
    judged = [one for one in fetches if week.judged_s[0] <= one[0] < week.judged_s[1]]
    holders = {n: agent for at_s, n, agent in fetches if at_s < week.killed_s}
    killed = {n for n, agent in holders.items() if agent == "proxy-0"}
    taken_s: dict[int, float] = {}
    for at_s, n, _ in fetches:
        if at_s >= week.killed_s and n in killed:
            taken_s.setdefault(n, at_s)
    longest_s, twice = 0.0, 0
    for n, of in enumerate(logged):
        made = [(at_s, agent) for at_s, agent in of if "proxy-" in agent and at_s >= week.judged_s[0]]
        twice += sum(a[1] != b[1] and b[0] - a[0] < TWICE_S for a, b in pairwise(made))
        if n in killed and len(made) >= JUDGED_DAYS:
            longest_s = max(longest_s, *(b[0] - a[0] for a, b in pairwise(made) if a[0] <= week.killed_s < b[0]), 0.0)
    return FINDINGS.format(
        most=most, budget=week.budget, mean=len(judged) / JUDGED_DAYS, pushed=origin.pushed,
        unreachable=origin.unreachable, subscriptions=origin.subscriptions,
        takeover_min=(min(taken_s.values(), default=math.inf) - week.killed_s) / 60.0, taken=len(taken_s),
        killed=len(killed), longest_h=longest_s / HOUR_S, twice=twice, twice_s=TWICE_S,
    )


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write a page with the table")
    asked = parser.parse_args()
    week = week_of(read_feeds(Path(os.environ["BESTBEFORE_TRACES"])))
    objects = len(week.times_s) + 1
    order = 2 * random.Random(7).sample(range(objects), objects)
    asked_s = [(week.start_s + place / len(order) * ASKING_DAYS * DAY_S, number) for place, number in enumerate(order)]
    origins = [asyncio.run(played(week, asked_s, signals=signals)) for signals in (False, True)]
    polled, live = (
        [np.array([at_s for at_s in of if at_s <= week.end_s]) for of in origin.contacts_s] for origin in origins
    )
    kinds = (("feeds", week.polled), ("feeds with hub", week.hubbed), ("listed pages", week.pages))
    lines = [_line(name, week, numbers, live, polled) for name, numbers in kinds]
    table, findings = "\n".join([HEADING, *lines]), _findings(week, origins[1])
    print(table + findings)
    if asked.out is None:
        return
    explanation = EXPLANATION.format(
        objects=objects, feeds=len(week.polled), hubbed=len(week.hubbed), pages=len(week.pages), budget=week.budget,
        aimed=AIMED_PART, before=BEFORE_DAYS, after=AFTER_DAYS, lease=LEASE_S, lease_min=LEASE_S * FACTOR / 60.0,
        factor_min=FACTOR / 60.0, tenth_min=FACTOR / 600.0,
    )
    write_page(asked.out, "A week of prefetching, live", explanation + findings, table)


if __name__ == "__main__":
    main()

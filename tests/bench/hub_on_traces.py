"""A hub's channel against edges that validate, on recorded postings: `python tests/bench/hub_on_traces.py [--record]`.

The folder of the traces is BESTBEFORE_TRACES. With --record the table also becomes docs/results/hub_traces.md.
"""

import bisect
import gzip
import math
import os
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from results_page import write_page

from bestbefore.addon.hub.rate_limit import RateLimit
from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.table import SCHEDULERS
from bestbefore.policies.models.demand import first_request, requested
from bestbefore.policies.models.hazard.memory import memory_since, updated_at
from bestbefore.policies.models.history import History
from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.policies.validation.machinery.spec import make_policy

PAGE = Path(__file__).parents[2] / "docs" / "results" / "hub_traces.md"
FILES = ("postings_feeds", "postings_releases", "postings_commits")
START_S = 1_704_067_200.0
"""A midnight, to which each object is moved by whole days."""
LEARNING_S, MEASURED_S = 14 * DAY_S, 7 * DAY_S
END_S = START_S + LEARNING_S + MEASURED_S
OBJECTS, EDGES, EACH = 200, 10, 40
POLL_S = 600.0
CONTENT_BYTES, NOT_MODIFIED_BYTES, HEAD_BYTES = 20_000, 500, 1000
TOLERANCES = {"indttl": "theta", "renewal": "price"}
"""The policies by which edges validate, and the key that sets what they spend."""
RANGES = {"theta": (0.01, 10.0), "price": (0.01, 100.0)}
"""The ranges of these keys."""
STEPS = 7
"""Of the search for the theta or price that costs as much as the hub: to a factor of 1.06 or 1.08 of it."""
BANDWIDTHS = (10.0, 20.0, 40.0)

EXPLANATION = f"""{OBJECTS} recorded feeds, release lists and commit lists (the three busiest weeks of each, \
moved to the same time, with 10 postings or more), {EDGES} edges with {EACH} of them each, popular ones more \
often, whose clients ask for each object once an hour, or every ten minutes, on average, at random. *hub*: the \
hub polls each object every {POLL_S / 60:.0f} minutes on the wide side (*at once*: it knows of each change when it \
happens) and sends what has changed, {(CONTENT_BYTES + HEAD_BYTES) / 1000:.0f} kB each; edges never ask. The rates \
of change that `gain` and `rxc` use are those of the first two weeks. *own*: each edge has a stream of its own; \
*shared*: all read one, whose bytes each link carries, wanted there or not. *indttl*, *renewal*: each edge \
validates for itself, after two weeks in which it learns; a 304 is {NOT_MODIFIED_BYTES} bytes on its link, new \
content {(CONTENT_BYTES + HEAD_BYTES) / 1000:.0f} kB. The theta or price is the one that spends as many bytes as \
*own* with `gain`, found by bisection from {RANGES["theta"][0]:g} to {RANGES["theta"][1]:g}, or \
{RANGES["price"][0]:g} to {RANGES["price"][1]:g}; with a request an hour none spends more than 15 a second. \
The bytes are those that arrive on the link of an edge, in the third week, without heartbeats (the hub's \
are 3 bytes a second at one a minute). *stale*: of the requests, those answered with content older than the \
origin's; *delay*: from a posting until the edge has it, on average.

Validation costs bytes by requests, the channel by changes. With a request every ten minutes the hub has about a \
third of the stale answers at the same bytes, or less (1.9 % at 23 bytes a second, where edges have 5.8 %; 3.6 and \
14.8 % at 16). With one an hour it has half at 9 bytes a second (7.5 %, where edges have 14.6 %); at 15 edges that \
validate are ahead, as they skip changes that no client asks for (2.0 %, the hub 3.6 % at 16). \
Edges that validate by `renewal` have fewer stale \
answers than by `indttl`, at the same bytes: with a request every ten minutes the hub is still ahead (2.5 % at \
23 bytes a second, 6.6 % at 16), with one an hour they are at 16 (0.2 %), not at 9 (12.5 %). To know of changes at \
once is worth up to two fifths of what is stale. A shared stream carries what others want, and needs several times as \
much. `gain` has the fewest stale answers on streams of their own; it leaves aside what changes often, whose delay \
is long. The edges' own policy is not mixed in: as configured by default (`max_wait`) an edge would ask the origin \
for what waits too long."""


@dataclass(frozen=True)
class Instance:
    """Postings by object, objects by edge, requests by edge and object."""

    updates: list[list[float]]
    wanted: list[list[int]]
    requests: list[dict[int, list[float]]]


@dataclass
class Result:
    """What arrived on the links, and what clients got."""

    link_bytes: float = 0.0
    requests: int = 0
    stale: int = 0
    delay_s: float = 0.0
    delays: int = 0

    @property
    def bytes_per_s(self) -> float:
        return self.link_bytes / EDGES / MEASURED_S

    def row(self, name: str) -> str:
        values = f"{self.bytes_per_s:>9.1f}{self.stale / self.requests:>10.2%}{self.delay_s / self.delays / 60:>12.1f}"
        return f"{name:<34}{values}"


def recorded() -> Iterator[list[float]]:
    """The three busiest weeks of each object, moved to the start."""
    for name in FILES:
        times: dict[str, list[float]] = defaultdict(list)
        with gzip.open(Path(os.environ["BESTBEFORE_TRACES"]) / f"{name}.csv.gz", "rt") as lines:
            next(lines)
            for line in lines:
                key, time_s = line.rsplit(",", 1)
                times[key].append(float(time_s))
        for _, found in sorted(times.items()):
            found.sort()
            counts = [bisect.bisect_left(found, time_s + LEARNING_S + MEASURED_S) - n for n, time_s in enumerate(found)]
            begin_s = found[counts.index(max(counts))] // DAY_S * DAY_S
            moved = [time_s - begin_s + START_S for time_s in found]
            kept = [time_s for time_s in moved if START_S <= time_s < END_S]
            if len(kept) >= 10:
                yield kept


def instance(seed: int, every_s: float) -> Instance:
    """`every_s`: the mean time between requests for an object at an edge."""
    draw = random.Random(seed)
    updates = draw.sample(list(recorded()), OBJECTS)
    wanted = []
    for _ in range(EDGES):
        found: set[int] = set()
        while len(found) < EACH:
            found.add(int(OBJECTS * draw.random() ** 2))
        wanted.append(sorted(found))
    requests: list[dict[int, list[float]]] = []
    for objects in wanted:
        of_edge = {}
        for number in objects:
            at_s, times = START_S + draw.expovariate(1.0 / every_s), []
            while at_s < END_S:
                times.append(at_s)
                at_s += draw.expovariate(1.0 / every_s)
            of_edge[number] = times
        requests.append(of_edge)
    return Instance(updates, wanted, requests)


def judge(
    result: Result, updates: Sequence[float], requests: Sequence[float], got: Sequence[tuple[float, float]]
) -> None:
    """Count stale answers and delays, given when the edge got the state of which time."""
    measured_s = START_S + LEARNING_S
    arrivals = [at_s for at_s, _ in got]
    for at_s in requests:
        if at_s >= measured_s:
            place = bisect.bisect_right(arrivals, at_s) - 1
            known_s = got[place][1] if place >= 0 else -1.0
            result.requests += 1
            result.stale += bisect.bisect_right(updates, at_s) > bisect.bisect_right(updates, known_s)
    states = [state_s for _, state_s in got]
    for update_s in updates:
        if measured_s <= update_s < END_S - DAY_S:
            place = bisect.bisect_left(states, update_s)
            result.delays += 1
            result.delay_s += (got[place][0] if place < len(got) else END_S) - update_s


def validating(given: Instance, name: str, tolerance: float) -> Result:
    """Each edge by this policy, with this theta or price, without groups."""
    policy = make_policy(name, {TOLERANCES[name]: tolerance, "max_ttl": "1d", "bootstrap": "1m"})
    result = Result()
    for of_edge in given.requests:
        for number, times in of_edge.items():
            updates, seen, got = given.updates[number], list[float](), list[tuple[float, float]]()
            expiry_s, last_s = 0.0, times[0]
            memory, demand = memory_since(times[0]), None
            for at_s in times:
                demand = first_request(at_s) if demand is None else requested(demand, at_s)
                if at_s < expiry_s:
                    continue
                new = updates[bisect.bisect_right(updates, last_s) : bisect.bisect_right(updates, at_s)] if got else []
                seen += new[-1:]  # what the Last-Modified of a response dates
                if new:
                    memory = updated_at(memory, new[-1], last_s)
                changed = bool(new) or not got
                if at_s >= START_S + LEARNING_S:
                    result.link_bytes += CONTENT_BYTES + HEAD_BYTES if changed else NOT_MODIFIED_BYTES
                got.append((at_s, at_s))
                last_s = at_s
                history = History.of(seen, times[0], memory=memory)
                expiry_s = policy.verdict(history, None, at_s, demand=demand).expiry_s
            judge(result, updates, times, got)
    return result


def as_costly(given: Instance, name: str, targets: Sequence[float]) -> Iterator[str]:
    """The rows of a policy at the thetas or prices whose bytes are nearest to these bytes a second, by bisection.

    Bytes that none of them spends give the row of the most that can be spent, once.
    """
    most_bytes_last = TOLERANCES[name] == "price"

    @cache
    def at(exponent: float) -> Result:
        return validating(given, name, 10.0**exponent)

    def distance(exponent: float, target: float) -> float:
        return abs(at(exponent).bytes_per_s - target)

    found = dict[float, None]()
    for target in targets:
        low, high = map(math.log10, RANGES[TOLERANCES[name]])
        tried = []
        for _ in range(STEPS):
            tried.append((low + high) / 2.0)
            upper = (at(tried[-1]).bytes_per_s > target) != most_bytes_last
            low, high = (tried[-1], high) if upper else (low, tried[-1])
        found[min(tried, key=partial(distance, target=target))] = None
    for exponent in found:
        yield at(exponent).row(f"{name}, {TOLERANCES[name]} {10.0**exponent:.3g}")


def through_channel(
    given: Instance, scheduler: str, bandwidth: float, poll_s: float, edges: Sequence[int], result: Result
) -> None:
    """One stream that these edges read. `poll_s`: how often the hub polls; 0: it knows of each change at once."""
    changes = sorted(
        ((int(update_s // poll_s) + 1) * poll_s if poll_s else update_s, number)
        for number in {number for edge in edges for number in given.wanted[edge]}
        for update_s in given.updates[number]
    )
    learnt_s = START_S + LEARNING_S
    intervals_s = [LEARNING_S / (1 + bisect.bisect_left(updates, learnt_s)) for updates in given.updates]
    rule = SCHEDULERS[scheduler].with_intervals(Audience([1] * OBJECTS, per_page=False), intervals_s)
    for edge in edges:
        rule.subscribe(edge, given.wanted[edge], START_S, held=given.wanted[edge])
    limit, now_s, place = RateLimit(bandwidth), START_S, 0
    got: dict[int, list[tuple[float, float]]] = {number: [(START_S, START_S)] for number in range(OBJECTS)}
    fetched_s = [START_S] * OBJECTS
    link_bytes = 0.0
    while now_s < END_S:
        while place < len(changes) and changes[place][0] <= now_s:
            at_s, number = changes[place]
            fetched_s[number] = at_s
            rule.changed(number, at_s)
            place += 1
        item = rule.choose(now_s)
        if item is None:
            if place == len(changes):
                break
            now_s = changes[place][0]
            continue
        limit.sent(CONTENT_BYTES + HEAD_BYTES, now_s)
        got[item].append((now_s, fetched_s[item]))
        link_bytes += (CONTENT_BYTES + HEAD_BYTES) * (now_s >= START_S + LEARNING_S)
        rule.sent(item, now_s)
        now_s += limit.wait_s(now_s)
    for edge in edges:
        result.link_bytes += link_bytes
        for number, times in given.requests[edge].items():
            judge(result, given.updates[number], times, got[number])


def main() -> None:
    lines = list[str]()

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    for every_s, words in ((HOUR_S, "hour"), (600.0, "ten minutes")):
        given = instance(1, every_s)
        say(f"{f'a request every {words}':<34}{'bytes/s':>9}{'stale':>10}{'delay, min':>12}")
        spent = []
        # A single subscriber makes rq and rxw the same as pop, and rxc as gain.
        for kind, schedulers in (("own", ("circ", "pop", "gain")), ("shared", tuple(SCHEDULERS))):
            for bandwidth in BANDWIDTHS:
                for scheduler, poll_s in [("gain", 0.0), *((name, POLL_S) for name in schedulers)]:
                    result = Result()
                    for edges in [[edge] for edge in range(EDGES)] if kind == "own" else [list(range(EDGES))]:
                        through_channel(given, scheduler, bandwidth, poll_s, edges, result)
                    knows = "" if poll_s else ", at once"
                    say(result.row(f"hub {kind}, {bandwidth:.0f} B/s, {scheduler}{knows}"))
                    if kind == "own" and scheduler == "gain" and poll_s:
                        spent.append(result.bytes_per_s)
        for name in TOLERANCES:
            for row in as_costly(given, name, spent):
                say(row)
        say("")
    if "--record" in sys.argv:
        write_page(PAGE, "A hub's channel against edges that validate", EXPLANATION, "\n".join(lines))


if __name__ == "__main__":
    main()

"""How fast requests are replayed, beside libCacheSim: `python tests/bench/replay_speed.py`.

A trace of the shape in `SHAPE` is generated. Each policy gets the parameter with which a tenth of the requests are
contacts; then all engines replay it in turns, several rounds in one run, so that what else the machine does falls on
all of them. Figures are medians, and asserted nowhere. `--libcachesim PYTHON` names an interpreter that has that
package; `--out FILE` writes the page docs/results/replay_speed.md.
"""

import argparse
import math
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
from generated_trace import Shape, write
from replay_long import replayed
from results_page import write_page

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.simulate import plain_engine
from bestbefore.replay.simulate.fast_engine import FastReplay
from bestbefore.replay.simulate.fast_observed_engine import FastObservedReplay
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.files import read_requests, read_updates

SHAPE = Shape(requests=10_000_000, objects=50_000, clients=100_000, updates=2_000_000, days=30, spread=0.5)
PLAIN_REQUESTS = 100_000
CONTACT_REQUESTS = 1_000_000
"""The first so many are replayed where each is a contact."""
CONTACTS = 0.1
SPECS = (
    "ttl:alpha={}", "indhist:theta={}", "agghist:theta={}", "indagg:theta={}", "indttl:theta={},alpha={}",
    "indttl:theta={},alpha={},max_ttl=1d,fallback=ttl+group,history_window=28d",
)
EACH_A_CONTACT = ("indhist:theta=0.1,max_ttl=0", "agghist:theta=0.1,max_ttl=0", "indttl:theta=0.1,max_ttl=0")
"""Their expiries are computed before they are bounded."""
PRICED = ("renewal:price=3",)
"""Replayed as they are: how many requests are contacts follows from the price."""
OBSERVED = (
    "ttl:alpha=1.31", "indhist:theta=0.1,max_ttl=1d,fallback=ttl+group,history_window=28d",
    "indttl:theta=0.1,max_ttl=1d,fallback=ttl+group,history_window=28d",
)
"""Replayed with observed histories."""
EXPLANATION = """In each cell, millions a second of the clock, and in brackets millions a second of *one core's time*,
which others on the machine disturb less. Compiled code holds no lock of the interpreter, and threads share the
requests. *By reckoning*, two idle cores come near twice the figure in brackets. *Expiries* are requests that were
contacts, `plain` is the engine that says what is right, and libCacheSim replays the same requests under LRU.
[Long replays](replay_long.md) have a page of their own."""
TARGETS = (
    (27, "requests", slice(0, 1), "`ttl`"),
    (7, "requests", slice(1, 6), "the others"),
    (3, "expiries", slice(0, 6), "where a tenth are contacts"),
    (3, "expiries", slice(6, 9), "where each request is a contact"),
    (2, "expiries", slice(9, 10), "`renewal`"),
)
"""Millions a second on two cores, of what, by which of the policies measured, and in words."""

def timed(work: Callable[[], object]) -> tuple[float, float]:
    """The seconds of the clock and of the processor, of this process and of those that it has started and ended."""
    began_s, began_cpu_s = time.perf_counter(), sum(os.times()[:4])
    work()
    return time.perf_counter() - began_s, sum(os.times()[:4]) - began_cpu_s


def share_of_contacts(engine: FastReplay, spec: str) -> float:
    counts = engine.replay(parse_spec(spec))
    return (counts.misses + counts.validations) / counts.requests


def with_contacts(engine: FastReplay, pattern: str) -> str:
    """The SPEC whose parameter makes a tenth of the requests contacts, or as near as it can."""
    low, high = 1e-6, 1e3
    for _ in range(12):
        middle = (low * high) ** 0.5
        share = share_of_contacts(engine, pattern.replace("{}", repr(middle)))
        if abs(share - CONTACTS) < CONTACTS / 20:
            break
        low, high = (middle, high) if share > CONTACTS else (low, middle)
    return pattern.replace("{}", f"{middle:.3g}")


def for_libcachesim(requests: Requests, path: Path) -> None:
    """Its format oracleGeneral; each object has the size 1, and no next access is told, for which LRU does not ask."""
    rows = np.zeros(len(requests), dtype=[("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows["time"], rows["object"] = requests.times_s - requests.times_s[0], requests.object_ids
    rows["size"], rows["next"] = 1, -1
    rows.tofile(path)


def lru(python: str, trace: Path) -> tuple[float, float]:
    script = Path(__file__).parent / "libcachesim_lru.py"
    command = [python, str(script), str(trace), str(SHAPE.objects // 10)]
    wall_s, cpu_s, _ = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(wall_s), float(cpu_s)


@dataclass
class Measured:
    """A policy, how many requests are replayed under it, and the seconds of each round by engine: clock, processor."""

    spec: str
    requests: int
    engine: FastReplay
    times: defaultdict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    contacts: float = math.nan

    def things(self, of: str) -> float:
        return self.requests if of == "requests" else self.requests * self.contacts


def first(scenario: Scenario, n: int) -> Scenario:
    """The scenario with the first n requests, or some fewer."""
    requests = scenario.requests
    return Scenario.of(
        scenario.updates, requests.before(float(requests.times_s[n])), cache=Cache.SHARED, warn=print
    )


def engine_for(scenario: Scenario, patterns: Sequence[str]) -> FastReplay:
    """With the code of all these policies compiled."""
    engine = FastReplay(scenario)
    engine.prepare([parse_spec(pattern.replace("{}", "0.1")) for pattern in patterns])
    return engine


def measured(python: str | None, rounds: int, folder: Path) -> Iterator[str]:
    """The lines of the page."""
    files = write(folder, SHAPE)
    load_s = timed(lambda: read_requests(files[1], print))
    updates, requests = read_updates(files[0], print), read_requests(files[1], print)
    scenario = Scenario.of(updates, requests, cache=Cache.SHARED, warn=print)
    sort_s = timed(lambda: FastReplay(scenario))
    part = first(scenario, PLAIN_REQUESTS)
    part.known  # noqa: B018  made once, for all policies
    contacts = first(scenario, CONTACT_REQUESTS)
    engine, few = engine_for(scenario, SPECS + PRICED), engine_for(contacts, EACH_A_CONTACT)
    rows = [Measured(with_contacts(engine, pattern), len(requests), engine) for pattern in SPECS]
    rows += [Measured(spec, len(contacts.requests), few) for spec in EACH_A_CONTACT]
    rows += [Measured(spec, len(requests), engine) for spec in PRICED]
    lru_times = []
    if python is not None:
        for_libcachesim(requests, folder / "lru.bin")
    for _ in range(rounds):
        for row in rows:
            policy = parse_spec(row.spec)
            row.times["fast"].append(timed(lambda e=row.engine, p=policy: e.replay(p)))
            row.times["plain"].append(timed(lambda p=policy: plain_engine.replay(part, p)))
        if python is not None:
            lru_times.append(lru(python, folder / "lru.bin"))
    packages = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy"))
    yield f"`{SHAPE}`, one cache for all; medians of {rounds} rounds; {packages}.\n"
    yield f"Reading {len(requests):,} requests from `.npz`: {load_s[0]:.1f} s ({load_s[1]:.1f} s of the processor)."
    yield f"Sorting them: {sort_s[0]:.1f} s ({sort_s[1]:.1f} s).\n"
    yield "| policy | contacts | fast | plain | fast, expiries |"
    yield "|---|---|---|---|---|"
    for row in rows:
        row.contacts = share_of_contacts(row.engine, row.spec)
        cells = [cell(row.times["fast"], row.things("requests")), cell(row.times["plain"], len(part.requests))]
        cells.append(cell(row.times["fast"], row.things("expiries")))
        yield f"| `{row.spec}` | {row.contacts:.1%} | {' | '.join(cells)} |"
    if python is not None:
        yield f"| libCacheSim, LRU | | {cell(lru_times, len(requests))} | | |"
    yield from targets(rows)
    yield from observed(updates, requests, rounds)
    arguments = ["--updates", str(files[0]), "--requests", str(files[1]), "--cache", "shared", "--policy", rows[1].spec]
    replayed(arguments)  # which compiles, if the sources are not those of the last time
    most_bytes = replayed(arguments).most_bytes
    with tempfile.TemporaryDirectory() as other:
        least = write(Path(other), Shape(1000, SHAPE.objects, SHAPE.clients, SHAPE.updates, SHAPE.days, SHAPE.spread))
        least_bytes = replayed(["--updates", str(least[0]), "--requests", str(least[1]), *arguments[4:]]).most_bytes
    yield (
        f"\nMemory of `bestbefore replay` with `{rows[1].spec}`: at most {most_bytes / 1e6:,.0f} MB, and "
        f"{least_bytes / 1e6:,.0f} MB with the same updates and names and 1,000 requests: "
        f"{(most_bytes - least_bytes) / len(requests):.1f} bytes a request."
    )


def observed(updates: Updates, requests: Requests, rounds: int) -> Iterator[str]:
    """The lines on observed histories, which start from nothing."""
    whole = Scenario.of(updates, requests, cache=Cache.SHARED, warm=Warm.NONE, warn=print)
    few = requests.before(float(requests.times_s[PLAIN_REQUESTS]))
    part = Scenario.of(updates, few, cache=Cache.SHARED, warm=Warm.NONE, warn=print)
    part.observed  # noqa: B018
    engine = FastObservedReplay(whole)
    engine.prepare([parse_spec(spec) for spec in OBSERVED])
    yield "\nWith observed histories, that start from nothing; cores share the objects where no rule looks at groups:\n"
    yield "| policy | contacts | fast | plain | fast, expiries |"
    yield "|---|---|---|---|---|"
    for spec in OBSERVED:
        policy = parse_spec(spec)
        counts = engine.replay(policy)
        contacts = counts.misses + counts.validations
        times: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        for _ in range(rounds):
            times["fast"].append(timed(lambda p=policy: engine.replay(p)))
            times["plain"].append(timed(lambda p=policy: plain_engine.replay(part, p)))
        yield (
            f"| `{spec}` | {contacts / counts.requests:.1%} | {cell(times['fast'], counts.requests)} | "
            f"{cell(times['plain'], len(few))} | {cell(times['fast'], contacts)} |"
        )


def targets(rows: list[Measured]) -> Iterator[str]:
    """What was aimed at beside the policy that comes least near to it."""
    yield "\n| target on two cores | policies | the slowest | by the clock | twice one core's | |"
    yield "|---|---|---|---|---|---|"
    for target, of, among, words in TARGETS:
        found = {row.spec: rates(row.times["fast"], row.things(of)) for row in rows[among]}
        slowest = min(found, key=lambda spec: found[spec][1])
        clock, core = found[slowest]
        met = "met" if clock >= target else "met by reckoning" if 2 * core >= target else "missed"
        yield f"| {target} M {of}/s | {words} | `{slowest}` | {clock:.2f} | {2 * core:.2f} | {met} |"


def rates(seconds: list[tuple[float, float]], things: float) -> tuple[float, float]:
    """Millions a second: of the clock, and of one processor's time."""
    wall_s, cpu_s = (median(column) for column in zip(*seconds, strict=True))
    return things / wall_s / 1e6, things / cpu_s / 1e6


def cell(seconds: list[tuple[float, float]], things: float) -> str:
    clock, core = rates(seconds, things)
    return f"{clock:.2f} ({core:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libcachesim", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        lines = list(measured(given.libcachesim, given.rounds, Path(folder)))
    lines.append(f"\nOther processes were at work: the load was {load:.1f} before and {os.getloadavg()[0]:.1f} after.")
    text = "\n".join(lines)
    print(text)
    if given.out is not None:
        write_page(given.out, "How fast requests are replayed", EXPLANATION, text, preformatted=False)


if __name__ == "__main__":
    main()

"""What siblings save on recorded updates: `python tests/bench/siblings.py --traces DIR [--record] [--policy SPEC]...`.

With --record the table also becomes docs/results/siblings.md.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from results_page import write_page

from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.evaluation.curves import Curve, Spread, ratio
from bestbefore.replay.evaluation.halves import Half
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.fast_observed_engine import FastObservedReplay
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.sweeps.grid import points_of
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.files import read_requests, read_updates

PAGE = Path(__file__).parents[2] / "docs" / "results" / "siblings.md"
STALE = (0.01, 0.02, 0.05)
SCRAPED_EVERY_S = {
    "cdc": DAY_S, "cft": 1800.0, "ipr": 4 * 3600.0, "fpl": 600.0, "moz": 600.0, "disaster": 120.0,
    "dotgov": DAY_S, "fema-shelters": 900.0, "tldr": 0.0, "aws-policy": 3600.0,
}
"""How often a source was looked at, as far as its description tells: its times may be so much too late."""
SELDOM = frozenset(("legislators", "whatwg", "tldr", "dotgov", "moz", "ipr", "aws-policy"))
"""Sources with few updates: 120 days of history and 60 of test, in place of 10 and 14."""
MOST_OBJECTS = 24
MOST_REQUESTS = 4_000
"""How many recorded requests an object has at most: the most requested of all would decide alone."""
REAL = "real"
"""In place of a mean rate: recorded requests, those of objects that are drawn at random."""
REAL_DAYS = (8, 7)
"""The days of history and of test with recorded requests."""
DEFAULT = ("renewal:price=0.3..100/8", "fixed:interval=2m..4d/8")
SPARED, MOST_LOST = 0.9, 1.03


class Cell(NamedTuple):
    """A row of the page."""

    source: str
    kind: str
    requests: str

    @property
    def target(self) -> float | None:
        """The most validations at 1 % stale hits, as a multiple of those without siblings; None: there is no target."""
        if self.kind == "rotated" or (self.source, self.requests) == ("disaster", REAL):
            return MOST_LOST
        return SPARED if self.kind == "recorded" and self.source in ("cdc", "cft") else None


CELLS = tuple(
    Cell(source, kind, requests)
    for source in ("cft", "cdc", "ipr", "fpl", "whatwg", "legislators", "disaster")
    for kind, each in (("recorded", ("5", "20", REAL)), ("jittered", ("20",)), ("rotated", ("20",)))
    for requests in each
    if (kind != "jittered" or source in SCRAPED_EVERY_S) and (requests != REAL or source in ("cft", "disaster"))
)

EXPLANATION = """\
Validations with `siblings=P` at an equal share of stale hits, compared with the same policy without it, in percent:
below 0 is better. Recorded change times; requests drawn at random for each object (Poisson with a daily pattern,
log-normal rates with this mean a day), or *real*: those of objects of the paired trace, drawn at random. One shared
cache, observed histories, which are learnt from the same requests before the test. *Rotated*: the changes of each
object are shifted by a time of its own, so that none change together. *Jittered*: each change is moved back by a random
part of the time between two visits of the scraper, for each object apart, as the times of these sources are those of a
scrape or a commit; legislators and whatwg have their own. Geometric mean over the seeds, each with another window of
the trace and other objects, and the smallest and largest; `-`: one of the two does not reach that share. Each value is
the least over the policy's parameter, interpolated linearly in logarithms.

The last column is computed at 1 % stale hits. The target is -10 % for cdc and cft, and at most +3 % where nothing can
be gained: for rotated changes, and for disaster with real requests. *Kept*: the mean meets it; *not shown*: it does
not, by less than two standard errors of the mean over the seeds; *missed*: by more."""


def sources(traces: Path) -> Mapping[str, Mapping[str, FloatArray]]:
    """Return the updates of each object of each source."""
    found: dict[str, dict[str, FloatArray]] = {}
    for file in ("updates_pages.csv.gz", "updates_scraped.csv.gz"):
        for name, times_s in read_updates(traces / file, print).times_by_object().items():
            found.setdefault(name.partition("/")[0], {})[name] = times_s
    return found


def real_requests(traces: Path) -> list[FloatArray]:
    """Return the recorded requests of each object that is not requested too often: seconds since a week began."""
    recorded = read_requests(traces / "paired" / "dev.requests.csv.gz", print)
    first_s = recorded.times_s[0] // (7 * DAY_S) * 7 * DAY_S
    own = [recorded.times_s[recorded.object_ids == i] - first_s for i in range(len(recorded.objects))]
    return [times_s for times_s in own if len(times_s) <= MOST_REQUESTS]


def scenario(cell: Cell, of_objects: Mapping[str, FloatArray], real: Sequence[FloatArray], seed: int) -> Scenario:
    """Return a window of a source with drawn requests."""
    source, kind, _ = cell
    random = np.random.default_rng([seed, *source.encode()])
    history_s, test_s = (120 * DAY_S, 60 * DAY_S) if source in SELDOM else (10 * DAY_S, 14 * DAY_S)
    if cell.requests == REAL:
        history_s, test_s = (days * DAY_S for days in REAL_DAYS)
    every_s = np.sort(np.concatenate(list(of_objects.values())))
    around_s = float(every_s[int(random.integers(len(every_s) // 10, len(every_s)))])
    last_s = float(every_s[-1]) - history_s - test_s
    origin_s = math.floor(max(min(around_s - history_s - test_s / 2, last_s), float(every_s[0])) / DAY_S) * DAY_S
    end_s = origin_s + history_s + test_s
    within = {name: own[(own >= origin_s) & (own < end_s)] for name, own in of_objects.items()}
    changed = sorted(name for name, own in within.items() if len(own))
    names = sorted(changed[i] for i in random.permutation(len(changed))[:MOST_OBJECTS].tolist())
    moved = [_moved(within[name], origin_s, end_s, source, kind, random) for name in names]
    if cell.requests == REAL:
        start_s = math.ceil(origin_s / (7 * DAY_S)) * 7 * DAY_S  # the days of the week and the hours of the day hold
        asked = [start_s + real[i] for i in random.permutation(len(real))[: len(names)].tolist()]
        asked = [times_s[times_s < end_s] for times_s in asked]
    else:
        mean = float(cell.requests) * np.exp(random.normal(0.0, 1.0, len(names)) - 0.5)
        asked = [_requested(mean[i], origin_s, end_s, random) for i in range(len(names))]
    return Scenario.of(
        Updates.of(np.concatenate(moved), _ids(moved), tuple(names)),
        Requests.of(
            np.concatenate(asked), np.zeros(sum(map(len, asked)), dtype=np.int32), _ids(asked), ("",), tuple(names)
        ),
        origin_s=origin_s, test_start_s=origin_s + history_s, cache=Cache.SHARED, grouping=Grouping.DOMAIN,
        warm=Warm.CONTACTS, warn=lambda _: None,
    )


def _moved(
    times_s: FloatArray, origin_s: float, end_s: float, source: str, kind: str, random: np.random.Generator
) -> FloatArray:
    if kind == "rotated":
        whole_s = end_s - origin_s
        return np.sort(origin_s + (times_s - origin_s + np.floor(random.random() * whole_s)) % whole_s)
    if kind == "jittered":
        earlier_s = random.random(len(times_s)) * SCRAPED_EVERY_S[source]
        return np.unique(np.maximum(np.floor(times_s - earlier_s), origin_s))
    return times_s


def _requested(per_day: float, origin_s: float, end_s: float, random: np.random.Generator) -> FloatArray:
    """Draw Poisson times, at night (22 to 7 o'clock) with 0.3 times the rate of the day."""
    n = random.poisson(per_day * (end_s - origin_s) / DAY_S * 24.0 / 17.7)
    times_s = origin_s + random.random(n) * (end_s - origin_s)
    hours = times_s % DAY_S / 3600.0
    return np.sort(np.floor(times_s[(random.random(n) < 0.3) | ((hours >= 7.0) & (hours < 22.0))]))


def _ids(parts: Sequence[FloatArray]) -> np.ndarray:
    return np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])


def curve(of: Scenario, specs: Sequence[str]) -> Curve:
    """Replay policies that differ in one parameter."""
    fast = FastObservedReplay(of, compiles=True)
    counts = [fast.replay(parse_spec(spec)) for spec in specs]
    return Curve([(one.stale_hits / one.cached, one.validations / one.cached) for one in counts])


def changes(of: Scenario, policy: str, chance: float) -> list[float | None]:
    """Return the validations with siblings as multiples of those without, at each share of stale hits."""
    specs = [point.spec for point in points_of(policy)]
    without = curve(of, specs)
    with_them = curve(of, [f"{spec},siblings={chance:g}" for spec in specs])
    return [ratio(with_them.validations(stale), without.validations(stale)) for stale in STALE]


def rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the table, as Markdown, row by row."""
    shares = " | ".join(f"{stale:.0%} stale" for stale in STALE)
    yield f"| policy | source | changes | requests a day | {shares} | target at {STALE[0]:.0%} |"
    yield "|---|---|---|---|" + "---|" * len(STALE) + "---|"
    found, real = sources(arguments.traces), real_requests(arguments.traces)
    for policy in arguments.policy or DEFAULT:
        for cell in CELLS:
            if arguments.source and cell.source not in arguments.source:
                continue
            objects = {name: own for name, own in found[cell.source].items() if arguments.half.has(name)}
            seeds = range(1, arguments.seeds + 1)
            got = [changes(scenario(cell, objects, real, seed), policy, arguments.siblings) for seed in seeds]
            columns = [_percent([ratios[i] for ratios in got]) for i in range(len(STALE))]
            verdict = "" if cell.target is None else verdict_of([ratios[0] for ratios in got], cell.target)
            yield f"| `{policy.partition(':')[0]}` | {' | '.join((*cell, *columns, verdict))} |"


def verdict_of(ratios: Sequence[float | None], target: float) -> str:
    """Compare the geometric mean of the known ratios with the most that the target allows."""
    logs = np.log([one for one in ratios if one])
    if len(logs) < 2:
        return "-"
    mean, error = float(logs.mean()), float(logs.std(ddof=1) / math.sqrt(len(logs)))
    by = mean - math.log(target)
    word = "kept" if by <= 0.0 else "not shown" if by <= 2.0 * error else "missed"
    return f"{(target - 1.0) * 100.0:+.0f}: {word}"


def _percent(ratios: Sequence[float | None]) -> str:
    spread = Spread.among(ratios)
    if spread is None or not spread.known:
        return "-"
    mean, least, most = ((one - 1.0) * 100.0 for one in (spread.mean, spread.least, spread.most))
    return f"{mean:+.0f} ({least:+.0f} to {most:+.0f})"


def main() -> None:
    """Print the table, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, required=True, help="a folder with updates_pages.csv.gz and so on")
    parser.add_argument("--policy", action="append", help="a SPEC with a range for one parameter")
    parser.add_argument("--source", action="append")
    parser.add_argument("--half", type=Half, default=Half.ALL, choices=list(Half), help="the objects to use")
    parser.add_argument("--siblings", type=float, default=0.05, help="P (default 0.05)")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    printed = []
    for row in rows(arguments):
        print(row, flush=True)
        printed.append(row)
    if arguments.record:
        sys.argv = ["DIR" if one == str(arguments.traces) else one for one in sys.argv]
        write_page(PAGE, "Validations saved by siblings", EXPLANATION, "\n".join(printed), preformatted=False)


if __name__ == "__main__":
    main()

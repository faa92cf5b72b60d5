"""Whether laws of the gaps between updates would better the schedule: `python tests/bench/gap_laws.py TRACES`.

TRACES is the folder of the recorded traces. Of each source, objects without clockwork are contacted by `Schedule` in
its last four weeks, and in four that end twelve weeks earlier, once an object and day, for the least delay. Estimates
are those of the proxy. `now` is the mean delay in minutes; the other columns relate to it, at equal contacts, with the
standard error by drawing objects again. In them an object has, after each contact, a law if that fits its gaps better,
and else the present estimate. Laws are fitted to the first two thirds of the latest gaps, and judged by the
log-likelihood of the others: a law must be better by two standard errors than the better one of Poisson and the
log-logistic law that the proxy has. `weibull` allows this law alone, `two` also Pareto, `three` also the gaps
themselves, smoothed. From the law follow the updates expected after a contact, hour by hour, and from these the index.
In `rate` the law, one of three, takes the place of the log-logistic one in the present estimate of a constant rate.

All this was tuned on one half of the objects (--tuned); the other half is measured. --without-hours leaves the hours
out, in `now` too; --per-day is another budget.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from clockwork import STARTED_EARLIER_S, STRENGTH, TESTED_S
from scipy.special import ndtr

from bestbefore.policies.models.clockwork.detection import find_clockwork
from bestbefore.policies.models.hazard.after_contact import AHEAD_S, LEAST_MEDIAN_S, rate_after_contact
from bestbefore.policies.models.hazard.clock import WEEKEND_PART, is_weekend, weekend_part
from bestbefore.policies.models.hazard.experts import day_rate_per_s
from bestbefore.policies.models.hazard.forecast import forecast_at, weekend_share
from bestbefore.policies.models.hazard.memory import UpdateMemory, memory_since, updated_at
from bestbefore.policies.models.patterns import hourly_counts, profiles
from bestbefore.policies.models.renewal.fit import fit_pareto, fit_poisson, fit_weibull
from bestbefore.policies.prefetch.online.estimate import FLAT, ScheduleEstimate
from bestbefore.policies.prefetch.online.schedule import LEAST_SHARE, Schedule
from bestbefore.policies.prefetch.online.week import KIND_OF, WEEK_S, WeekRates, bytes_of
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray, IntArray
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.columns.files import read_updates

SOURCES = {
    "updates_scraped": ("cft", "ipr", "fema-shelters", "moz", "aws-policy", "cafire", "disaster", "fpl"),
    "postings_releases": ("scoop-extras", "opam", "tags"),
    "postings_commits": ("commits", "author"),
    "postings_feeds": ("chp", "rss", "usgs-2020-02"),
    "updates_pages": ("legislators", "tldr"),
}
EARLIER_S = (0.0, 84 * DAY_S)
MOST_OBJECTS, FEWEST_OBJECTS = 150, 3
"""Of a source and four weeks, in each half."""
LEAST_KNOWN = 15
"""The updates before the test."""
MOST_DETAILED = 1024
MOST_JUDGED, MOST_FITTED = 100, 60
"""The latest updates by which laws are judged, and the latest gaps to which they are fitted."""
NOISE = 2.0
HOURS_AHEAD = 14 * 24
AFTER_S = np.concatenate([np.arange(HOURS_AHEAD + 1) * HOUR_S, 14 * DAY_S * np.geomspace(1.05, 8.0, 40)])
"""The times after a contact at which another one is considered."""
OURS = ("poisson", "log-logistic")
TRIED: Mapping[str, tuple[str, ...]] = {
    "weibull": ("weibull",),
    "two": ("weibull", "pareto"),
    "three": ("weibull", "pareto", "smoothed"),
    "rate": ("weibull", "pareto", "smoothed"),
}


class Law(NamedTuple):
    """A law of gaps in seconds; both functions take (n,) times and return logarithms."""

    tail: Callable[[FloatArray], FloatArray]
    density: Callable[[FloatArray], FloatArray]


def smoothed(gaps_s: FloatArray) -> Law:
    """The gaps themselves, each smoothed on a logarithmic scale."""
    logs = np.log(gaps_s)
    width = max(1.06 * float(logs.std()) * logs.size**-0.2, 0.05)

    def tail(t_s: FloatArray) -> FloatArray:
        z = (np.log(np.maximum(t_s, 1e-9))[:, None] - logs) / width
        return np.log(np.maximum(ndtr(-z).mean(axis=1), 1e-12))

    def density(t_s: FloatArray) -> FloatArray:
        z = (np.log(t_s)[:, None] - logs) / width
        of_log = np.exp(-0.5 * z * z).mean(axis=1) / (width * math.sqrt(2.0 * math.pi))
        return np.log(np.maximum(of_log, 1e-12)) - np.log(t_s)

    return Law(tail, density)


def log_logistic(known_s: FloatArray) -> Law:
    """The law that the proxy has of the gaps."""
    law = forecast_at(memory_of(known_s), float(known_s[-1]), 1.0 / DAY_S).law

    def z(t_s: FloatArray) -> FloatArray:
        return law.shape * (np.log(np.maximum(t_s, 1e-9)) - law.log_median)

    return Law(
        lambda t_s: -np.logaddexp(0.0, z(t_s)),
        lambda t_s: math.log(law.shape) - np.log(t_s) + z(t_s) - 2.0 * np.logaddexp(0.0, z(t_s)),
    )


def law_of(name: str, known_s: FloatArray) -> Law | None:
    """A law as it is known from these updates; None if it has no mean."""
    if name == "log-logistic":
        return log_logistic(known_s)
    gaps_s = np.maximum(np.diff(known_s[-MOST_FITTED - 1 :]), 1.0)
    if name == "smoothed":
        return smoothed(gaps_s)
    fit = {"poisson": fit_poisson, "weibull": fit_weibull, "pareto": fit_pareto}[name](gaps_s / DAY_S)
    if fit is None:
        return None
    found = fit.law
    return Law(
        lambda t_s: found.log_tail(t_s / DAY_S), lambda t_s: found.log_density(t_s / DAY_S) - math.log(DAY_S)  # type: ignore[attr-defined]
    )


def memory_of(known_s: FloatArray) -> UpdateMemory:
    """What the proxy remembers of these updates, all of them seen."""
    memory = memory_since(float(known_s[0]))
    for t_s in known_s.tolist():
        memory = updated_at(memory, t_s, t_s)
    return memory


def best_law(known_s: FloatArray, names: Sequence[str]) -> Law | None:
    """The law that is better on held-out gaps than those that the proxy has; None if there is none."""
    judged_s = known_s[-MOST_JUDGED:]
    cut = 2 * judged_s.size // 3
    later_s = np.maximum(np.diff(judged_s[cut - 1 :]), 1.0)
    scores = {
        name: law.density(later_s) for name in (*OURS, *names) if (law := law_of(name, judged_s[:cut])) is not None
    }
    base = max((scores[name] for name in OURS), key=lambda one: one.mean())
    gains = {name: scores[name] - base for name in names if name in scores}
    sure = [name for name, gain in gains.items() if gain.mean() > NOISE * gain.std() / math.sqrt(gain.size)]
    return law_of(max(sure, key=lambda name: gains[name].mean()), known_s) if sure else None


def factors_of(estimate: ScheduleEstimate, at_s: FloatArray) -> FloatArray:
    """(n,) the rate of an object at these times, relative to its mean rate."""
    hours = np.frombuffer(estimate.hours, np.uint8)[None]
    week = WeekRates(np.ones(1), hours, np.array([round(255.0 * estimate.weekend_share)], np.uint8))
    return np.asarray(week.relative[0][KIND_OF[(at_s % WEEK_S // HOUR_S).astype(np.intp)]])


def index_of(law: Law, age_s: float, estimate: ScheduleEstimate) -> tuple[FloatArray, FloatArray]:
    """The times after a contact, and the index of another one then, for the delay.

    The hazard of the law is that of the hour. As that of `online.index`, the index is relative to the rate of the hour.
    """
    after_s = AFTER_S.copy()
    after_s[1 : HOURS_AHEAD + 1] -= estimate.contact_s % HOUR_S
    factors = factors_of(estimate, estimate.contact_s + 0.5 * (after_s[1:] + after_s[:-1]))
    factors[HOURS_AHEAD:] = 1.0
    first = -np.expm1(-np.concatenate([[0.0], np.cumsum(factors * -np.diff(law.tail(age_s + after_s)))]))
    waiting = first + estimate.rate_per_hour / HOUR_S * _integral(first, after_s)
    index = (after_s * waiting - _integral(waiting, after_s)) / HOUR_S
    return after_s, np.maximum.accumulate(index / np.maximum(np.append(factors, factors[-1]), LEAST_SHARE))


def _integral(values: FloatArray, at_s: FloatArray) -> FloatArray:
    steps = 0.5 * (values[1:] + values[:-1]) * np.diff(at_s)
    return np.concatenate([[0.0], np.cumsum(steps)])


class LawSchedule(Schedule):
    """The schedule of the proxy, in which some objects have an index of their own."""

    def __init__(self, budget_per_hour: float, now_s: float) -> None:
        super().__init__("delay", budget_per_hour, now_s)
        self.indexes: dict[int, tuple[FloatArray, FloatArray]] = {}

    def _due_s(self, slots: IntArray, price: float, from_s: FloatArray) -> FloatArray:
        due_s = super()._due_s(slots, price, from_s)
        for place, slot in enumerate(slots.tolist()):
            if slot in self.indexes:
                after_s, index = self.indexes[slot]
                contact_s = self.contact_s(slot)
                at_s = contact_s + float(np.interp(price, index, after_s, right=math.inf))
                due_s[place] = max(at_s, float(from_s[place]), contact_s + float(self._columns.shortest_s[slot]))
        return due_s


@dataclass(eq=False)
class Source:
    """The objects of a source in four weeks."""

    histories: list[FloatArray]
    end_s: float
    with_hours: bool

    def __post_init__(self) -> None:
        self.start_s = self.end_s - TESTED_S - STARTED_EARLIER_S
        known = [times_s[times_s <= self.start_s] for times_s in self.histories]
        recent = np.concatenate([times_s[-MOST_DETAILED:] for times_s in known])
        at_weekends = sum(map(is_weekend, recent.tolist()))
        self.prior_per_s = float(np.median([times_s.size / max(np.ptp(times_s), 1.0) for times_s in known]))
        self.hours = profiles(hourly_counts(recent)[None], None, STRENGTH)[0]
        self.at_weekends = weekend_share(float(recent.size), at_weekends, WEEKEND_PART, WEEKEND_PART)

    @lru_cache(200_000)  # noqa: B019
    def law(self, names: tuple[str, ...], slot: int, seen: int) -> Law | None:
        """The law of an object of which so many updates are known."""
        return best_law(self.histories[slot][:seen], names)

    def estimate(self, memory: UpdateMemory, known_s: FloatArray, now_s: float) -> ScheduleEstimate:
        """What the proxy believes of an object after a contact."""
        rate = HOUR_S * rate_after_contact(memory, max(now_s, memory.at_s), self.prior_per_s)
        if not self.with_hours:
            return ScheduleEstimate(rate, now_s, hours=FLAT)
        own = profiles(hourly_counts(known_s[-MOST_DETAILED:])[None], self.hours, STRENGTH)[0]
        part = weekend_part(float(known_s[0]), now_s)
        share = weekend_share(memory.updates, memory.weekend_updates, self.at_weekends, part)
        return ScheduleEstimate(rate, now_s, hours=bytes_of(own).tobytes(), weekend_share=share)

    def run(self, names: tuple[str, ...], per_day: float, *, as_rate: bool) -> tuple[FloatArray, int, int]:
        """(n,) the sum of the delays of each object's updates, times the contacts made; the updates; and the contacts.

        With laws of these names; none: the present estimate.
        """
        histories, now_s = self.histories, self.start_s
        schedule = LawSchedule(per_day * len(histories) / 24.0, now_s)
        seen = [int(np.searchsorted(times_s, now_s, side="right")) for times_s in histories]
        memories = [memory_of(times_s[:n]) for times_s, n in zip(histories, seen, strict=True)]
        delays_s, updates, contacts = np.zeros(len(histories)), 0, 0

        def put(slot: int, now_s: float) -> None:
            known_s = histories[slot][: seen[slot]]
            estimate = self.estimate(memories[slot], known_s, now_s)
            schedule.indexes.pop(slot, None)
            law = self.law(names, slot, seen[slot]) if names else None
            if law is not None and as_rate:
                rate = HOUR_S * rate_by_law(law, memories[slot], now_s, self.prior_per_s)
                estimate = replace(estimate, rate_per_hour=rate)
            elif law is not None:
                schedule.indexes[slot] = index_of(law, max(now_s - float(known_s[-1]), 1.0), estimate)
            schedule.put(slot, estimate)

        def contact(slot: int, now_s: float) -> None:
            nonlocal updates
            n = int(np.searchsorted(histories[slot], now_s, side="right"))
            for t_s in histories[slot][seen[slot] : n].tolist():
                delays_s[slot] += now_s - t_s
                memories[slot] = updated_at(memories[slot], t_s, t_s)
                updates += 1
            seen[slot] = n

        for slot in range(len(histories)):
            put(slot, now_s)
        while now_s < self.end_s:
            slot = schedule.take(now_s)
            if slot is None:
                next_s = schedule.next_s()
                now_s = max(min(self.end_s if next_s is None else next_s, now_s + HOUR_S), now_s + 1.0)
                continue
            contacts += 1
            contact(slot, now_s)
            put(slot, now_s)
        for slot in range(len(histories)):
            contact(slot, self.end_s)
        return delays_s * contacts, updates, contacts


def rate_by_law(law: Law, memory: UpdateMemory, contact_s: float, prior_per_s: float) -> float:
    """`rate_after_contact` with this law in place of the log-logistic one."""
    now = forecast_at(memory, max(contact_s, memory.at_s), prior_per_s)
    before, after = law.tail(np.array([max(now.age_s, 1.0), max(now.age_s, 1.0) + AHEAD_S])).tolist()
    grid_s = np.geomspace(60.0, 365 * DAY_S, 200)
    median_s = float(np.interp(math.log(2.0), -law.tail(grid_s), grid_s))
    following = 0.5 * AHEAD_S / max(median_s, LEAST_MEDIAN_S)
    gaps = -math.expm1(min(after - before, 0.0)) * (1.0 + following) / AHEAD_S
    day = day_rate_per_s(now.day_updates, now.day_observed_s, now.lasting_per_s, 1.0)
    weights = now.lasting_weight + now.day_weight + now.gap_weight
    mixed = now.lasting_weight * now.lasting_per_s + now.day_weight * day + now.gap_weight * gaps
    return 0.5 * (day + mixed / weights)


def sources(traces: Path, half: int, *, with_hours: bool) -> Iterator[tuple[str, list[Source]]]:
    """One half of the objects of each source, in each four weeks that have enough of them."""
    for file, names in SOURCES.items():
        updates = read_updates(traces / f"{file}.csv.gz", lambda _: None)
        for name in names:
            found = _histories(updates, name)
            every = np.sort(np.concatenate(found))
            # up to the last day that ends four weeks with an update a day
            ends = np.searchsorted(every, every - TESTED_S) <= np.arange(every.size) - round(TESTED_S / DAY_S)
            ends_s = [float(every[ends][-1]) - earlier_s for earlier_s in EARLIER_S]
            drawn = (_objects(found, end_s)[half::2][:MOST_OBJECTS] for end_s in ends_s)
            yield name, [
                Source(objects, end_s, with_hours)
                for objects, end_s in zip(drawn, ends_s, strict=True) if len(objects) >= FEWEST_OBJECTS
            ]  # fmt: skip


def _histories(updates: Updates, source: str) -> list[FloatArray]:
    times = updates.times_by_object()
    return [times[name] for name in updates.objects if name.startswith(f"{source}/") and name in times]


def _objects(histories: Sequence[FloatArray], end_s: float) -> list[FloatArray]:
    """The objects without clockwork that have enough updates and still change, in any order."""
    start_s = end_s - TESTED_S
    until = (np.unique(times_s[times_s <= end_s]) for times_s in histories)
    alive = [t_s for t_s in until if np.sum(t_s <= start_s) >= LEAST_KNOWN and t_s[-1] > end_s - 2 * TESTED_S]
    kept = [t_s for t_s in alive if find_clockwork(t_s[t_s <= start_s]) is None]
    return [kept[place] for place in np.random.default_rng(5).permutation(len(kept))]


def log_ratio(late: FloatArray, of: FloatArray) -> tuple[float, float]:
    """The logarithm of the ratio of two sums, and its standard error by drawing objects again."""
    drawn = np.random.default_rng(1).integers(0, of.size, (1000, of.size))
    logs = np.log(np.maximum(late[drawn].sum(axis=1), 1.0) / np.maximum(of[drawn].sum(axis=1), 1.0))
    return math.log(late.sum() / of.sum()), max(float(logs.std()), 0.005)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--without-hours", action="store_true")
    parser.add_argument("--per-day", type=float, default=1.0)
    asked = parser.parse_args()
    print(f"{'source':>14} {'objects':>7} {'now':>9} " + " ".join(f"{name:>10}" for name in TRIED))
    logs: dict[str, list[tuple[float, float]]] = {name: [] for name in TRIED}
    for source, parts in sources(asked.traces, 0 if asked.tuned else 1, with_hours=not asked.without_hours):
        now = [part.run((), asked.per_day, as_rate=False) for part in parts]
        of = np.concatenate([late for late, _, _ in now]) if parts else np.zeros(0)
        if not of.sum():
            continue
        minutes = sum(late.sum() / made for late, _, made in now) / sum(updates for _, updates, _ in now) / 60.0
        cells = []
        for name, laws in TRIED.items():
            found = [part.run(laws, asked.per_day, as_rate=name == "rate")[0] for part in parts]
            logs[name].append(log_ratio(np.concatenate(found), of))
            cells.append(f"{math.exp(logs[name][-1][0]):.2f}+-{logs[name][-1][1]:.2f}")
        print(f"{source:>14} {of.size:7} {minutes:9.1f} " + " ".join(f"{cell:>10}" for cell in cells), flush=True)
    for what, weighing in (("by precision", 1.0), ("of all sources", 0.0)):
        print(f"{what:>32} " + " ".join(f"{_mean(found, weighing):>10}" for found in logs.values()))


def _mean(found: Sequence[tuple[float, float]], weighing: float) -> str:
    """The mean by precision to a power; the error of the plain mean is from the spread of the sources."""
    means, errors = np.array(found).T
    weights = errors ** (-2.0 * weighing)
    error = np.sum(weights) ** -0.5 if weighing else float(np.std(means, ddof=1)) / math.sqrt(means.size)
    return f"{math.exp(float(means @ weights / weights.sum())):.2f}+-{error:.2f}"


if __name__ == "__main__":
    main()

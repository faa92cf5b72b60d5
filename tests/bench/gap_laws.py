"""Whether laws of the gaps between updates would better the schedule: `python tests/bench/gap_laws.py TRACES`.

TRACES is the folder of the recorded traces; of each source, objects without clockwork, at most 100. Laws are fitted to
the first two thirds of each object's gaps before the test, and judged by the log-likelihood of the last third. Then the
last four weeks are replayed at one contact an object and day, for the delay: each object is contacted when the index of
a contact reaches a price, the same for all, that spends the budget. The index follows from the updates that a law
expects after a contact, given how long the last update is ago. `now` is what the proxy has, a constant rate after each
contact (`rate_after_contact`); its column is in minutes, the others relate to it. `chosen` takes a law where it was
better than the better one of Poisson and log-logistic by two standard errors (+), and `now` elsewhere.
"""

import math
import sys
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from clockwork import SOURCES, TESTED_S, histories_of
from scipy.special import ndtr

from bestbefore.addon.engine.update import Update, memory_of
from bestbefore.policies.models.clockwork.detection import find_clockwork
from bestbefore.policies.models.hazard.after_contact import rate_after_contact
from bestbefore.policies.models.hazard.forecast import forecast_at
from bestbefore.policies.models.hazard.memory import UpdateMemory
from bestbefore.policies.models.renewal.fit import fit_pareto, fit_poisson, fit_weibull
from bestbefore.policies.units import DAY_S, FloatArray

MOST_GAPS = 60
"""The gaps to which laws are fitted, the last ones."""
NOISE = 2.0
"""A law is better if the mean difference of its log-likelihood is above so many standard errors."""
AFTER_S = np.concatenate([[0.0], np.geomspace(300.0, 14 * DAY_S, 80)])
"""The times after a contact at which another one is considered."""
MOST_OBJECTS = 100
LEAST_KNOWN = 15
"""The updates before the test."""
MOST_REMEMBERED = 200
"""The updates from which the memory is made."""
LAWS = ("poisson", "weibull", "pareto", "empirical", "log-logistic")


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


def log_logistic(memory: UpdateMemory, at_s: float, prior_per_s: float) -> Law:
    """The law that the proxy has of the gaps."""
    law = forecast_at(memory, at_s, prior_per_s).law

    def z(t_s: FloatArray) -> FloatArray:
        return law.shape * (np.log(np.maximum(t_s, 1e-9)) - law.log_median)

    return Law(
        lambda t_s: -np.logaddexp(0.0, z(t_s)),
        lambda t_s: math.log(law.shape) - np.log(t_s) + z(t_s) - 2.0 * np.logaddexp(0.0, z(t_s)),
    )


def law_of(name: str, known_s: FloatArray, at_s: float, prior_per_s: float) -> Law | None:
    """A law as it is known from these updates; None if it has no mean, or there are too few."""
    if name == "log-logistic":
        memory = memory_after(tuple(known_s[-MOST_REMEMBERED:].tolist()))
        return None if memory is None else log_logistic(memory, max(at_s, memory.at_s), prior_per_s)
    gaps_s = np.maximum(np.diff(known_s[-MOST_GAPS - 1 :]), 1.0)
    if gaps_s.size < 3:
        return None
    if name == "empirical":
        return smoothed(gaps_s)
    open_s = max(at_s - float(known_s[-1]), 0.0)
    fit = {"poisson": fit_poisson, "weibull": fit_weibull, "pareto": fit_pareto}[name](gaps_s / DAY_S, open_s / DAY_S)
    if fit is None:
        return None
    found = fit.law
    return Law(
        lambda t_s: found.log_tail(t_s / DAY_S), lambda t_s: found.log_density(t_s / DAY_S) - math.log(DAY_S)  # type: ignore[attr-defined]
    )


@lru_cache(20_000)
def memory_after(known_s: tuple[float, ...]) -> UpdateMemory | None:
    """What the proxy remembers of these updates."""
    updates = [Update(t_s, t_s) for t_s in known_s]
    return memory_of(updates[1:], (), updates[0].by_s) if len(updates) > 1 else None


def held_out(times_s: FloatArray) -> dict[str, float]:
    """By how much each law is better than the better one of Poisson and log-logistic, in standard errors."""
    cut = 2 * times_s.size // 3
    known_s, later_s = times_s[:cut], np.maximum(np.diff(times_s[cut - 1 :]), 1.0)
    laws = {name: law_of(name, known_s, float(known_s[-1]), 1.0 / DAY_S) for name in LAWS}
    scores = {name: law.density(later_s) for name, law in laws.items() if law is not None}
    base = max((scores[name] for name in ("poisson", "log-logistic") if name in scores), key=lambda one: one.mean())
    gains = {name: score - base for name, score in scores.items() if name not in ("poisson", "log-logistic")}
    return {name: float(gain.mean() / (gain.std() / math.sqrt(gain.size) + 1e-12)) for name, gain in gains.items()}


class World:
    """The objects of a source in their last four weeks, and what is expected after contacts."""

    def __init__(self, histories: list[FloatArray]) -> None:
        self.histories = histories
        self.end_s = max(float(times_s[-1]) for times_s in histories)
        self.start_s = self.end_s - TESTED_S
        self.prior_per_s = float(np.median([times_s.size / np.ptp(times_s) for times_s in histories]))
        self.choices = []
        """The law of each object, as its gaps before the test say: the best one, if it is better by more than noise."""
        self.better, self.worse = dict.fromkeys(LAWS, 0), dict.fromkeys(LAWS, 0)
        for times_s in histories:
            gains = held_out(times_s[times_s <= self.start_s])
            best = max(gains, key=lambda name: gains[name])
            self.choices.append(best if gains[best] > NOISE else "now")
            for name, gain in gains.items():
                self.better[name] += gain > NOISE
                self.worse[name] += gain < -NOISE
        self._index: dict[tuple[str, int, int, int], FloatArray] = {}

    def index(self, name: str, slot: int, seen: int, contact_s: float) -> FloatArray:
        """The index of another contact at each of `AFTER_S`, per second^2 of waiting; kept, to the minute."""
        key = name, slot, seen, int(contact_s // 60.0)
        if key not in self._index:
            self._index[key] = self._new_index(name, self.histories[slot][:seen], contact_s)
        return self._index[key]

    def _new_index(self, name: str, known_s: FloatArray, contact_s: float) -> FloatArray:
        memory = memory_after(tuple(known_s[-MOST_REMEMBERED:].tolist()))
        rate = self.prior_per_s
        if memory is not None:
            rate = rate_after_contact(memory, max(contact_s, memory.at_s), self.prior_per_s)
        law = None if name == "now" or not known_s.size else law_of(name, known_s, contact_s, self.prior_per_s)
        if law is None:
            return 0.5 * rate * AFTER_S**2
        age_s = max(contact_s - float(known_s[-1]), 1.0)
        first = -np.expm1(law.tail(age_s + AFTER_S) - law.tail(np.array([age_s])))
        updates = first + rate * _integral(first)
        return AFTER_S * updates - _integral(updates)

    def contacts(self, name: str, log_price: float) -> tuple[int, FloatArray]:
        """How many contacts a price brings, and (n,) the sum of the delays of each object's updates in seconds."""
        number, delays_s = 0, np.zeros(len(self.histories))
        for slot, times_s in enumerate(self.histories):
            seen, now_s = int(np.searchsorted(times_s, self.start_s)), self.start_s
            law = self.choices[slot] if name == "chosen" else name
            while now_s < self.end_s:
                index = self.index(law, slot, seen, now_s)
                at = int(np.searchsorted(np.maximum.accumulate(index), math.exp(log_price)))
                now_s = min(now_s + max(AFTER_S[min(at, AFTER_S.size - 1)], 300.0), self.end_s)
                number += now_s < self.end_s
                n = int(np.searchsorted(times_s, now_s, side="right"))
                delays_s[slot] += (now_s - times_s[seen:n]).sum()
                seen = n
        return number, delays_s

    def delays_s(self, name: str) -> FloatArray:
        """(n,) the sum of the delays of each object's updates at one contact an object and day.

        It is interpolated between the two prices that come nearest.
        """
        budget, low, high = TESTED_S / DAY_S * len(self.histories), 5.0, 18.0
        for _ in range(9):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.contacts(name, middle)[0] > budget else (low, middle)
        (more, soon), (fewer, late) = self.contacts(name, low), self.contacts(name, high)
        part = 0.5 if more == fewer else (more - budget) / (more - fewer)
        return soon + part * (late - soon)

    def updates(self) -> int:
        """How many updates the test has."""
        return sum(int(np.sum((times_s > self.start_s) & (times_s <= self.end_s))) for times_s in self.histories)


def _integral(values: FloatArray) -> FloatArray:
    steps = 0.5 * (values[1:] + values[:-1]) * np.diff(AFTER_S)
    return np.concatenate([[0.0], np.cumsum(steps)])


def ratio(delays_s: FloatArray, of_s: FloatArray) -> str:
    """The ratio of two sums, with its standard error by drawing objects anew."""
    drawn = np.random.default_rng(1).integers(0, of_s.size, (500, of_s.size))
    error = float(np.std(delays_s[drawn].sum(axis=1) / np.maximum(of_s[drawn].sum(axis=1), 1.0)))
    return f"{delays_s.sum() / of_s.sum():6.2f}+-{error:4.2f}"


def main() -> None:
    names = ("now", *LAWS[1:], "chosen")
    heads = " ".join(f"{name:>12}" for name in names)
    print(f"{'source':>14} {'objects':>7}  {heads}  held-out gaps: better/worse")
    for file, sources in SOURCES.items():
        for source in sources:
            every = histories_of(Path(sys.argv[1]), file, source)
            until_s = max((float(times_s[-1]) for times_s in every), default=0.0) - TESTED_S
            without_beats = (times_s for times_s in every if find_clockwork(times_s[times_s <= until_s]) is None)
            enough = (times_s for times_s in without_beats if np.sum(times_s <= until_s) >= LEAST_KNOWN)
            histories = list(islice(enough, MOST_OBJECTS))
            if not histories:
                continue
            world = World(histories)
            now_s = world.delays_s("now")
            shown = f"{now_s.sum() / world.updates() / 60.0:12.4g} "
            shown += " ".join(ratio(world.delays_s(name), now_s) for name in names[1:])
            tried = "  ".join(f"{name} +{world.better[name]} -{world.worse[name]}" for name in LAWS[1:4])
            print(f"{source:>14} {len(histories):7}  {shown}  {tried}", flush=True)


if __name__ == "__main__":
    main()

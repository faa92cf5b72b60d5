"""How well rates of change are estimated: `python tests/bench/rates.py [--record]` prints bias, error and coverage.

With --record the tables also become docs/results/rates.md.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from compared.contact_evidence import evidence_at_contacts
from compared.corrected_rates import corrected_from_flags, corrected_from_latest
from compared.online_rates import Polls, after_contact
from compared.posterior import posterior
from compared.smoothed_rates import smoothed_rate
from results_page import write_page

from bestbefore.policies.models.rates.evidence import Estimate, Evidence
from bestbefore.policies.models.rates.likelihood import most_likely
from bestbefore.policies.models.rates.prior import GammaRate, fitted_prior
from bestbefore.policies.units import HOUR_S, FloatArray

PAGE = Path(__file__).parents[2] / "docs" / "results" / "rates.md"
OBJECTS = 2000
CONTACTS = 50
MEDIAN = 0.4
"""Of the rates, in updates in a mean interval."""
SPREAD = 1.25
"""Standard deviation of the logarithm of the rates."""
FLOOR = 0.1
"""Of an update in the whole time: estimates of 0 count as this, in log-errors."""
CEILING = 20.0
"""Updates in a mean interval: infinite estimates count as this."""

EXPLANATION = """\
Estimators of the rate of change of an object from 50 contacts, on simulated objects: Poisson updates, log-normal rates
(median 0.4 updates in the mean interval between contacts, standard deviation of the logarithm 1.25), and exponential
intervals, regular ones, or log-normal ones (standard deviation 1). *Median bias* is that of estimate / rate. *log-RMSE*
is the root mean square of ln(estimate / rate); an estimate of 0 counts as a tenth of an update in the whole time, an
infinite one as 20 updates in a mean interval. *Held* says how many of the 95 percent intervals hold the rate, *us* what
an estimate took. Priors are fitted to what was seen of the same objects.

What the estimators are:
[rates of change](../rates.md)."""


@dataclass
class Score:
    logs: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    seconds: float = 0.0

    def line(self, name: str) -> str:
        logs = np.array(self.logs)
        held = f"{np.mean(self.held):7.1%}" if self.held else "      -"
        return (
            f"{name:28s} {np.expm1(np.median(logs)):+8.1%} {math.sqrt(np.mean(logs**2)):9.2f} {held} "
            f"{self.seconds / len(logs) * 1e6:8.0f}"
        )


@dataclass(frozen=True)
class Object:
    rate: float
    lengths_s: FloatArray
    quiet_s: FloatArray
    """How long before each contact the latest update was, seen or not."""

    @property
    def changed(self) -> np.ndarray:
        return self.quiet_s < self.lengths_s

    @property
    def flags(self) -> Evidence:
        return evidence_at_contacts(self.lengths_s, self.changed)

    @property
    def latest_s(self) -> FloatArray:
        return np.where(self.changed, self.quiet_s, math.nan)

    @property
    def latest(self) -> Evidence:
        return evidence_at_contacts(self.lengths_s, self.changed, self.latest_s)


INTERVALS: dict[str, Callable[[np.random.Generator], FloatArray]] = {
    "exponential": lambda random: random.exponential(1.0, CONTACTS),
    "regular": lambda random: np.ones(CONTACTS),
    "log-normal": lambda random: random.lognormal(-0.5, 1.0, CONTACTS),
}


def objects(intervals: Callable[[np.random.Generator], FloatArray], seed: int) -> list[Object]:
    random = np.random.default_rng(seed)
    return [
        Object(rate, intervals(random) * HOUR_S, random.exponential(1.0 / rate, CONTACTS) * HOUR_S)
        for rate in random.lognormal(math.log(MEDIAN), SPREAD, OBJECTS).tolist()
    ]


def bare(rate: float) -> Estimate:
    return Estimate(rate, math.nan, math.nan)


def for_regular_polls(o: Object) -> Estimate:
    n, found = o.lengths_s.size, int(o.changed.sum())
    return bare(-math.log((n - found + 0.5) / (n + 0.5)) / (o.lengths_s.mean() / HOUR_S))


def by_filter(o: Object, prior: GammaRate) -> Estimate:
    belief = prior
    for length_s, changed in zip(o.lengths_s.tolist(), o.changed.tolist(), strict=True):
        belief = after_contact(belief, length_s, changed)
    return bare(belief.mean_per_hour)


def by_lln(o: Object) -> Estimate:
    polls = Polls()
    for length_s, changed in zip(o.lengths_s.tolist(), o.changed.tolist(), strict=True):
        polls = polls.after(length_s, changed)
    return bare(polls.rate_per_hour)


def completely(o: Object, random: np.random.Generator) -> Evidence:
    hours = float(o.lengths_s.sum()) / HOUR_S
    return Evidence(int(random.poisson(o.rate * hours)), hours)


def estimators(members: list[Object]) -> Iterator[tuple[str, Callable[[Object], Estimate]]]:
    random = np.random.default_rng(99)
    prior, latest_prior = (fitted_prior(seen) for seen in ([o.flags for o in members], [o.latest for o in members]))
    yield "changes / time", lambda o: bare(o.changed.sum() / o.lengths_s.sum() * HOUR_S)
    yield "Cho-GM, mean interval", for_regular_polls
    yield "Cho-GM, irregular form", lambda o: corrected_from_flags(o.lengths_s, o.changed)
    yield "most likely", lambda o: most_likely(o.flags)
    yield "most likely, smoothed 0.5", lambda o: smoothed_rate(o.lengths_s, o.changed)
    yield "posterior mean", lambda o: posterior(o.flags, prior)
    yield "online: Gamma filter", lambda o: by_filter(o, prior)
    yield "online: LLN", by_lln
    yield "latest known: most likely", lambda o: most_likely(o.latest)
    yield "latest known: corrected", lambda o: corrected_from_latest(o.lengths_s, o.changed, o.latest_s)
    yield "latest known: posterior", lambda o: posterior(o.latest, latest_prior)
    yield "complete history", lambda o: most_likely(completely(o, random))


def scored(members: list[Object], estimate: Callable[[Object], Estimate]) -> Score:
    score = Score()
    for o in members:
        began = time.perf_counter()
        found = estimate(o)
        score.seconds += time.perf_counter() - began
        least = FLOOR / (o.lengths_s.sum() / HOUR_S)
        score.logs.append(math.log(min(max(found.rate_per_hour, least), CEILING) / o.rate))
        if not math.isnan(found.low_per_hour):
            score.held.append(found.low_per_hour <= o.rate <= found.high_per_hour)
    return score


def main() -> None:
    lines: list[str] = []
    for name, intervals in INTERVALS.items():
        members = objects(intervals, seed=1)
        lines.append(f"{CONTACTS} contacts at {name} intervals, {OBJECTS} objects")
        lines.append(f"{'':28s} {'median':>8s} {'log-':>9s}")
        lines.append(f"{'':28s} {'bias':>8s} {'RMSE':>9s} {'held':>7s} {'us':>8s}")
        lines += [scored(members, estimate).line(estimator) for estimator, estimate in estimators(members)]
        lines.append("")
    printed = "\n".join(lines)
    print(printed)
    if "--record" in sys.argv:
        write_page(PAGE, "Rates of change: how well they are estimated", EXPLANATION, printed)


main()

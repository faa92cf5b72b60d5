"""The curves of figures: a policy replayed at each value of its tuning parameter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.interpolation import crossing
from bestbefore.replay.report.series import Series
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.sweeps.grid import Point
from bestbefore.replay.sweeps.sweep import Result

STALE_RATE = "stale_rate"
VALIDATION_RATE = "validation_rate"


@dataclass(frozen=True, slots=True)
class PolicyCurve:
    """A policy with its name in the legend, and a SPEC with `{}` in place of the tuning parameter."""

    name: str
    spec: str

    def points(self, values: Sequence[float]) -> list[Point]:
        """The policy at each value of its parameter."""
        specs = [self.spec.format(f"{value:.4g}") for value in values]
        return [Point(spec, parse_spec(spec), self.spec) for spec in specs]

    @property
    def key(self) -> str:
        """The parameter, the first one if the SPEC has several."""
        return self.spec.partition(":")[2].partition("=")[0]


TTL = PolicyCurve("TTL", "ttl:alpha={}")
INDHIST = PolicyCurve("IndHist", "indhist:theta={}")
AGGHIST = PolicyCurve("AggHist", "agghist:theta={}")
AGGHIST_SEGMENTS = PolicyCurve("AggHist, optimal segments", "agghist:theta={},segment_penalty=1")
INDAGG = PolicyCurve("Adaptive IndHist/AggHist, T=0.5", "indagg:theta={},threshold=0.5")
INDTTL_HOUR = PolicyCurve("Adaptive IndHist/TTL, W=1 h", "indttl:theta={0},alpha={0},window=1h,threshold=2")
INDTTL_DAY = PolicyCurve("Adaptive IndHist/TTL, W=24 h", "indttl:theta={0},alpha={0},window=24h,threshold=2")


def values_between(least: float, most: float, n: int) -> list[float]:
    """Return n values from the least to the most with equal ratios."""
    return [least * (most / least) ** (i / (n - 1)) for i in range(n)]


def series_of_curves(
    work: Work, scenario: Scenario, curves: Sequence[PolicyCurve], values: Sequence[float], what: str
) -> list[Series]:
    """Replay each curve; return a series for each, in the order of the values."""
    points = [(curve, point) for curve in curves for point in curve.points(values)]
    policies = [point.policy for _, point in points]
    engines = Engines(scenario)
    engines.prepare(policies)
    counts = work.each(engines.replay, policies, what)
    results: dict[str, list[Result]] = {curve.name: [] for curve in curves}
    for (curve, point), counted in zip(points, counts, strict=True):
        results[curve.name].append(Result(point, counted.by_name()))
    return [Series(curve.name, results[curve.name], key=curve.key) for curve in curves]


def rates(counts: Mapping[str, float]) -> dict[str, float]:
    """Stale hits and validations as shares of the requests that found a copy, which must not be 0."""
    cached = counts["cached"] or 1.0
    return {STALE_RATE: counts["stale_hits"] / cached, VALIDATION_RATE: counts["validations"] / cached}


def at(series: Series, known: str, value: float, wanted: str) -> float | None:
    """Return the rate `wanted` of a series where its rate `known` has this value, interpolated by `crossing`."""
    shares = [rates(result.counts) for result in series.results]
    return crossing([(share[known], share[wanted]) for share in shares], value)

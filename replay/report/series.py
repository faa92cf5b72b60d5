"""The series of a chart: the results of one policy that form a curve."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from bestbefore.policies.validation.machinery.spec import params, value_text
from bestbefore.replay.report.frontier import on_frontier
from bestbefore.replay.sweeps.grid import Point
from bestbefore.replay.sweeps.sweep import Result


@dataclass(frozen=True, slots=True)
class Series:
    """The results of one policy."""

    name: str
    """The SPEC of the policy without the parameter that differs."""
    results: Sequence[Result]
    """The results that a line joins, in this order."""
    beside: Sequence[Result] = ()
    """The results that are not on the line."""
    key: str | None = None
    """The parameter in which the results differ; None if there is none, or more than one."""

    def range_shown(self) -> str:
        """The parameter in which the results differ with its first and last value; empty if there is none."""
        if self.key is None or not self.results:
            return ""
        first, last = (value_shown(self.results[end], self.key) for end in (0, -1))
        return f"{self.key} {first} to {last}"

    @property
    def full_name(self) -> str:
        """The name with the range of the parameter."""
        return ", ".join(filter(None, (self.name, self.range_shown())))


def series_of(results: Iterable[Result], x: str, y: str) -> list[Series]:
    """Return the series of the results: one for each policy name, or for each sweep if several parameters differ.

    The line of a sweep with several ranges joins its results on the frontier of the counts x and y.
    """
    by_name: dict[str, list[Result]] = {}
    for result in results:
        by_name.setdefault(result.point.policy.name, []).append(result)
    series = []
    for same_name in by_name.values():
        if len(_differing(same_name)) <= 1:
            series.append(_curve(same_name))
            continue
        by_sweep: dict[str, list[Result]] = {}
        for result in same_name:
            by_sweep.setdefault(result.point.sweep, []).append(result)
        series += [_curve(group) if len(_differing(group)) <= 1 else _cloud(group, x, y) for group in by_sweep.values()]
    return series


def value_shown(result: Result, key: str) -> str:
    """The value of a parameter as text, as in the SPEC if that names it."""
    policy = result.point.policy
    return result.point.written.get(key) or value_text(policy.name, key, params(policy)[key])


def _differing(results: Sequence[Result]) -> list[str]:
    """The parameters that are not equal in all results."""
    all_params = [params(result.point.policy) for result in results]
    keys = dict.fromkeys(key for one in all_params for key in one)
    return [key for key in keys if any(one.get(key) != all_params[0].get(key) for one in all_params)]


def _curve(results: Sequence[Result]) -> Series:
    key = next(iter(_differing(results)), None)
    if key is None:
        return Series(results[0].point.spec, results[:1])
    values = [params(result.point.policy).get(key) for result in results]
    name = _without(results[0].point, (key,))
    if not all(isinstance(value, float) or value == "inf" for value in values):
        return Series(name, (), results)
    in_order = sorted(zip(map(float, values), results, strict=True), key=lambda pair: pair[0])  # type: ignore[arg-type]
    return Series(name, [result for _, result in in_order], key=key)


def _cloud(results: Sequence[Result], x: str, y: str) -> Series:
    best = on_frontier([(result.counts[x], result.counts[y]) for result in results])
    line = [result for result, kept in zip(results, best, strict=True) if kept]
    line.sort(key=lambda result: result.counts[x])
    rest = [result for result, kept in zip(results, best, strict=True) if not kept]
    return Series(_without(results[0].point, results[0].point.swept), line, rest)


def _without(point: Point, keys: Collection[str]) -> str:
    """The SPEC of the point without some of its keys."""
    kept = ",".join(f"{key}={value}" for key, value in point.written.items() if key not in keys)
    return f"{point.policy.name}:{kept}" if kept else point.policy.name

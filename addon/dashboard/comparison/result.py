"""What a comparison of policies has found, read from the JSON of `export`, `replay` and `recommend`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.addon.dashboard.comparison.command import Row
from bestbefore.addon.domain import registrable_domain
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import params, spec_text

SIDE_BY_SIDE = ("ttl", "indhist", "agghist", "indagg", "indttl", "renewal", "always", "oracle")
"""The policies that are replayed with their own defaults: the learning ones, and what bounds them."""
TIMES_WANTED, TIMES_PRESENT = 4.0, 1.5
"""The largest share of stale hits in the chart, over the wanted and over the present one."""
DEFAULT = "[default]"
AT_PRESENT = "at present"


@dataclass(frozen=True, slots=True)
class ReplayCounts:
    """What came of the requests that found a copy."""

    cached: int
    stale_hits: int
    validations: int
    unnecessary: int

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Self:
        """Read the counts of a replay. Raises KeyError."""
        return cls(counts["cached"], counts["stale_hits"], counts["validations"], counts["unnecessary"])

    @property
    def stale_rate(self) -> float:
        return self.stale_hits / self.cached if self.cached else 0.0

    @property
    def validation_rate(self) -> float:
        return self.validations / self.cached if self.cached else 0.0


@dataclass(frozen=True, slots=True)
class DomainChoice:
    """What is recommended for a domain."""

    domain: str
    """`DEFAULT`: for all that have no rule of their own."""
    in_use: str
    """The SPEC of the policy in force for it."""
    policy: str
    reached: bool
    """Whether the wanted share of stale hits was kept to where it was chosen."""
    then: ReplayCounts
    """In the part of the trace on which it was not chosen."""
    present: ReplayCounts
    best: ReplayCounts


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """What a comparison has found."""

    requests: int
    objects: int
    clients: int
    updates: int
    present: str
    """The SPEC of the policy of [default]."""
    replayed: Sequence[tuple[str, ReplayCounts]]
    """The policies side by side, and the present one last."""
    choices: Sequence[DomainChoice]
    frontier: Sequence[tuple[str, ReplayCounts]]
    """The candidates that no other betters in both stale hits and validations, the fewest stale hits first."""
    at_present: ReplayCounts | None
    """The policies in force on the same part of the trace as the frontier; None: nothing was recommended."""
    chart: str
    """Empty without candidates."""
    diff: str
    """The change of the configuration that is recommended; empty if the command gives none."""

    def choices_for(self, domain: str) -> list[DomainChoice]:
        """Return what is recommended for hosts of a registrable domain by rules of their own."""
        return [one for one in self.choices if registrable_domain(one.domain.removeprefix("*.")) == domain]


def present_spec(policy: Policy) -> str:
    """Return the SPEC of the policy in use, for a replay: without siblings, as `export` prints it."""
    return spec_text(policy.name, {key: value for key, value in params(policy).items() if key != "siblings"})


def compared_specs(policy: Policy) -> list[str]:
    """Return the SPECs of the policies side by side, with the bounds of the one in use, then that one itself."""
    bounds = {key: value for key, value in params(policy).items() if key in LIVE_DEFAULTS and key != "siblings"}
    return [*(spec_text(name, bounds) for name in SIDE_BY_SIDE), present_spec(policy)]


def result_of(
    exported: Row, replayed: Sequence[Row], recommended: Sequence[Row], largest_stale_rate: float, present: str
) -> ComparisonResult:
    """Read what the commands have printed. Raises KeyError, TypeError and ValueError for anything else."""
    candidates = [(str(row["candidate"]), ReplayCounts.of(row), bool(row["frontier"]))
                  for row in recommended if "candidate" in row]  # fmt: skip
    of_present = next((row for row in recommended if "present" in row and "chosen_for" not in row), None)
    at_present = None if of_present is None else ReplayCounts.of(of_present)
    choices = [_choice(row) for row in recommended if "chosen_for" in row]
    outcomes = [ReplayCounts.of(row) for row in replayed]
    best = sorted({(spec, one) for spec, one, is_best in candidates if is_best}, key=lambda item: item[1].stale_hits)
    return ComparisonResult(
        requests=int(exported["requests"]),
        objects=int(exported["objects"]),
        clients=int(exported["clients"]),
        updates=int(exported["updates"]),
        present=present,
        replayed=[*zip((*SIDE_BY_SIDE, AT_PRESENT), outcomes, strict=True)],
        choices=choices,
        frontier=best,
        at_present=at_present,
        chart="" if at_present is None
        else _chart([(spec, one) for spec, one, _ in candidates], at_present, largest_stale_rate),
        diff=next((str(row["diff"]) for row in recommended if "diff" in row), ""),
    )


def _choice(row: Row) -> DomainChoice:
    return DomainChoice(
        domain=row["chosen_for"] or DEFAULT,
        in_use=str(row["in_use"]),
        policy=spec_text(row["policy"], row["params"]),
        reached=bool(row["reached"]),
        then=ReplayCounts.of(row["then"]),
        present=ReplayCounts.of(row["at_present"]),
        best=ReplayCounts.of(row["at_best"]),
    )


def _chart(candidates: Sequence[tuple[str, ReplayCounts]], present: ReplayCounts, wanted: float) -> str:
    """Draw the candidates: for each policy the line through those that none of the same policy betters."""
    most = max(TIMES_WANTED * wanted, TIMES_PRESENT * present.stale_rate)
    by_name: dict[str, list[tuple[float, float]]] = {}
    for spec, one in candidates:
        if one.stale_rate <= most:
            by_name.setdefault(spec.partition(":")[0], []).append(_place(one))
    lines = [Line(name, list(_lower(points)), marked=True) for name, points in by_name.items()]
    lines.append(Line(AT_PRESENT, [_place(present)], joined=False, is_star=True))
    return drawn(
        lines, Scale("stale hits, % of the requests that found a copy"), Scale("validations, % of them"), in_page=True
    )


def _place(one: ReplayCounts) -> tuple[float, float]:
    return 100.0 * one.stale_rate, 100.0 * one.validation_rate


def _lower(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield the points that no other betters in both coordinates, from the left.

    >>> list(_lower([(2, 5), (1, 9), (3, 6), (4, 1)]))
    [(1, 9), (2, 5), (4, 1)]
    """
    least = float("inf")
    for x, y in sorted(points):
        if y < least:
            least = y
            yield x, y

"""The recommendation of policies: for each domain of a trace the fewest validations at a given stale rate."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from bestbefore.addon.rules import HostPattern
from bestbefore.policies.validation.baselines.oracle import Oracle
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import Value, make_policy
from bestbefore.replay.present import Present
from bestbefore.replay.simulate.breakdown import DOMAIN, Breakdown
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.sweeps.grid import Point

LEAST_CACHED = 300
"""The least number of requests with a copy in the first part for a domain to get its own rule.

If 1 percent of the hits were stale, 300 hits would show at least one with a probability of 95 percent.
"""
LEAST_CHANGES = 30
"""The least number of changes found by requests in the first part for a domain to get its own rule.

Stale hits come in runs, one for each change, so the evidence for a choice is the number of changes. On a recorded
trace, rules chosen on fewer than 15 changes later had several times the stale rate that they were chosen for.
"""
LONGEST_HOST = 253
"""The most characters of a host name, without the final dot (RFC 1035, section 2.3.4)."""

type Evaluate = Callable[[Callable[[Policy], PartCounts], Sequence[Policy]], list[PartCounts]]
"""Applies a function to each policy, in this process or over several."""
type PartCounts = Mapping[str, Counts]
"""The counts of each domain with its own rule, and under `OTHERS` those of all other objects together."""

OTHERS = ""


class Replays(Protocol):
    """The replays of the first or the second part of a trace."""

    def sizes(self, patterns: Mapping[str, str]) -> Mapping[str, Counts]:
        """Return the counts of the oracle by domain, ordered by name; `patterns` name those of some objects."""

    def obstacle(self, policy: Policy) -> str | None:
        """Return the reason why the preferred engine cannot replay under the policy; None if it can."""

    def count(self, apart: Set[str], patterns: Mapping[str, str], policies: Sequence[Policy]) -> list[PartCounts]:
        """Return the counts of each domain of `apart`, and of the others together, under each policy."""


@dataclass(frozen=True, slots=True)
class WholeReplays:
    """The replays of one part of the time of a trace that is in memory."""

    engines: Engines
    evaluate: Evaluate

    def sizes(self, patterns: Mapping[str, str]) -> Mapping[str, Counts]:
        """Count under the oracle; see `Replays.sizes`."""
        names = _named(self.engines, patterns)
        return Breakdown(DOMAIN, names).count(self.engines.replay_objects(Oracle()))

    def obstacle(self, policy: Policy) -> str | None:
        """Ask the engines; see `Replays.obstacle`."""
        return self.engines.obstacle(policy)

    def count(self, apart: Set[str], patterns: Mapping[str, str], policies: Sequence[Policy]) -> list[PartCounts]:
        """Count under the policies; see `Replays.count`."""
        names = _named(self.engines, patterns).items()
        parts = Breakdown(DOMAIN, {name: domain if domain in apart else OTHERS for name, domain in names})
        self.engines.prepare(policies)
        return self.evaluate(partial(_count_parts, self.engines, parts), policies)


type _OfParts = Mapping[str, Point]
"""The policy of each part."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """The counts of policies."""

    by_part: Mapping[str, PartCounts]
    """Those of each part, by the SPEC of the policy, or its name."""

    def of(self, policy: str, part: str) -> Counts:
        """Return the counts of a part under a policy."""
        return self.by_part[policy].get(part) or Counts.total([])

    def total(self, points: _OfParts) -> Counts:
        """Return the counts over all parts, each under its own policy."""
        return Counts.total(self.of(point.spec, part) for part, point in points.items())


@dataclass(frozen=True, slots=True)
class Choice:
    """The policy chosen for a domain, and its counts."""

    point: Point
    first: Counts
    """The counts in the first part of the trace, on which it was chosen."""
    then: Counts
    """The counts in the second part."""
    bound: Counts
    """The counts of the oracle in the second part, which bound all policies."""
    present: Counts
    """The counts of the present policy in the second part."""
    reached: bool
    """Whether its stale rate in the first part is no larger than the requested one."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A policy with its counts in the first part, over all domains."""

    point: Point
    counts: Counts


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommended configuration, and its expected results."""

    largest_stale_rate: float
    """The requested bound: the largest share of stale hits among the requests that find a copy."""
    default: Choice
    """The choice for all domains together."""
    domains: Mapping[str, Choice]
    """The choices for domains with enough data, by the host pattern of the rule, the most requested first."""
    others: Sequence[str]
    """The domains of the first part without their own choice: too little data, or not a host."""
    changes: int
    """The changes found by requests in the first part, over all domains."""
    followed: Counts
    """The counts in the second part under this recommendation, over all domains."""
    present: Tried
    """The default policy in use now, with the counts in the first part of all policies in use."""
    tried: Sequence[Tried]
    """The candidates."""
    in_use: Present
    """The policies in use now."""
    kept: Mapping[str, Tried] = field(default_factory=dict)
    """The rules with a policy that keep it, for lack of data, with the counts of the second part."""

    @property
    def unconfigured(self) -> Counts:
        """The counts in the second part of the present policy, over all domains."""
        return self.default.present

    @property
    def is_founded(self) -> bool:
        """Whether the default is chosen on at least as much data as the rule for a domain needs."""
        return _is_enough(self.default.first.cached, self.changes)

    @property
    def is_better_unconfigured(self) -> bool:
        """Whether without the recommendation stale hits or validations are fewer, and neither are more."""
        with_it, without = ((counts.stale_hits, counts.validations) for counts in (self.followed, self.unconfigured))
        return without != with_it and all(fewer <= more for fewer, more in zip(without, with_it, strict=True))


def replayed(point: Point, bounds: Mapping[str, Value] = LIVE_DEFAULTS, *, siblings: bool = True) -> Policy:
    """The policy as it is compared: with these bounds, the live defaults, for keys that the SPEC does not name.

    `siblings`: whether these are replayed too, if the SPEC does not name them.
    """
    return make_policy(point.policy.name, {**bounds, **({} if siblings else {"siblings": 1.0}), **point.written})


def replays_siblings(replays: Replays, present: Present) -> bool:
    """Whether the preferred engine replays the default policy with siblings. Else all are compared without."""
    policy = replayed(present.default, present.bounds)
    return policy.siblings == 1.0 or replays.obstacle(policy) is None


def stale_rate(counts: Counts) -> float:
    """stale_hits / cached; 0 where no request found a copy."""
    return counts.stale_hits / counts.cached if counts.cached else 0.0


def recommend(
    first: Replays,
    then: Replays,
    candidates: Sequence[Point],
    largest_stale_rate: float,
    present: Present,
) -> Recommendation:
    """Choose for each domain, and for all together, the candidate that `nearest` selects on the first part of a trace.

    `first` and `then` replay the two parts; the second part has no influence on the choice. `candidates`, one or more,
    are compared with the bounds of `present`, the policies in use now; for a rule with bounds of its own, with these. A
    domain gets its own choice if it is a host, and in the first part at least `LEAST_CACHED` of its requests found a
    copy and `LEAST_CHANGES` of these found a change. The objects of a rule of `present` are one domain, named by its
    pattern; without enough data it keeps its policy, if it has one of its own.
    """
    sizes = _most_requested_first(first.sizes(present.patterns))
    # The oracle validates once for each change that a request finds.
    enough = {domain for domain, counted in sizes.items() if _is_enough(counted.cached, counted.validations)}
    patterns = set(present.patterns.values())
    own = {domain for domain in enough if domain in patterns or is_host(domain)}
    kept = (present.rules.keys() & patterns) - own - present.only_bounded
    apart = own | kept | (present.only_bounded & patterns)
    every = sorted({OTHERS, *apart})
    siblings = replays_siblings(first, present) and replays_siblings(then, present)

    def counts_of(replays: Replays, of_parts: Iterable[_OfParts], *others: Policy) -> _Counted:
        policies = {
            point.spec: replayed(point, present.bounds, siblings=siblings)
            for points in of_parts for point in points.values()
        } | {policy.name: policy for policy in others}
        counted = replays.count(apart, present.patterns, list(policies.values()))
        return _Counted(dict(zip(policies, counted, strict=True)))

    used = {part: present.of(part) for part in every}
    within = [{part: present.within(part, point) for part in every} for point in candidates]
    in_first = counts_of(first, [*within, used])
    totals = [in_first.total(points) for points in within]
    default = nearest(totals, largest_stale_rate)
    places = {
        domain: nearest([in_first.of(points[domain].spec, domain) for points in within], largest_stale_rate)
        for domain in sizes if domain in own
    }
    chosen = {domain: within[place][domain] for domain, place in places.items()}
    in_then = counts_of(then, [within[default], chosen, used], oracle := Oracle())

    def choice(point: Point, in_first: Counts, then: Counts, bound: Counts, at_present: Counts) -> Choice:
        return Choice(point, in_first, then, bound, at_present, reached=stale_rate(in_first) <= largest_stale_rate)

    return Recommendation(
        largest_stale_rate,
        choice(
            candidates[default], totals[default], in_then.total(within[default]),
            Counts.total(in_then.by_part[oracle.name].values()), in_then.total(used),
        ),
        {
            domain: choice(
                point, in_first.of(point.spec, domain), in_then.of(point.spec, domain),
                in_then.of(oracle.name, domain), in_then.of(used[domain].spec, domain),
            )
            for domain, point in chosen.items()
        },
        [domain for domain in sizes if domain not in own | kept],
        sum(counted.validations for counted in sizes.values()),
        in_then.total({**within[default], **{rule: used[rule] for rule in kept}, **chosen}),
        Tried(present.default, in_first.total(used)),
        [Tried(point, counts) for point, counts in zip(candidates, totals, strict=True)],
        present,
        {rule: Tried(used[rule], in_then.of(used[rule].spec, rule)) for rule in sorted(kept)},
    )


def nearest(counts: Sequence[Counts], largest_stale_rate: float) -> int:
    """The index of the counts with the fewest validations among those with at most this stale rate.

    If no counts reach the rate, those with the least stale rate are taken. Among equals the one with the fewest stale
    hits wins, then the first.
    """

    def order(place: int) -> tuple[float, int, int]:
        at = counts[place]
        return max(stale_rate(at), largest_stale_rate), at.validations, at.stale_hits

    return min(range(len(counts)), key=order)


def is_host(domain: str) -> bool:
    """Whether the host pattern of a domain rule can match this domain."""
    try:
        return len(domain) <= LONGEST_HOST and "*" not in HostPattern.parse(domain).text
    except ValueError:
        return False


def _most_requested_first(domains: Mapping[str, Counts]) -> dict[str, Counts]:
    """Return the domains that were requested, the most requested first."""
    asked = {domain: counted for domain, counted in domains.items() if counted.requests}
    return dict(sorted(asked.items(), key=lambda item: -item[1].cached))


def _is_enough(cached: int, changes: int) -> bool:
    """Whether these requests with a copy, and the changes that they found, are enough for a choice."""
    return cached >= LEAST_CACHED and changes >= LEAST_CHANGES


def _named(engines: Engines, patterns: Mapping[str, str]) -> dict[str, str]:
    """Return the domain of each object of a scenario."""
    return {**Breakdown.by_domain(engines.scenario.objects).parts, **patterns}


def _count_parts(engines: Engines, parts: Breakdown, policy: Policy) -> PartCounts:
    return parts.count(engines.replay_objects(policy))

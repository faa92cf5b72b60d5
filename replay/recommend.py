"""The recommendation of a policy for each domain of a trace, for as few validations as possible at a stale rate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bestbefore.addon.config.domain_sections import DEFAULT_POLICY
from bestbefore.addon.rules import HostPattern
from bestbefore.policies.validation.baselines.oracle import Oracle
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import make_policy
from bestbefore.replay.simulate.breakdown import DOMAIN, Breakdown
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.sweeps.grid import Point

LEAST_CACHED = 300
"""Requests with a copy, in the first part, from which on a domain may have a rule of its own.

If a hundredth of them were stale, one would nearly always be among 300: the chance of none is 1 in 20.
"""
LEAST_CHANGES = 30
"""Changes that requests met, in the first part, from which on a domain may have a rule of its own.

Stale hits come in runs, one for each change, so that it is changes on which the choice is made. On a real trace, rules
that rested on fewer than 15 of them had several times the stale rate later that they were chosen for.
"""
LONGEST_HOST = 253
"""Letters of the longest name that a host can have: RFC 1035, section 2.3.4, without the final dot."""

type Evaluate = Callable[[Callable[[Policy], PartCounts], Sequence[Policy]], list[PartCounts]]
"""Applies a function to each policy: here, or over several processes."""
type PartCounts = Mapping[str, Counts]
"""The counts of each domain that may have a rule, and under `OTHERS` those of all other objects together."""

OTHERS = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy, and what it would have done."""

    point: Point
    first: Counts
    """In the part of the time in which it was chosen."""
    then: Counts
    """In the rest."""
    bound: Counts
    """In the rest, of who knows the future: no policy can be better."""
    reached: bool
    """Whether its stale rate in the first part is the one asked for, or less."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommended configuration, and its expected results."""

    largest_stale_rate: float
    """The largest share of stale hits among the requests that find a copy, as it was asked for."""
    default: Choice
    """Chosen and counted on all domains together."""
    domains: Mapping[str, Choice]
    """Those with enough data, by the host pattern that matches them, the most requested first."""
    others: Sequence[str]
    """The domains of the first part without a choice of their own: too little data, or no host."""
    changes: int
    """Changes that requests met in the first part, all domains together."""
    followed: Counts
    """What would have come of it in the rest of the time, all domains together."""
    unconfigured: Counts
    """The same of the proxy without a configuration."""

    @property
    def is_founded(self) -> bool:
        """Whether the default rests on as much as a rule for a domain must."""
        return _is_enough(self.default.first.cached, self.changes)

    @property
    def is_better_unconfigured(self) -> bool:
        """Whether the proxy without it would have had fewer stale hits or validations, and of neither more."""
        with_it, without = ((counts.stale_hits, counts.validations) for counts in (self.followed, self.unconfigured))
        return without != with_it and all(fewer <= more for fewer, more in zip(without, with_it, strict=True))


def live(point: Point) -> Policy:
    """The policy as the proxy runs it where its configuration says what the SPEC does, and nothing else."""
    return make_policy(point.policy.name, {**LIVE_DEFAULTS, **point.written})


def stale_rate(counts: Counts) -> float:
    """stale_hits / cached; 0 where no request found a copy."""
    return counts.stale_hits / counts.cached if counts.cached else 0.0


def recommend(
    first: Engines,
    then: Engines,
    candidates: Sequence[Point],
    largest_stale_rate: float,
    evaluate: Evaluate,
) -> Recommendation:
    """Recommend for each domain and for all together the candidate that `nearest` finds in the first part of a trace.

    `first` and `then` replay the two parts; the second is not looked at before everything is chosen. `candidates`, one
    or more, are compared as the proxy would run them. A domain has a choice of its own if it is a host for which, in
    the first part, at least `LEAST_CACHED` requests found a copy and `LEAST_CHANGES` of them met a change.
    """
    by_domain = Breakdown.by_domain([*first.scenario.objects, *then.scenario.objects])
    sizes = _most_requested_first(by_domain.count(first.replay_objects(Oracle())))
    # The oracle validates once for each change that is met.
    enough = {domain for domain, counted in sizes.items() if _is_enough(counted.cached, counted.validations)}
    own = set(filter(is_host, enough))
    parts = Breakdown(
        DOMAIN, {name: domain if domain in own else OTHERS for name, domain in by_domain.parts.items()}
    )
    policies = [live(candidate) for candidate in candidates]
    first.prepare(policies)
    first_counts = evaluate(partial(_count_parts, first, parts), policies)
    totals = [Counts.total(counts.values()) for counts in first_counts]
    default = nearest(totals, largest_stale_rate)
    places = {
        domain: nearest([counts[domain] for counts in first_counts], largest_stale_rate)
        for domain in sizes if domain in own
    }
    chosen = sorted({default, *places.values()})
    tried = [*(policies[place] for place in chosen), make_policy(DEFAULT_POLICY, LIVE_DEFAULTS), Oracle()]
    then.prepare(tried)
    counted = evaluate(partial(_count_parts, then, parts), tried)
    then_counts = dict(zip(chosen, counted, strict=False))
    unconfigured, bounds = counted[len(chosen):]
    nothing = Counts.total([])

    def choice(place: int, in_first: Counts, in_then: Counts, at_best: Counts) -> Choice:
        return Choice(candidates[place], in_first, in_then, at_best, stale_rate(in_first) <= largest_stale_rate)

    choices = {
        domain: choice(
            place, first_counts[place][domain], then_counts[place].get(domain, nothing), bounds.get(domain, nothing)
        )
        for domain, place in places.items()
    }
    return Recommendation(
        largest_stale_rate,
        choice(
            default, totals[default], Counts.total(then_counts[default].values()), Counts.total(bounds.values())
        ),
        choices,
        [domain for domain in sizes if domain not in own],
        sum(counted.validations for counted in sizes.values()),
        Counts.total([*(one.then for one in choices.values()), then_counts[default].get(OTHERS, nothing)]),
        Counts.total(unconfigured.values()),
    )


def nearest(counts: Sequence[Counts], largest_stale_rate: float) -> int:
    """The place of the counts with the fewest validations among those with this stale rate at most.

    If there are none, of those with the least stale rate. Among equals it is the one with the least stale hits, then
    the first.
    """

    def order(place: int) -> tuple[float, int, int]:
        at = counts[place]
        return max(stale_rate(at), largest_stale_rate), at.validations, at.stale_hits

    return min(range(len(counts)), key=order)


def is_host(domain: str) -> bool:
    """Whether a rule can match this domain."""
    try:
        return len(domain) <= LONGEST_HOST and "*" not in HostPattern.parse(domain).text
    except ValueError:
        return False


def _most_requested_first(domains: Mapping[str, Counts]) -> dict[str, Counts]:
    """Return the domains that were requested, the most requested first."""
    asked = {domain: counted for domain, counted in domains.items() if counted.requests}
    return dict(sorted(asked.items(), key=lambda item: -item[1].cached))


def _is_enough(cached: int, changes: int) -> bool:
    """Whether a choice can be made on so many requests that found a copy and so many changes that they met."""
    return cached >= LEAST_CACHED and changes >= LEAST_CHANGES


def _count_parts(engines: Engines, parts: Breakdown, policy: Policy) -> PartCounts:
    return parts.count(engines.replay_objects(policy))

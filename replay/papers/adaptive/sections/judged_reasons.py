"""The table of the reasons, each judged by a stated condition."""

from collections.abc import Mapping
from dataclasses import dataclass

from bestbefore.replay.papers.adaptive.curves import AGGHIST, INDHIST
from bestbefore.replay.papers.adaptive.formatting import share
from bestbefore.replay.papers.adaptive.multiples import BOUNDED, Multiples, Needed, joined
from bestbefore.replay.papers.claims import less, verdict
from bestbefore.replay.report.page import Page

RECORDED = "as recorded"
RATES_KNOWN = "rates known beforehand"
NO_BURSTS = "independent updates"
NO_HOURS = "gaps between updates shuffled"
OBSERVED = "histories observed by the proxy alone"
MOST, MANY = 0.5, 1.0 / 3.0
"""The least shares of requests that are called most of them, and many."""


@dataclass(frozen=True, slots=True)
class Floor:
    """What a cache for all clients shows beside one for each, with a theta of almost nothing; None without requests."""

    first_requests: float | None
    """The share of requests that find a copy that are the first of their client."""
    client: float | None
    shared: float | None
    """The shares of stale hits."""


@dataclass(frozen=True, slots=True)
class KnownHistories:
    """Objects with similar numbers of known updates; None without requests."""

    requests: float | None
    validations: float | None
    """Their share of the requests, and of TTL's validations."""
    found: Multiples


def write_reasons(
    page: Page, floor: Floor, least_known: KnownHistories, busiest: KnownHistories, found: Mapping[str, Multiples]
) -> None:
    """Add the table. `found` is what the curves need in each variant of the trace."""
    recorded = found[RECORDED]
    agg, ind, bound = (joined_of.name for joined_of in (AGGHIST, INDHIST, BOUNDED))
    page.table(("reason", "measured", "holds if", "holds"), (
        (
            "a missed update affects more requests: those that are the first of their client would be fresh in a "
            "cache of its own",
            f"{share(floor.first_requests)} of those that find a copy; least share of stale hits of IndHist "
            f"{share(floor.shared)}, per client {share(floor.client)}",
            f"{MOST:.0%} of them or more; more stale hits",
            verdict(_at_least(floor.first_requests, MOST), less(floor.client, floor.shared)),
        ),
        (
            "IndHist never validates in an hour in which it knows no update; with fewer than ten known most are such",
            f"{share(least_known.requests)} of the requests; IndHist with `max_ttl=1h` {joined(recorded[bound])}",
            f"{MANY:.0%} of them or more; fewer validations with the bound",
            verdict(_at_least(least_known.requests, MANY), *fewer(recorded[bound], recorded[ind])),
        ),
        (
            "objects that change often (200 known updates) gain less from histories than those with fewer than ten",
            f"AggHist {joined(busiest.found[agg])} and {joined(least_known.found[agg])}; the former have "
            f"{share(busiest.validations)} of TTL's validations",
            "more validations",
            verdict(*fewer(least_known.found[agg], busiest.found[agg])),
        ),
        (
            "training has eight days, which show little of the rates",
            f"{RATES_KNOWN}: IndHist {joined(found[RATES_KNOWN][ind])}",
            "fewer than as recorded",
            verdict(*fewer(found[RATES_KNOWN][ind], recorded[ind])),
        ),
        (
            "updates come in bursts, in which TTL is thought to be good",
            f"{NO_BURSTS}: AggHist {joined(found[NO_BURSTS][agg])}",
            "fewer than as recorded",
            verdict(*fewer(found[NO_BURSTS][agg], recorded[agg])),
        ),
        (
            "what histories gain is the pattern of the day",
            f"{NO_HOURS}, which destroys it: AggHist {joined(found[NO_HOURS][agg])}",
            "more than as recorded",
            verdict(*fewer(recorded[agg], found[NO_HOURS][agg])),
        ),
        (
            "a proxy knows only what contacts show, and TTL needs no more",
            f"{OBSERVED}: AggHist {joined(found[OBSERVED][agg])}, IndHist {joined(found[OBSERVED][ind])}",
            "more than as recorded",
            verdict(*(one for name in (agg, ind) for one in fewer(recorded[name], found[OBSERVED][name]))),
        ),
        (
            "even so, a bound of an hour makes histories better than TTL",
            f"{OBSERVED}: IndHist with `max_ttl=1h` {joined(found[OBSERVED][bound])}",
            "fewer than TTL",
            verdict(*(less(one, 1.0) for one in found[OBSERVED][bound])),
        ),
    ), words=4)  # fmt: skip


def fewer(some: Needed, than: Needed) -> list[bool | None]:
    """For each stale rate, whether fewer validations are needed; a rate that is not reached needs more than any.

    >>> fewer([0.5, None, 0.5, None], [0.6, 0.6, None, None])
    [True, False, True, None]
    """
    return [
        None if one is None and other is None else one is not None and (other is None or one < other)
        for one, other in zip(some, than, strict=True)
    ]


def _at_least(value: float | None, least: float) -> bool | None:
    return None if value is None else value >= least

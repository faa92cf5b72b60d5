"""The candidates for prefetching: the input of a plan, read from the store."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass

from bestbefore.addon.clock import Clock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.rate_evidence import rate_evidence, updates_by_hour
from bestbefore.addon.prefetcher.eligibility import MIN_REQUESTS, refused_url
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.cache.planning import Demand
from bestbefore.addon.store.store import Store
from bestbefore.policies.models.rates.evidence import Evidence
from bestbefore.policies.units import HOUR_S, FloatArray

MAX_OBJECTS = 10_000
"""The most objects in a plan, the most requested ones: planning takes 2 to 3 seconds for each thousand."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """An object that may be prefetched."""

    url: str
    domain: str
    """The registrable domain, the unit of politeness."""
    group: str
    seen: Evidence
    hours: FloatArray
    """(24,) The number of updates in each hour of the day."""
    requests_per_hour: float
    last_contact_s: float
    asked_from: tuple[str, ...]
    """The ranges of private addresses from which it was requested."""


def requested_urls(demand: Demand, excluded: Collection[str]) -> list[tuple[str, int, tuple[str, ...]]]:
    """Return the URLs that were requested often enough and may be fetched, with numbers and origins of the requests.

    At most `MAX_OBJECTS`, those with the most requests.
    """
    requests: Counter[str] = Counter()
    ranges: dict[str, set[str]] = {}
    for want, n in demand.counts.items():
        requests[want.url] += n
        if want.asked_from:
            ranges.setdefault(want.url, set()).add(want.asked_from)
    urls = (
        (url, n, tuple(sorted(ranges.get(url, ()))))
        for url, n in sorted(requests.items(), key=lambda pair: (-pair[1], pair[0]))
        if n >= MIN_REQUESTS and url not in excluded and refused_url(url) is None
    )
    return [found for found, _ in zip(urls, range(MAX_OBJECTS), strict=False)]


async def candidates(
    store: Store,
    clock: Clock,
    group_of: Callable[[str, str, str], str],
    is_passthrough: Callable[[str], bool],
    excluded: Collection[str],
) -> list[Candidate] | None:
    """Return the candidates; None if the store is down. `group_of`: host, path, cache group -> group."""
    demand = await store.planning.demand()
    if demand is None:
        return None
    hours = max((clock.now() - demand.since_s) / HOUR_S, 1.0)
    found = []
    for url, n, asked_from in requested_urls(demand, excluded):
        target = Target.parse(url)
        record = await store.record(url)
        if is_passthrough(target.host) or record is None or not _teaches(record):
            continue
        found.append(
            Candidate(
                url,
                registrable_domain(target.host),
                group_of(target.host, target.path, record.cache_group),
                rate_evidence(record),
                updates_by_hour(record),
                n / hours,
                record.last_contact_s,
                asked_from,
            )
        )
    return found


def _teaches(record: Record) -> bool:
    """Whether contacts show changes of the object: it has a validator, or is a feed.

    A single contact shows none.
    """
    return record.counted or record.contacts == 1

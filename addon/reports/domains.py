"""How often the objects of domains change, by what their contacts have shown."""

from collections.abc import Iterable
from dataclasses import dataclass

from bestbefore.addon.store.store import Store
from bestbefore.policies.units import DAY_S, HOUR_S


@dataclass(frozen=True, slots=True)
class DomainRate:
    """The updates of the objects of a registrable domain."""

    objects: int
    """Those that were contacted, and count in a group."""
    updates: int
    per_day: float
    """The mean number of updates of an object in a day, since it was first contacted."""


async def domain_rates(store: Store, domains: Iterable[str], now_s: float) -> dict[str, DomainRate]:
    """Return the rates of those of these registrable domains of which something is known."""
    rates = {}
    for domain in domains:
        counts = await store.group(domain, lambda _: True, domain)
        days = sum(n * (now_s - hour * HOUR_S) for hour, n in counts.starts.items()) / DAY_S
        if days > 0.0:
            updates = sum(counts.updates.values())
            rates[domain] = DomainRate(sum(counts.starts.values()), updates, updates / days)
    return rates

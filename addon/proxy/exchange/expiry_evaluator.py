"""Evaluates the expiry of copies by the policy of their domain's rule, with history and group."""

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

from cachetools import LRUCache

from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.response import PERMANENT_S
from bestbefore.addon.feeds.hints import bounded
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.cache_groups import CACHE_GROUPS
from bestbefore.addon.rules import DomainRule, Rules
from bestbefore.addon.store.backend.keys import host_in
from bestbefore.addon.store.store import Store
from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.models.group import Group
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict
from bestbefore.policies.validation.siblings.least_chance import least_chance

MAX_GROUPS = 4096
PERMANENTLY = "permanent"
"""The reason if a feed has moved, or is gone, permanently."""
FEED_HINT = "feed-hint"
"""The reason of an expiry that a hint in the feed has delayed."""


class ExpiryEvaluator:
    """Evaluates the policy for copies: their expiry and its reason."""

    def __init__(self, store: Store, rules: Callable[[], Rules]) -> None:
        """`rules` returns the rules in force."""
        self._store = store
        self._rules = rules
        self._groups: LRUCache[str, tuple[int, Group]] = LRUCache(MAX_GROUPS)

    def forget(self) -> None:
        """Clear the cached groups, whose members change with the rules."""
        self._groups.clear()
        self._store.regroup()

    async def evaluated(
        self, copy: Copy, record: Record | None, rule: DomainRule, requested_s: float | None = None
    ) -> Copy:
        """Return the copy with the verdict of the rule's policy at the time when the copy was last current.

        `requested_s`: when the request was sent that led to the contact; it is counted. None: there was none.
        """
        if rule.counts_demand and requested_s is not None:
            self._store.demand.count(copy, requested_s)
        if record is None:
            return copy.with_verdict(None, "", rule.key)
        if copy.for_good:
            lifetime_s = min(PERMANENT_S, rule.policy.max_ttl_s)
            return copy.with_verdict(copy.current_s + lifetime_s, PERMANENTLY, rule.key)
        host = urlsplit(copy.url).hostname or ""
        group = await self.group(host, rule, record.cache_group)
        history = record.history()
        demand = await self._demand(copy) if rule.counts_demand else None
        verdict = rule.policy.verdict(history, group, copy.current_s, demand=demand)
        if verdict.reason == Reason.BOOTSTRAP and not copy.has_validator:
            # It sends no Last-Modified, but its last update was not after the first contact.
            verdict = max(
                verdict,
                rule.policy.verdict(
                    replace(history, last_modified_s=record.since_s), group, copy.current_s, demand=demand
                ),
                key=lambda one: one.expiry_s,
            )
        if record.feed is not None:
            expiry_s = bounded(verdict.expiry_s, copy.current_s, record.feed.hints, rule.feed_hint)
            if expiry_s > verdict.expiry_s:
                verdict = Verdict(expiry_s, FEED_HINT)
        chance = least_chance(history, copy.current_s, verdict.expiry_s, rule.policy.siblings)
        return copy.with_verdict(verdict.expiry_s, verdict.reason, rule.key, chance)

    async def _demand(self, copy: Copy) -> CopyDemand:
        """Return the demand for a copy as of the time when it was last current, which may be before the request."""
        demand = await self._store.demand.of(copy)
        if demand.at_s <= copy.current_s:
            return demand
        return demand._replace(at_s=copy.current_s, since_s=min(demand.since_s, copy.current_s))

    async def group(self, host: str, rule: DomainRule, cache_group: str) -> Group:
        """Return the group of an object on a host, which may be counted in a cache group (`Record.cache_group`)."""
        name, domain = rule.group_of(host, cache_group), registrable_domain(host)
        if rule.group not in (None, CACHE_GROUPS):
            counts = await self._store.group(
                f"group {name}", lambda label: self._rules().group_of(host_in(label)) == name
            )
        else:
            belongs = (lambda _: True) if name == domain else name.__eq__
            counts = await self._store.group(name, belongs, domain)
        cached = self._groups.get(name)
        if cached is not None and cached[0] == counts.generation:
            group = cached[1]
            if group.rates == counts.rates:
                return group
            group = replace(group, rates=counts.rates)  # changed by every contact, unlike the rest
        else:
            group = Group.of_hours(counts.updates, counts.starts, counts.rates)
        self._groups[name] = (counts.generation, group)
        return group

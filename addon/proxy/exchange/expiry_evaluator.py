"""Evaluates the expiry of copies by the policy of their domain's rule, with history and group."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

from cachetools import LRUCache

from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.piggyback import PATTERN_DAYS
from bestbefore.addon.engine.response import PERMANENT_S
from bestbefore.addon.feeds.hints import bounded
from bestbefore.addon.rfc9111.caching.reuse import policy_may_decide
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.cache_groups import CACHE_GROUPS
from bestbefore.addon.rules import DomainRule, Rules
from bestbefore.addon.store.backend.keys import host_in
from bestbefore.addon.store.store import Store
from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.models.group import Group
from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.control import (
    MILLION,
    CopyControl,
    log_price,
    mean_rate_per_s,
    millionths,
)
from bestbefore.policies.validation.machinery.fallback import GROUP_LEAST_UPDATES
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict
from bestbefore.policies.validation.siblings.least_chance import least_chance

MAX_GROUPS = 4096
PERMANENTLY = "permanent"
"""The reason if a feed has moved, or is gone, permanently."""
FEED_HINT = "feed-hint"
"""The reason of an expiry that a hint in the feed has delayed."""


class Ended(NamedTuple):
    """A copy that a contact has replaced or validated."""

    copy: Copy
    contact_s: float
    """When the contact was requested."""
    changed: bool
    """Whether the object had changed since the copy was current."""


def controlled_group(rule: DomainRule, record: Record) -> str:
    """Return the name of the group in which the price for an object is controlled; it ends with the target."""
    host = urlsplit(record.url).hostname or ""
    return controlled_name(rule.group_of(host, record.cache_group), rule)


def controlled_name(group: str, rule: DomainRule) -> str:
    """Return the name under which the price for the objects of a group is controlled."""
    return f"{group} {rule.policy.stale_rate:g}"


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
        self,
        copy: Copy,
        record: Record | None,
        rule: DomainRule,
        requested_s: float | None = None,
        ended: Ended | None = None,
    ) -> Copy:
        """Return the copy with the verdict of the rule's policy at the time when the copy was last current.

        `requested_s`: when the request was sent that led to the contact; it is counted. None: there was none.
        `ended`: the copy before the contact, and what this has shown of it.
        """
        if rule.counts_demand and requested_s is not None:
            self._store.demand.count_contact(copy, requested_s)
        if ended is not None and ended.copy.control is not None:
            await self._count_validation(ended, requested_s)
        if record is None:
            return copy.with_verdict(None, "", rule.key)
        if copy.for_good:
            lifetime_s = min(PERMANENT_S, rule.policy.max_ttl_s)
            return copy.with_verdict(copy.current_s + lifetime_s, PERMANENTLY, rule.key)
        host = urlsplit(copy.url).hostname or ""
        group = await self.group(host, rule, record.cache_group)
        if record.group_pattern is not None:
            own = sum(group.counts(copy.current_s - PATTERN_DAYS * DAY_S, copy.current_s))
            group = group if own >= GROUP_LEAST_UPDATES else record.group_pattern.group(copy.current_s)
        history = record.history()
        demand = await self._demand(copy) if rule.counts_demand else None
        control = await self._control(copy, record, rule) if rule.policy.stale_rate else None
        price = math.nan if control is None else math.exp(control.log_price / MILLION)
        verdict = rule.policy.verdict(history, group, copy.current_s, demand=demand, price=price)
        if verdict.reason == Reason.BOOTSTRAP and not copy.has_validator:
            # It sends no Last-Modified, but its last update was not after the first contact.
            verdict = max(
                verdict,
                rule.policy.verdict(
                    replace(history, last_modified_s=record.since_s), group, copy.current_s, demand=demand,
                    price=price,
                ),
                key=lambda one: one.expiry_s,
            )
        if record.feed is not None:
            expiry_s = bounded(verdict.expiry_s, copy.current_s, record.feed.hints, rule.feed_hint)
            if expiry_s > verdict.expiry_s:
                verdict, control = Verdict(expiry_s, FEED_HINT), None
        chance = least_chance(history, copy.current_s, verdict.expiry_s, rule.policy.siblings)
        evaluated = copy.with_verdict(verdict.expiry_s, verdict.reason, rule.key, chance)
        if control is None or not policy_may_decide(copy, rule):
            return evaluated
        return evaluated.controlled(control, controlled_group(rule, record))

    async def _demand(self, copy: Copy) -> CopyDemand:
        """Return the demand for a copy as of the time when it was last current, which may be before the request."""
        demand = (await self._store.demand.of(copy)).demand
        if demand.at_s <= copy.current_s:
            return demand
        return demand._replace(at_s=copy.current_s, since_s=min(demand.since_s, copy.current_s))

    async def _count_validation(self, ended: Ended, requested_s: float | None) -> None:
        """Count the contact that ended a copy, and the stale hits that it has shown."""
        counts = await self._store.demand.of(ended.copy)
        predicted = counts.predicted_since(ended.copy.current_s)
        self._store.stale.count_validation(
            ended.copy, ended.contact_s, predicted, changed=ended.changed, requested=requested_s is not None
        )

    async def _control(self, copy: Copy, record: Record, rule: DomainRule) -> CopyControl:
        """Return the price in force, with which the copy is decided, and the rate of its object's updates."""
        rows = await self._store.stale.of(controlled_group(rule, record), copy.current_s)
        history = record.history()
        updates = history.count(history.since_s, copy.current_s)
        return CopyControl(
            mean_rate_per_s(updates, max(copy.current_s - history.since_s, 0.0)),
            millionths(log_price(rows, rule.policy.stale_rate)),
        )

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

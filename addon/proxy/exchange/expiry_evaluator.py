"""Asks the policy of an object's rule for the expiry of a copy, with the history and the group that it needs."""

from collections.abc import Callable
from urllib.parse import urlsplit

from cachetools import LRUCache

from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.response import PERMANENT_S
from bestbefore.addon.feeds.hints import bounded
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rules import DomainRule, Rules
from bestbefore.addon.store.store import Store
from bestbefore.policies.models.group import Group

GROUPS_HELD = 4096
PERMANENTLY = "permanent"
"""The reason where the origin of a feed has said that it moved, or is gone, for good."""
FEED_HINT = "feed-hint"
"""The reason of an expiry that a feed's own words have moved."""


class ExpiryEvaluator:
    """Gives copies their verdicts."""

    def __init__(self, store: Store, rules: Callable[[], Rules]) -> None:
        """`rules`: those in force when it is called."""
        self._store = store
        self._rules = rules
        self._groups: LRUCache[str, tuple[int, Group]] = LRUCache(GROUPS_HELD)

    def forget(self) -> None:
        """The rules have changed: groups have other members now."""
        self._groups.clear()
        self._store.regroup()

    async def evaluated(self, copy: Copy, record: Record | None, rule: DomainRule) -> Copy:
        """The copy with the verdict of the rule's policy at the moment at which the copy was current."""
        if record is None:
            return copy.with_verdict(None, "", rule.key)
        if copy.for_good:
            lifetime_s = min(PERMANENT_S, rule.policy.max_ttl_s)
            return copy.with_verdict(copy.current_s + lifetime_s, PERMANENTLY, rule.key)
        host = urlsplit(copy.url).hostname or ""
        group = await self._group(host, rule)
        verdict = rule.policy.verdict(record.history(), group, copy.current_s)
        if record.feed is not None:
            expiry_s = bounded(verdict.expiry_s, copy.current_s, record.feed.hints, rule.feed_hint)
            if expiry_s > verdict.expiry_s:
                return copy.with_verdict(expiry_s, FEED_HINT, rule.key)
        return copy.with_verdict(verdict.expiry_s, verdict.reason, rule.key)

    async def _group(self, host: str, rule: DomainRule) -> Group:
        name = rule.group
        domain = registrable_domain(host)
        if name is None:
            counts = await self._store.group(domain, lambda _: True, domain)
        else:
            counts = await self._store.group(f"group {name}", lambda other: self._rules().group_of(other) == name)
        held = self._groups.get(name or domain)
        if held is not None and held[0] == counts.generation:
            return held[1]
        group = Group.of_hours(counts.updates, counts.starts)
        self._groups[name or domain] = (counts.generation, group)
        return group

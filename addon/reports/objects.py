"""Reports on objects from a store and the configuration, for `bestbefore show` and for the dashboard."""

import difflib
from dataclasses import replace

from bestbefore.addon.admin.report import (
    ListedObject,
    ObjectReport,
    PlannedFetch,
    PushReport,
    SignalReport,
    listed_object,
    object_report,
)
from bestbefore.addon.admin.sanitize import plain_word
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.prefetcher.outlook import why
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator, controlled_group
from bestbefore.addon.proxy.pages.pages import HOST
from bestbefore.addon.rfc9111.conditional.parts import partition_of
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.rules import DomainRule, Rules
from bestbefore.addon.store.store import Store
from bestbefore.addon.websub.subscriptions import name_of, read_subscriptions
from bestbefore.policies.validation.machinery.control import ControlState, state_of
from bestbefore.policies.validation.machinery.features import Needs

NEAREST_SHOWN = 3
URLS_COMPARED = 5_000
"""How many known URLs are compared with an unknown one, to suggest the nearest (0.6 s)."""


class UnknownObjectError(LookupError):
    """Nothing is known of an object. The message is for the user, with the nearest known URLs."""


class ObjectReports:
    """Reports on the objects of a store at one moment, by the configured rules."""

    def __init__(self, store: Store, rules: Rules, now_s: float, callback_url: str | None) -> None:
        self.now_s = now_s
        self._callback_url = callback_url
        self._store = store
        self._rules = rules
        self._evaluator = ExpiryEvaluator(store, lambda: rules)

    async def most_requested(self, most: int, start: int = 0, text: str = "") -> list[ListedObject]:
        """Return so many of the most requested objects with this text in their URL, from a place in their order on."""
        top = (await self._store.top(start + most, text))[start:]
        records = {record.url: record for record in await self._store.stored_records([url for url, _ in top])}
        found = [await self._listed(url, requests, records.get(url)) for url, requests in top]
        return [one for one in found if one is not None]

    async def _listed(self, url: str, requests: int, record: Record | None) -> ListedObject | None:
        """Return the entry of an object; None for the proxy's own page, for which `bestbefore run` asks each time."""
        target = Target.parse(url)
        rule = self._rule(target)
        copies = await self._copies(url, rule, record)
        if record is None and not copies and target.host == HOST:
            return None
        return listed_object(url, requests, record, copies, rule, self.now_s)

    async def object(self, target: Target, *, suggests: bool = True) -> ObjectReport:
        """Return the report on an object. Raises UnknownObjectError, which names the nearest known if it `suggests`."""
        rule, url = self._rule(target), target.url
        record = await self._store.record(url)
        copies = await self._copies(url, rule, record)
        parts = (await self._store.copies(url, partition_of(""))).copies
        if record is None and not copies and not parts and url not in await self._store.planning.troubles():
            raise UnknownObjectError(await self._unknown(target, suggests=suggests))
        planned, needs = await self._planned(url), rule.policy.needs
        cache_group = "" if record is None else record.cache_group
        group = await self._evaluator.group(target.host, rule, cache_group) if Needs.GROUP in needs else None
        demands = [(await self._store.demand.of(copy)).demand for copy in copies] if rule.counts_demand else ()
        report = object_report(url, record, copies, rule, self.now_s, planned, parts, group, demands)
        controlled = None if record is None else await self._controlled(rule, record)
        signals, push = await self._signals(target), await self._push(url)
        trouble = (await self._store.planning.troubles()).get(url)
        return replace(report, signals=signals, push=push, controlled=controlled, trouble=trouble)

    async def _controlled(self, rule: DomainRule, record: Record) -> ControlState | None:
        target = rule.policy.stale_rate
        if not target:
            return None
        return state_of(await self._store.stale.of(controlled_group(rule, record), self.now_s), target)

    async def _push(self, url: str) -> PushReport | None:
        """Return the subscription of an object, if the configured proxy subscribes to hubs."""
        if self._callback_url is None:
            return None
        subscribed = await read_subscriptions(self._store.positions, name_of(self._callback_url))
        one = next((one for one in subscribed if one.url == url), None)
        return None if one is None else PushReport(one.hub, one.state, one.until_s, one.pushes, one.pushed_s)

    async def _signals(self, target: Target) -> tuple[SignalReport, ...]:
        site, known = registrable_domain(target.host), await self._store.signal_counts.read()
        return tuple(
            SignalReport(
                source.kind, seen.precision, seen.recall, round(seen.right + seen.wrong + seen.missed), seen.is_dropped
            )
            for source, seen in sorted(known.items())
            if source.site == site
        )

    async def _planned(self, url: str) -> PlannedFetch | None:
        candidate = await self._store.planning.candidate(url)
        if candidate is None or candidate.due_s is None:
            return None
        return PlannedFetch(candidate.due_s, why(candidate.rate_per_hour, candidate.requests))

    def _rule(self, target: Target) -> DomainRule:
        return self._rules.rule_for(target.host, target.path)

    async def _copies(self, url: str, rule: DomainRule, record: Record | None) -> list[Copy]:
        """Return the copies with the verdicts of the current rule."""
        copies = (await self._store.copies(url)).copies
        return [
            copy if copy.rule == rule.key else await self._evaluator.evaluated(copy, record, rule)
            for copy in copies
        ]

    async def _unknown(self, target: Target, *, suggests: bool) -> str:
        if not suggests:
            return f"{plain_word(target.url)}: nothing is known of it"
        known = await self._urls(f"*://{target.host}*") or await self._urls("*")
        lines = [f"{plain_word(target.url)}: nothing is known of it"]
        if not known:
            lines.append("nothing was learnt of any object yet")
        elif nearest := difflib.get_close_matches(target.url, known, NEAREST_SHOWN):
            lines.append(f"known are {' '.join(map(plain_word, nearest))}")
        return "\n".join(lines)

    async def _urls(self, pattern: str) -> list[str]:
        urls: list[str] = []
        async for url in self._store.urls(pattern):
            urls.append(url)
            if len(urls) == URLS_COMPARED:
                break
        return urls

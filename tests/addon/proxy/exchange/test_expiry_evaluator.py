"""Verdicts of the policy on copies, with what a store in memory knows of the object and its group."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.piggyback import GroupPattern
from bestbefore.addon.engine.response import PERMANENT_S
from bestbefore.addon.feeds.hints import Hints
from bestbefore.addon.proxy.exchange.expiry_evaluator import FEED_HINT, PERMANENTLY, ExpiryEvaluator
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.rules import DomainRule, Rules
from bestbefore.addon.store.store import Store
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.verdict import Decision, expires
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_745_600.0
HOUR_S, DAY_S = 3600.0, 86_400.0
URL = "http://www.example.org/page"


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_memory_store(clock=ManualClock(NOW_S))
    yield made
    await made.close()


def rules(folder: Path, text: str = "") -> Rules:
    (folder / "proxy.toml").write_text(text)
    return load_config(folder / "proxy.toml").rules


def copy(url: str = URL) -> Copy:
    head = Head(200, Fields([("Date", format_http_date(NOW_S)), ("ETag", '"a"')]))
    return Copy(url, head, BodyRef("d", 1), NOW_S, NOW_S, NOW_S, NOW_S)


async def learn(store: Store, url: str, *hours_ago: float) -> Any:
    """The record of an object that changed so many hours ago."""
    for number, hours in enumerate(sorted(hours_ago, reverse=True)):
        await store.learn(Observation(url, NOW_S - hours * HOUR_S, "", Fingerprint(etag=str(number))))
    return await store.record(url)


def rule_of(given: Rules, url: str = URL) -> DomainRule:
    return given.rule_for(url.split("/")[2], "/page")


async def test_an_object_without_a_record_has_no_learned_expiry(store: Store, tmp_path: Path) -> None:
    given = rules(tmp_path)
    rule = rule_of(given)
    evaluated = await ExpiryEvaluator(store, lambda: given).evaluated(copy(), None, rule)
    assert (evaluated.expiry_s, evaluated.reason, evaluated.rule) == (None, "", rule.key)


async def test_the_policy_decides_at_the_moment_when_the_copy_was_current(store: Store, tmp_path: Path) -> None:
    given = rules(tmp_path, '[default]\npolicy = "fixed"\ninterval = "2h"\n')
    evaluator, record = ExpiryEvaluator(store, lambda: given), await learn(store, URL, 9.0, 5.0)
    rule = rule_of(given)
    evaluated = await evaluator.evaluated(copy(), record, rule)
    assert (evaluated.expiry_s, evaluated.reason, evaluated.rule) == (NOW_S + 2 * HOUR_S, "fixed", rule.key)


@pytest.mark.parametrize(
    ("fields", "hours", "lifetime_s", "reason"),
    [
        ([], 50.0, 5.0 * HOUR_S, "fallback_ttl"),
        ([], 0.1, 60.0, "bootstrap"),
        ([("ETag", '"a"')], 50.0, 60.0, "bootstrap"),
    ],
)
async def test_without_a_validator_what_has_not_changed_since_the_first_contact_is_as_old_as_that(
    fields: list[tuple[str, str]], hours: float, lifetime_s: float, reason: str, store: Store, tmp_path: Path
) -> None:
    given = rules(tmp_path)
    evaluator = ExpiryEvaluator(store, lambda: given)
    for ago_s in (hours * HOUR_S, 0.0):
        await store.learn(Observation(URL, NOW_S - ago_s, "", Fingerprint(body="same")))
    head = Head(200, Fields([("Date", format_http_date(NOW_S)), *fields]))
    evaluated = await evaluator.evaluated(replace(copy(), head=head), await store.record(URL), rule_of(given))
    assert (evaluated.expiry_s, evaluated.reason) == (NOW_S + lifetime_s, reason)


@pytest.mark.parametrize(("max_ttl", "lifetime_s"), [("1h", HOUR_S), ("300d", PERMANENT_S)])
async def test_what_is_for_good_is_kept_as_long_as_the_rule_allows(
    store: Store, tmp_path: Path, max_ttl: str, lifetime_s: float
) -> None:
    given = rules(tmp_path, f'[default]\nmax_ttl = "{max_ttl}"\n')
    evaluator, record = ExpiryEvaluator(store, lambda: given), await learn(store, URL, 9.0)
    evaluated = await evaluator.evaluated(replace(copy(), for_good=True), record, rule_of(given))
    assert (evaluated.expiry_s, evaluated.reason) == (NOW_S + lifetime_s, PERMANENTLY)


@pytest.mark.parametrize(
    ("ttl_s", "hint", "expected_s", "reason"),
    [
        (1800.0, "1h", 1800.0, FEED_HINT),
        (7200.0, "1h", 3600.0, FEED_HINT),  # no further than the rule allows
        (600.0, "1h", 600.0, "fixed"),  # not later than the policy's: nothing is delayed
        (300.0, "1h", 600.0, "fixed"),
        (1800.0, 0, 600.0, "fixed"),
    ],
)
async def test_what_a_feed_declares_delays_an_expiry_and_never_advances_it(
    store: Store, tmp_path: Path, ttl_s: float, hint: str | int, expected_s: float, reason: str
) -> None:
    given = rules(tmp_path, f'[default]\npolicy = "fixed"\ninterval = "10m"\nfeed_hint = {hint!r}\n')
    record = replace(await learn(store, URL, 9.0), feed=SimpleNamespace(hints=Hints(least_s=ttl_s)))
    evaluated = await ExpiryEvaluator(store, lambda: given).evaluated(copy(), record, rule_of(given))
    assert (evaluated.expiry_s, evaluated.reason) == (NOW_S + expected_s, reason)


async def test_an_object_of_which_little_is_known_is_decided_by_its_group(store: Store, tmp_path: Path) -> None:
    """The domain, or the rules of one name."""
    given = rules(
        tmp_path,
        '[default]\npolicy = "groupgap"\nmin = 1\nmax = "2d"\n[[domain]]\nmatch = "*.example.org"\n'
        '[[domain]]\nmatch = "a.test"\ngroup = "mine"\n[[domain]]\nmatch = "b.test"\ngroup = "mine"\n',
    )
    evaluator = ExpiryEvaluator(store, lambda: given)
    lifetimes = []
    for host, other, gap_hours in (("www.example.org", "feeds.example.org", 4), ("a.test", "b.test", 8)):
        await learn(store, f"http://{other}/x", *[gap_hours * n + 0.1 for n in range(9)])
        url = f"http://{host}/page"
        record = await learn(store, url, 0.5)
        lifetimes.append([
            (await evaluator.evaluated(copy(url), record, rule_of(given, url))).expiry_s for _ in range(2)
        ])
    assert lifetimes == [[NOW_S + 4 * HOUR_S] * 2, [NOW_S + 8 * HOUR_S] * 2]
    group = await evaluator.group("a.test", rule_of(given, "http://a.test/"), "")
    assert await evaluator.group("b.test", rule_of(given, "http://b.test/"), "") is group, "nothing new"
    await learn(store, "http://b.test/y", 1.0, 0.2)
    assert await evaluator.group("a.test", rule_of(given, "http://a.test/"), "") is not group
    before = await evaluator.group("a.test", rule_of(given, "http://a.test/"), "")
    evaluator.forget()
    assert await evaluator.group("a.test", rule_of(given, "http://a.test/"), "") is not before


async def test_cache_groups_of_one_host_decide_apart_where_the_rule_says_so(store: Store, tmp_path: Path) -> None:
    given = rules(tmp_path, '[default]\npolicy = "groupgap"\nmin = 1\nmax = "2d"\ngroup = "cache-groups"\n')
    evaluator = ExpiryEvaluator(store, lambda: given)

    async def expires_in_h(cache_group: str) -> float:
        record = replace(await learn(store, URL, 0.5), cache_group=cache_group)
        return ((await evaluator.evaluated(copy(), record, rule_of(given))).expiry_s or 0.0) / HOUR_S - NOW_S / HOUR_S

    labels = [f'"{name}"@http://www.example.org' for name in "ab"]
    for label, gap_hours in zip(labels, (4, 8), strict=True):
        for n in range(9, -1, -1):
            contact_s = NOW_S - (gap_hours * n + 0.1) * HOUR_S
            seen = Observation(f"{URL}/{label}", contact_s, "", Fingerprint(etag=str(n)), cache_group=label)
            await store.learn(seen)
    assert [await expires_in_h(label) for label in labels] == pytest.approx([4.0, 8.0])
    assert await expires_in_h("") < 4.0, "the domain has the updates of both"


@dataclass(frozen=True, slots=True)
class AnHourForEachRequest(Formula):
    """Gives copies a lifetime by the demand for them."""

    name = "an-hour-for-each-request"
    needs = Needs.DEMAND

    def decide(self, features: Features) -> Decision:
        demand = features.demand()
        assert demand.since_s <= demand.at_s <= features.t
        return expires(features.t + round(demand.day_requests) * HOUR_S)


async def test_a_policy_reads_the_demand_for_the_copy_with_the_request_that_led_to_the_contact(
    store: Store, tmp_path: Path
) -> None:
    given = rules(tmp_path)
    rule = replace(rule_of(given), policy=Bounded(AnHourForEachRequest()))
    evaluator, record = ExpiryEvaluator(store, lambda: given), await learn(store, URL, 9, 5)
    assert (await evaluator.evaluated(copy(), record, rule, NOW_S)).expiry_s == NOW_S + HOUR_S
    store.demand.count(copy(), NOW_S)
    assert (await evaluator.evaluated(copy(), record, rule, NOW_S)).expiry_s == NOW_S + 3 * HOUR_S
    older = replace(copy(), current_s=NOW_S - HOUR_S)
    assert (await evaluator.evaluated(older, record, rule)).expiry_s == NOW_S + 2 * HOUR_S, "no request led to it"
    await evaluator.evaluated(copy(), record, rule_of(given), NOW_S)
    counted = (await store.demand.of(copy())).demand.day_requests
    assert counted == pytest.approx(3.0, rel=0.01), "the policy of this rule reads no demand"


async def test_the_pattern_that_an_origin_tells_stands_in_for_a_group_of_which_little_is_known(
    store: Store, tmp_path: Path
) -> None:
    given = rules(tmp_path)
    rule, evaluator = rule_of(given), ExpiryEvaluator(store, lambda: given)
    hour = int(NOW_S % DAY_S // HOUR_S)
    told = GroupPattern(tuple(280 * (k == (hour + 5) % 24) for k in range(24)), 28, 1)
    await store.learn(Observation(URL, NOW_S - DAY_S, "", Fingerprint(etag="1"), group_pattern=told))
    record = await store.record(URL)
    evaluated = await evaluator.evaluated(copy(), record, rule)
    assert evaluated.reason == "fallback_group"
    assert evaluated.expiry_s is not None
    assert NOW_S + 5 * HOUR_S < evaluated.expiry_s < NOW_S + 6 * HOUR_S
    assert (await evaluator.evaluated(copy(), replace(record, group_pattern=None), rule)).reason == "bootstrap"

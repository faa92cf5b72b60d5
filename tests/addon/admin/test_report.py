import math
from dataclasses import replace

import pytest

from bestbefore.addon.admin.report import (
    UPDATES_REPORTED,
    Expires,
    PartsReport,
    UpdateReport,
    listed_object,
    object_report,
)
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.listing import Feed
from bestbefore.addon.engine.update import Update
from bestbefore.addon.rfc9111.caching.reuse import Action
from bestbefore.addon.rfc9111.conditional.parts import as_part, partition_of
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.rules import DomainRule, Pattern
from bestbefore.policies.models.demand import first_request
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.member_rates import MemberRates, log_interval_micronats
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.rules.renewal import Renewal
from bestbefore.policies.validation.rules.ttl import Ttl

NOW_S = 1706227238.0  # 2024-01-26 00:00:38
URL = "http://example.org/a"
RULE = DomainRule(match=Pattern.parse("*.example.org"), policy=Bounded(Ttl(0.2), max_ttl_s=3600.0))
RECORD = Record(
    URL, since_s=NOW_S - 86_400, last_contact_s=NOW_S - 300, contacts=5, unchanged=3,
    updates=(Update(NOW_S - 7200, NOW_S - 3700), Update(NOW_S - 600, NOW_S - 600)),
)


def copy(*fields: tuple[str, str], expiry_s: float | None = NOW_S + 500, reason: str = "ttl") -> Copy:
    """Current five minutes ago."""
    head = Head(200, Fields((("Date", "Thu, 25 Jan 2024 23:55:38 GMT"), *fields)))
    at_s = NOW_S - 300
    return Copy(URL, head, BodyRef("d", 1234), at_s, at_s, at_s, at_s - 60, expiry_s=expiry_s, reason=reason)


def test_an_object_is_reported_with_its_rule_and_its_history() -> None:
    report = object_report(URL, RECORD, (), RULE, NOW_S)
    assert (report.match, report.policy, report.obey) == ("*.example.org", "ttl", "strict")
    assert report.params["alpha"] == 0.2
    assert report.params["max_ttl"] == 3600.0
    observed = report.observed
    assert observed is not None
    assert (observed.since_s, observed.contacts, observed.unchanged, observed.updates) == (NOW_S - 86_400, 5, 3, 2)
    assert observed.last_updates == (UpdateReport(NOW_S - 7200, NOW_S - 3700), UpdateReport(NOW_S - 600, NOW_S - 600))


def test_updates_are_counted_by_the_utc_hour_of_their_points_and_folded_ones_too() -> None:
    record = replace(RECORD, since_s=0.0, folded=((5 + 24 * 100, 7),))
    observed = object_report(URL, record, (), RULE, NOW_S).observed
    assert observed is not None
    # The interval's middle is at 22:29:48.
    assert {hour: n for hour, n in enumerate(observed.updates_by_hour) if n} == {5: 7, 22: 1, 23: 1}
    assert observed.updates == 9


def test_the_pattern_is_that_of_the_hours_observed() -> None:
    """Two updates in 24 hours and 55 minutes, the bin of 23 h seen for 1 h 55 min, that of 22 h for 1 h."""
    record = replace(RECORD, since_s=NOW_S - 90_038.0)  # from 23:00
    observed = object_report(URL, record, (), RULE, NOW_S).observed
    assert observed is not None
    rates = {hour: rate for hour, rate in enumerate(observed.rates_by_hour) if rate}
    assert rates == {22: 1.0, 23: pytest.approx(1.0 / (1.0 + (3600 - 262) / 3600.0), abs=1e-3)}


def test_what_a_policy_with_a_memory_and_a_price_expects_is_reported() -> None:
    rule = replace(RULE, policy=Bounded(Renewal(3.0)))
    group = replace(Group.of_hours({}, {}), rates=MemberRates(2, 2 * log_interval_micronats(0, HOUR_S / 2)))
    shown, other = copy(), replace(copy(), personal="hash")
    report = object_report(URL, RECORD, (shown, other), rule, NOW_S, group=group, demands=[first_request(NOW_S), None])
    expected, demand = report.expected, report.variants[0].demand
    assert expected is not None
    assert expected.member_per_hour == pytest.approx(1.0)
    estimates = (expected.ever, expected.day, expected.gaps, expected.ended)
    assert sum(one.weight for one in estimates) == pytest.approx(1.0)
    assert expected.per_hour == pytest.approx(sum(one.weight * one.per_hour for one in estimates))
    assert demand is not None
    assert demand.day_per_hour == pytest.approx(1.1 / 0.4), "one, and a tenth of one in 24 minutes"
    assert report.variants[1].demand is None
    assert object_report(URL, None, (), rule, NOW_S).expected is None
    assert object_report(URL, RECORD, (shown,), RULE, NOW_S).expected is None


def test_the_rate_is_the_most_likely_one_with_its_interval() -> None:
    """Of a feed with two postings in a day: n / h, and where the likelihood has fallen by half of 1.96^2."""
    feed = Feed(NOW_S - 300)
    times = (Update(NOW_S - 9000, NOW_S - 9000), Update(NOW_S - 600, NOW_S - 600))
    record = replace(RECORD, since_s=NOW_S - 300 - 86_400, updates=times, feed=feed)
    observed = object_report(URL, record, (), RULE, NOW_S).observed
    assert observed is not None
    assert observed.rate is not None
    rate = observed.rate
    assert rate.per_hour == pytest.approx(2 / 24)
    for bound in (rate.low_per_hour, rate.high_per_hour):
        assert bound is not None
        assert 2 * math.log(bound * 12) - 24 * bound + 2 == pytest.approx(-1.9207, abs=1e-3)


def test_an_infinite_rate_is_none_and_after_one_contact_there_is_no_rate() -> None:
    always = Record(
        URL, since_s=NOW_S - 7200, last_contact_s=NOW_S - 3700, contacts=2,
        updates=(Update(NOW_S - 7200, NOW_S - 3700),),
    )
    observed = object_report(URL, always, (), RULE, NOW_S).observed
    assert observed is not None
    assert observed.rate is not None
    assert (observed.rate.per_hour, observed.rate.high_per_hour) == (None, None)
    assert observed.rate.low_per_hour > 0.0
    once = Record(URL, since_s=NOW_S, last_contact_s=NOW_S)
    observed = object_report(URL, once, (), RULE, NOW_S).observed
    assert observed is not None
    assert observed.rate is None
    assert not any(observed.rates_by_hour)


def test_only_the_latest_updates_are_listed() -> None:
    times = [NOW_S - 1000 + i for i in range(50)]
    observed = object_report(URL, replace(RECORD, updates=tuple(Update(t, t) for t in times)), (), RULE, NOW_S).observed
    assert observed is not None
    assert [update.by_s for update in observed.last_updates] == times[-UPDATES_REPORTED:]


def test_what_was_never_learnt_of_has_no_history() -> None:
    assert object_report(URL, None, (), RULE, NOW_S).observed is None


def test_a_copy_without_lifetime_expires_when_the_policy_says() -> None:
    (variant,) = object_report(URL, RECORD, [copy(("ETag", '"a"'))], RULE, NOW_S).variants
    assert (variant.action, variant.expires) == (Action.FRESH, Expires(NOW_S + 500, "ttl"))
    assert set(variant.under.values()) == {Expires(NOW_S + 500, "ttl")}
    assert (variant.etag, variant.last_modified, variant.size_bytes) == ('"a"', None, 1234)


def part(start: int, end: int, tag: str = '"a"', at_s: float = NOW_S) -> Copy:
    made = replace(copy(("ETag", tag)), response_time_s=at_s)
    return replace(made, head=as_part(made.head, Span(start, end), 1000), partition=partition_of(""))


def test_parts_that_answer_together_are_reported_as_one() -> None:
    parts = part(0, 10), part(500, 600, '"b"', NOW_S - 1), part(10, 20), part(900, 1000)
    reports = object_report(URL, RECORD, (), RULE, NOW_S, parts=parts).parts
    assert reports == (
        PartsReport(((0, 19), (900, 999)), 1000, '"a"', None),
        PartsReport(((500, 599),), 1000, '"b"', None),
    )


def test_parts_that_a_complete_response_has_made_useless_are_not_reported() -> None:
    report = object_report(URL, RECORD, [copy()], RULE, NOW_S, parts=[part(0, 10, at_s=NOW_S - 400)])
    assert (len(report.variants), report.parts) == (1, ())


def test_what_shorten_and_override_would_change_is_reported() -> None:
    early = copy(("ETag", '"a"'), ("Cache-Control", "max-age=3600"), expiry_s=NOW_S - 10)
    (variant,) = object_report(URL, RECORD, [early], RULE, NOW_S).variants
    assert variant.action is Action.FRESH
    assert variant.under == {
        "strict": Expires(NOW_S + 3300, "max-age"),
        "shorten": Expires(NOW_S - 10, "ttl"),
        "override": Expires(NOW_S - 10, "ttl"),
    }
    late = copy(("ETag", '"a"'), ("Cache-Control", "max-age=60"), expiry_s=NOW_S + 10)
    (variant,) = object_report(URL, RECORD, [late], RULE, NOW_S).variants
    assert variant.action is Action.VALIDATE
    assert variant.expires == Expires(NOW_S - 240, "max-age")
    assert variant.under["shorten"] == variant.under["strict"]
    assert variant.under["override"] == Expires(NOW_S + 10, "ttl")


def test_a_copy_that_must_be_validated_each_time_never_expires_at_a_moment() -> None:
    guarded = copy(("Cache-Control", "no-cache"), ("ETag", '"a"'))
    (variant,) = object_report(URL, RECORD, [guarded], RULE, NOW_S).variants
    assert (variant.action, variant.expires) == (Action.VALIDATE, Expires(None, "no-cache"))


def test_a_copy_from_the_future_is_validated_since_the_clock_was_set_back() -> None:
    (variant,) = object_report(URL, RECORD, [copy(("ETag", '"a"'))], RULE, NOW_S - 3600).variants
    assert (variant.action, variant.expires) == (Action.VALIDATE, Expires(None, "clock"))


@pytest.mark.parametrize(
    ("copies", "next_check_s"),
    [
        ([], None),
        ([copy(("ETag", '"a"'))], NOW_S + 500),
        ([copy(("ETag", '"a"')), copy(("ETag", '"b"'), expiry_s=NOW_S + 100)], NOW_S + 100),
        ([copy(("ETag", '"a"'), expiry_s=NOW_S - 100)], NOW_S),
        ([copy(("Cache-Control", "no-cache"))], None),
    ],
)
def test_the_next_check_is_the_first_expiry_but_not_before_now(copies: list[Copy], next_check_s: float | None) -> None:
    listed = listed_object(URL, 12, RECORD, copies, RULE, NOW_S)
    assert (listed.requests, listed.contacts, listed.unchanged, listed.updates, listed.policy) == (12, 5, 3, 2, "ttl")
    assert listed.next_check_s == next_check_s

"""Reports on objects as plain values, which `show` prints as text or JSON.

Pure: records, copies and the time are arguments. Times are Unix seconds (UTC).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from bestbefore.addon.admin.missing import UnvalidatedReport, unvalidated_report
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.rate_evidence import rate_evidence
from bestbefore.addon.engine.update import TimeSpan
from bestbefore.addon.feeds.document import Hints
from bestbefore.addon.rfc9111.caching.reuse import Action, decide, expiry
from bestbefore.addon.rfc9111.conditional.parts import combinable, missing, place
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.fields.directives import of_request
from bestbefore.addon.rfc9111.message import Fields, Request, Target
from bestbefore.addon.rules import OBEY, DomainRule
from bestbefore.policies.models.demand import CopyDemand, rates_at
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.intensity import HOURLY_S, exposure_h, observed_rates_per_hour
from bestbefore.policies.models.rates.likelihood import most_likely
from bestbefore.policies.units import BINS, HOUR_S
from bestbefore.policies.validation.machinery.bounds import LEAST_EXPOSURE_H
from bestbefore.policies.validation.machinery.control import ControlState
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.machinery.spec import params
from bestbefore.policies.validation.rules.renewal import estimates

UPDATES_REPORTED = 10
CONFIDENCE = 0.95
"""The confidence level of the interval of a rate."""

_NO_DIRECTIVES = of_request(Fields(), honour=True)


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """An update in (after_s, by_s]; at that moment if both are equal."""

    after_s: float
    by_s: float


@dataclass(frozen=True, slots=True)
class FeedReport:
    """The state of a feed besides its postings, which are its updates."""

    items: int
    """How many are in its last document."""
    edited: int
    hints: Hints
    """What the feed declares about when polling is worthwhile."""
    away: bool
    """Whether the last contact returned something else."""
    missed: tuple[TimeSpan, ...] = ()
    """The latest intervals in which items may have come and gone: a contact found none of those of the one before."""


@dataclass(frozen=True, slots=True)
class RateReport:
    """The estimated rate of updates of an object, with a confidence interval (`CONFIDENCE`)."""

    per_hour: float | None
    """None: every contact found the object changed, so the rate has no upper bound."""
    low_per_hour: float
    high_per_hour: float | None
    """None: there is no upper bound."""


@dataclass(frozen=True, slots=True)
class EstimateReport:
    """One of the estimates whose mixture a policy takes for the rate of updates."""

    weight: float
    """Its part of the mixture: the weights of all add up to 1."""
    per_hour: float
    """Updates per hour at this hour of the week."""


@dataclass(frozen=True, slots=True)
class ExpectedReport:
    """The rate of updates that a policy with a memory expects now, if there was none since the last contact."""

    per_hour: float
    ever: EstimateReport
    """By all updates of the object."""
    day: EstimateReport
    """By those of the last day or so."""
    gaps: EstimateReport
    """By the time since the last one, and the gaps between them."""
    ended: EstimateReport
    """If its updates have ended."""
    member_per_hour: float
    """The typical rate of a member of its group."""


@dataclass(frozen=True, slots=True)
class DemandReport:
    """The requests for a copy at all proxies of the store, as a policy with a price expects them to go on."""

    day_per_hour: float
    """By the requests of the last day or so."""
    minutes_per_hour: float
    """By those of the last minutes."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The history of an object."""

    since_s: float
    last_contact_s: float
    contacts: int
    unchanged: int
    """The number of contacts that found it unchanged."""
    updates: int
    updates_by_hour: tuple[int, ...]
    """(24,) The number of updates in each hour of the day, UTC."""
    rates_by_hour: tuple[float, ...]
    """(24,) Updates per hour in each hour of the day, UTC: the mean if that hour was observed for less than an hour."""
    last_updates: tuple[UpdateReport, ...]
    """The latest updates, in ascending order."""
    last_modified_s: float | None
    """An update before it was observed."""
    rate: RateReport | None = None
    """None after a single contact."""
    feed: FeedReport | None = None
    """The state of the feed, if the object is one."""


@dataclass(frozen=True, slots=True)
class Expires:
    """The time until which a copy may be served without contact, and the reason."""

    expiry_s: float | None
    """None: the copy is validated for each request."""
    reason: str


@dataclass(frozen=True, slots=True)
class VariantReport:
    """The report on a stored copy."""

    status: int
    size_bytes: int
    selected_by: Mapping[str, str | None]
    """The request fields that select it: their lower-case names and values, None for one that must be absent."""
    personal: bool
    """Whether it answers only requests with the same Cookie as the one that fetched it."""
    etag: str | None
    last_modified: str | None
    stored_s: float
    current_s: float
    """The last moment at which it was known to be current."""
    action: Action
    """The action for a plain GET now."""
    expires: Expires
    """Under the rule of the object."""
    under: Mapping[str, Expires]
    """Under each value of `obey`, including the rule's own."""
    for_client: bool = False
    """Whether it answers only the client that fetched it."""
    demand: DemandReport | None = None
    """None: the policy does not read it."""
    because: str = ""
    """The URL of the sibling because of whose change it was last validated early; empty: it was not."""


@dataclass(frozen=True, slots=True)
class PartsReport:
    """The report on stored parts that answer together (`conditional.parts`)."""

    spans: tuple[tuple[int, int], ...]
    """The first and last byte of each stretch of content that is stored."""
    size_bytes: int
    """The size of the complete content."""
    etag: str | None
    last_modified: str | None


@dataclass(frozen=True, slots=True)
class PlannedFetch:
    """The next background fetch of an object."""

    due_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class SignalReport:
    """How often signals of one kind from the site of an object were right."""

    kind: str
    precision: float
    recall: float
    judged: int
    """How many signals and unannounced changes these rest on."""
    dropped: bool
    """Whether they are ignored, as they are wrong too often."""


@dataclass(frozen=True, slots=True)
class PushReport:
    """The subscription to the pushes of a hub: until its lease ends. A time of 0: never."""

    hub: str
    state: str
    until_s: float
    pushes: int
    last_push_s: float


@dataclass(frozen=True, slots=True)
class ObjectReport:
    """The report on an object: its rule, history and copies."""

    url: str
    now_s: float
    match: str
    """The pattern of the object's rule."""
    policy: str
    params: Mapping[str, float | str | list[str]]
    """The policy's parameters by their keys, durations in seconds."""
    obey: str
    group: str
    """The name of its group; of a group of copies as `rfc9111.fields.cache_groups` writes it."""
    observed: Observed | None
    """None: there is no history."""
    variants: tuple[VariantReport, ...]
    prefetch: PlannedFetch | None
    """None: none is planned."""
    unvalidated: UnvalidatedReport | None = None
    """None: its last response had a validator or lifetime, or it was not observed."""
    expected: ExpectedReport | None = None
    """None: the policy has no memory, or there is no history."""
    controlled: ControlState | None = None
    """None: no price is controlled."""
    trouble: tuple[str, float, int, float | None] | None = None
    """Why the last fetch of a watched object failed, when, how many did in a row, and when it is tried again."""
    parts: tuple[PartsReport, ...] = ()
    """The parts received last first; none that a later complete response has made useless."""
    signals: tuple[SignalReport, ...] = ()
    """By kind; of those that contacts have judged."""
    push: PushReport | None = None
    """None: it has declared no hub, or the proxy does not subscribe."""


@dataclass(frozen=True, slots=True)
class ListedObject:
    """An object in the list of the most requested. No contacts: nothing was learnt of it; it may not be stored."""

    url: str
    requests: int
    contacts: int
    unchanged: int
    updates: int
    policy: str
    next_check_s: float | None
    """From when on a request causes a contact; None: each does, or there is no copy."""


def object_report(
    url: str,
    record: Record | None,
    copies: Iterable[Copy],
    rule: DomainRule,
    now_s: float,
    prefetch: PlannedFetch | None = None,
    parts: Iterable[Copy] = (),
    group: Group | None = None,
    demands: Sequence[CopyDemand | None] = (),
) -> ObjectReport:
    """Return the report on an object. The copies must have the verdicts of the rule's policy.

    `demands`: those for the copies, if the policy reads them.
    """
    copies = tuple(copies)
    latest_s = max((copy.response_time_s for copy in copies), default=0.0)
    return ObjectReport(
        url=url,
        now_s=now_s,
        match=str(rule.match),
        policy=rule.policy.name,
        params=params(rule.policy),
        obey=rule.obey,
        group=rule.group_of(Target.parse(url).host, "" if record is None else record.cache_group),
        observed=None if record is None else observed_report(record),
        variants=tuple(
            _variant_report(copy, rule, now_s, demand) for copy, demand in zip_longest(copies, demands[: len(copies)])
        ),
        prefetch=prefetch,
        unvalidated=None if record is None else unvalidated_report(record, rule),
        expected=None if record is None or Needs.MEMORY not in rule.policy.needs else _expected(record, group, now_s),
        parts=tuple(_parts_reports([part for part in parts if part.response_time_s >= latest_s])),
    )


def _parts_reports(parts: Iterable[Copy]) -> Iterator[PartsReport]:
    left = sorted(parts, key=lambda part: -part.response_time_s)
    while left:
        leading, where = left[0], place(left[0].head)
        group = () if where is None else combinable(left, leading)
        left = [part for part in left[1:] if not any(part is one for one in group)]
        if where is None:
            continue
        edges = [0, *(edge for gap in missing(group, Span(0, where.size)) for edge in gap), where.size]
        stored = tuple((start, end - 1) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end)
        fields = leading.head.fields
        yield PartsReport(stored, where.size, fields.first("etag"), fields.first("last-modified"))


def listed_object(
    url: str, requests: int, record: Record | None, copies: Iterable[Copy], rule: DomainRule, now_s: float
) -> ListedObject:
    """Return the entry of an object. The copies must have the verdicts of the rule's policy."""
    expiries = [expiry(_plain_get(url), copy, rule).expiry_s for copy in copies]
    known = [expiry_s for expiry_s in expiries if expiry_s is not None]
    return ListedObject(
        url=url,
        requests=requests,
        contacts=record.contacts if record else 0,
        unchanged=record.unchanged if record else 0,
        updates=record.n_updates if record else 0,
        policy=rule.policy.name,
        next_check_s=max(min(known), now_s) if known else None,
    )


def observed_report(record: Record) -> Observed:
    history, feed, unseen = record.history(), record.feed, record.unseen or ()
    counts = history.counts(-math.inf, math.inf) if record.n_updates else [0] * BINS
    hours = exposure_h(HOURLY_S, record.since_s, record.last_contact_s)
    return Observed(
        since_s=record.since_s,
        last_contact_s=record.last_contact_s,
        contacts=record.contacts,
        unchanged=record.unchanged,
        updates=record.n_updates,
        updates_by_hour=tuple(counts),
        rates_by_hour=tuple(observed_rates_per_hour(counts, hours, LEAST_EXPOSURE_H)),
        last_updates=tuple(UpdateReport(update.after_s, update.by_s) for update in record.updates[-UPDATES_REPORTED:]),
        last_modified_s=record.last_modified_s,
        rate=_rate(record),
        feed=None if feed is None else FeedReport(len(feed.items), feed.edited, feed.hints, feed.away, unseen),
    )


def _expected(record: Record, group: Group | None, now_s: float) -> ExpectedReport:
    features = HistoryFeatures(record.history(), group, now_s)
    ever, day, gaps, ended = (EstimateReport(weight, per_s * HOUR_S) for weight, per_s in estimates(features))
    per_hour = sum(one.weight * one.per_hour for one in (ever, day, gaps, ended))
    return ExpectedReport(per_hour, ever, day, gaps, ended, features.group_rate_per_s() * HOUR_S)


def _demand(demand: CopyDemand, now_s: float) -> DemandReport:
    rates = rates_at(demand, max(now_s, demand.at_s))
    return DemandReport(rates.day_per_s * HOUR_S, rates.minutes_per_s * HOUR_S)


def _rate(record: Record) -> RateReport | None:
    if (seen := rate_evidence(record)).is_empty:
        return None
    rate = most_likely(seen, confidence=CONFIDENCE)
    return RateReport(_finite(rate.rate_per_hour), rate.low_per_hour, _finite(rate.high_per_hour))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _variant_report(copy: Copy, rule: DomainRule, now_s: float, demand: CopyDemand | None) -> VariantReport:
    request = _plain_get(copy.url)
    reuse = decide(request, _NO_DIRECTIVES, copy, now_s, rule)
    return VariantReport(
        status=copy.head.status,
        size_bytes=copy.body.size,
        selected_by=dict(copy.selecting),
        personal=bool(copy.personal),
        for_client=bool(copy.client),
        demand=None if demand is None else _demand(demand, now_s),
        because=copy.because,
        etag=str(copy.etag) if copy.etag else None,
        last_modified=None if copy.last_modified_s is None else format_http_date(copy.last_modified_s),
        stored_s=copy.stored_s,
        current_s=copy.current_s,
        action=reuse.action,
        expires=Expires(None if reuse.ttl_s is None else now_s + reuse.ttl_s, reuse.reason),
        under={obey: Expires(*expiry(request, copy, replace(rule, obey=obey))) for obey in OBEY},
    )


def _plain_get(url: str) -> Request:
    return Request("GET", Target.parse(url))

"""Reports as text, which `bestbefore show` prints."""

from collections.abc import Iterator, Sequence

from bestbefore.addon.admin.missing import missing
from bestbefore.addon.admin.pattern import pattern_plot
from bestbefore.addon.admin.report import (
    CONFIDENCE,
    DemandReport,
    ExpectedReport,
    Expires,
    FeedReport,
    ListedObject,
    ObjectReport,
    Observed,
    PartsReport,
    PlannedFetch,
    PushReport,
    RateReport,
    SignalReport,
    UpdateReport,
    VariantReport,
)
from bestbefore.addon.admin.sanitize import plain_text, plain_word
from bestbefore.addon.admin.units import FAR_S, ahead, counted, size, span, utc
from bestbefore.addon.rfc9111.caching.reuse import Action
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.control import ControlState
from bestbefore.policies.validation.machinery.spec import spec_text

PATTERN_NEEDS_S = 12 * HOUR_S
"""How long an object must have been observed before its daily pattern is shown."""
SOON_S = 60.0
"""That no update was seen for less than this says nothing."""
UNKNOWN_FACTOR = 50.0
"""A rate whose confidence interval is wider than this factor is not known."""

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

VERDICTS = {
    Action.FRESH: "fresh",
    Action.STALE: "stale, and served so",
    Action.STALE_WHILE_REVALIDATE: "stale, served while it is validated",
    Action.VALIDATE: "to be validated",
}


def object_text(report: ObjectReport) -> str:
    """Return the report in printable ASCII, with a final newline."""
    lines = [
        plain_word(report.url),
        f"  rule        {plain_text(report.match)}, obey = {report.obey}",
        f"  policy      {spec_text(report.policy, report.params)}",
        f"  group       {plain_text(report.group)}",
    ]
    if report.observed is None:
        lines.append("  observed    nothing: no response to it has taught anything yet")
    else:
        lines += _observed_lines(report.observed, report.now_s)
    if report.expected is not None:
        lines += _expected_lines(report.expected)
    if report.controlled is not None:
        lines += _controlled_lines(report.controlled)
    if report.unvalidated is not None:
        lines.append(f"  validator   none: {missing(report.unvalidated, report.now_s)}")
    if report.prefetch is not None:
        lines.append(_prefetch_line(report.prefetch, report.now_s))
    if report.trouble is not None:
        lines.append(f"  trouble     could not be fetched: {trouble_text(*report.trouble, report.now_s)}")
    if not report.variants:
        lines.append("  copies      none stored")
    for number, variant in enumerate(report.variants, 1):
        lines += _variant_lines(number, variant, report)
    lines += [f"  parts       {_parts(parts)}" for parts in report.parts]
    lines += [f"  signals     {_signals(signals)}" for signals in report.signals]
    if report.push is not None:
        lines.append(f"  pushes      {_push(report.push, report.now_s)}")
    return "\n".join(lines) + "\n"


def trouble_text(what: str, at_s: float, failures: int, again_s: float | None, now_s: float) -> str:
    """Return why a watched object could not be fetched, how often in a row, and when it is tried again."""
    times = f"{failures} times in a row, the last " if failures > 1 else ""
    again = "" if again_s is None else f"; tried again in {span(max(again_s - now_s, 0.0))}"
    return f"{plain_text(what)}, {times}{span(now_s - at_s)} ago{again}"


def list_text(objects: Sequence[ListedObject], now_s: float) -> str:
    """Return the list of the most requested objects in printable ASCII, with a final newline."""
    if not objects:
        return "nothing was requested yet\n"
    width = max(6, *(len(listed.policy) for listed in objects))
    lines = [f"requests contacts unchanged updates  {'policy':<{width}}   next check  URL"]
    lines += (
        f"{listed.requests:>8} {listed.contacts:>8} {listed.unchanged:>9} {listed.updates:>7}  "
        f"{listed.policy:<{width}}   {_next_check(listed.next_check_s, now_s):<10}  {plain_word(listed.url)}"
        for listed in objects
    )
    return "\n".join(lines) + "\n"


def _signals(signals: SignalReport) -> str:
    ignored = "; ignored, as they are wrong too often" if signals.dropped else ""
    return (
        f"of {signals.kind}: precision {signals.precision:.2f}, recall {signals.recall:.2f}, "
        f"by {signals.judged} judged at its site{ignored}"
    )


def _push(push: PushReport, now_s: float) -> str:
    until = f" until {utc(push.until_s)}" if push.until_s > now_s else ""
    came = f"{push.pushes} came, the last {span(now_s - push.last_push_s)} ago" if push.pushes else "none came"
    return f"{push.state}{until} at {plain_word(push.hub)}; {came}"


def _next_check(next_check_s: float | None, now_s: float) -> str:
    if next_check_s is None:
        return "-"
    return f"in {span(next_check_s - now_s)}" if next_check_s > now_s else "now"


def _observed_lines(observed: Observed, now_s: float) -> Iterator[str]:
    yield f"  observed    since {utc(observed.since_s)} ({span(now_s - observed.since_s)})"
    yield (
        f"  contacts    {observed.contacts}, the last at {utc(observed.last_contact_s)} "
        f"({span(now_s - observed.last_contact_s)} ago); {observed.unchanged} found it unchanged"
    )
    # A feed is observed since its oldest item: that it was modified later says nothing that its updates do not.
    if observed.last_modified_s is not None and observed.last_modified_s < observed.since_s:
        yield f"  before that modified at {utc(observed.last_modified_s)}"
    if observed.feed is not None:
        yield f"  feed        {feed_text(observed.feed)}"
    yield f"  updates     {observed.updates}{'; the last ones:' if observed.last_updates else ''}"
    for update in observed.last_updates:
        yield f"    {_moment(update)}"
    if observed.rate is not None:
        yield f"  rate        {rate_text(observed.rate)}"
    if any(observed.rates_by_hour) and observed.last_contact_s - observed.since_s < PATTERN_NEEDS_S:
        yield f"  by the hour of the day: too early to tell, after {span(observed.last_contact_s - observed.since_s)}"
    elif any(observed.rates_by_hour):
        yield "  updates per hour, by the hour of the day (UTC)"
        for line in pattern_plot(observed.rates_by_hour):
            yield f"  {line}"


def rate_text(rate: RateReport) -> str:
    """Format the rate as the mean time between two updates, which is comparable with lifetimes."""
    shortest = span(HOUR_S / rate.high_per_hour) if rate.high_per_hour else "0s"
    longest = span(HOUR_S / rate.low_per_hour) if rate.low_per_hour else "forever"
    if rate.per_hour is None:
        return f"every contact found an update: one every {longest} or less ({CONFIDENCE:.0%})"
    if rate.per_hour == 0.0 and rate.high_per_hour and HOUR_S / rate.high_per_hour < SOON_S:
        return "too early to tell: no update seen"
    if rate.per_hour == 0.0:
        return f"no update seen: one every {shortest} or more ({CONFIDENCE:.0%})"
    if not rate.high_per_hour or rate.high_per_hour > UNKNOWN_FACTOR * rate.low_per_hour:
        return f"too early to tell: an update every {shortest} to {longest} ({CONFIDENCE:.0%})"
    return f"an update every {span(HOUR_S / rate.per_hour)} ({CONFIDENCE:.0%}: {shortest} to {longest})"


def _expected_lines(expected: ExpectedReport) -> Iterator[str]:
    yield f"  expected    {_every(expected.per_hour)} at this hour of the week, a mixture of"
    for estimate, by in (
        (expected.ever, "by all that is known"),
        (expected.day, "by the last day"),
        (expected.gaps, "by the time since the last one"),
        (expected.ended, "if its updates have ended"),
    ):
        yield f"    {estimate.weight:>4.0%}  {_every(estimate.per_hour)}, {by}"
    yield f"  its group   {_every(expected.member_per_hour)} in a typical member"


def _controlled_lines(controlled: ControlState) -> Iterator[str]:
    requests = controlled.requests
    estimate = f", {100 * controlled.stale / requests:.3g} % by estimate" if requests else ""
    yield f"  stale rate  {100 * controlled.target:.3g} % of its group is wanted{estimate} of {requests:,} requests"
    shown, predicted = controlled.shown, controlled.predicted
    yield f"              validations showed {shown:,.1f} stale hits where {predicted:,.1f} were predicted"
    yield f"              now a stale hit is worth {controlled.price:.3g} validations"


def _every(per_hour: float) -> str:
    return f"an update every {span(HOUR_S / per_hour)}" if per_hour > 0.0 else "no update"


def _requested(demand: DemandReport) -> str:
    return f"{demand.day_per_hour:.3g} an hour, by the last day; {demand.minutes_per_hour:.3g}, by the last minutes"


def _prefetch_line(fetch: PlannedFetch, now_s: float) -> str:
    return f"  next fetch  at {utc(fetch.due_s)}, {ahead(fetch.due_s, now_s)}: {plain_text(fetch.reason)}"


def feed_text(feed: FeedReport) -> str:
    """Return how many items a feed has, and what it declares."""
    hints, declared = feed.hints, []
    if hints.least_s:
        declared.append(f"to be asked every {span(hints.least_s)}")
    if hints.skip_hours:
        declared.append(f"not in the hours {' '.join(map(str, hints.skip_hours))} UTC")
    if hints.skip_days:
        declared.append(f"not on {' '.join(_DAYS[day] for day in hints.skip_days)}")
    words = f"{counted(feed.items, 'item')}; {feed.edited} edits seen"
    if feed.missed:
        times = counted(len(feed.missed), "time")
        words += f"; more may have been missed {times}, the last before {utc(feed.missed[-1].by_s)}"
    words += f"; declares {', '.join(declared)}" if declared else ""
    return words + ("; the last contact showed something else" if feed.away else "")


def _moment(update: UpdateReport) -> str:
    if update.after_s == update.by_s:
        return f"at {utc(update.by_s)}"
    return f"between {utc(update.after_s)} and {utc(update.by_s)} ({span(update.by_s - update.after_s)})"


def _variant_lines(number: int, variant: VariantReport, report: ObjectReport) -> Iterator[str]:
    now_s = report.now_s
    conditions = [f"{name}: {'(none)' if value is None else value}" for name, value in variant.selected_by.items()]
    if variant.personal:
        conditions.append("the same Cookie")
    if variant.for_client:
        conditions.append("the address, proxy user and Cookie that fetched it")
    served_for = f", for requests with {plain_text('; '.join(conditions))}" if conditions else ""
    yield f"  copy {number}"
    yield f"    content     {variant.status}, {size(variant.size_bytes)}{served_for}"
    yield f"    stored      {utc(variant.stored_s)}; known to be current at {utc(variant.current_s)}"
    if variant.because:
        yield f"    validated   early, because {plain_word(variant.because)} changed"
    yield f"    validators  {_validators(variant)}"
    if variant.demand is not None:
        yield f"    requested   {_requested(variant.demand)}"
    yield f"    now         {VERDICTS[variant.action]}: {expires_text(variant.expires, now_s)}"
    ruling = variant.under[report.obey]
    differing = {obey: expires for obey, expires in variant.under.items() if expires != ruling}
    for obey, expires in differing.items():
        yield f"    {f'if {obey}':<11} {expires_text(expires, now_s)}"
    if not differing:
        yield f"    obey        {', '.join(obey for obey in variant.under if obey != report.obey)}: the same"


def _parts(parts: PartsReport) -> str:
    stored = sum(last + 1 - first for first, last in parts.spans)
    listed = " ".join(f"{first}-{last}" for first, last in parts.spans)
    return f"{size(stored)} of {size(parts.size_bytes)}: bytes {listed}; validators {_validators(parts)}"


def _validators(variant: VariantReport | PartsReport) -> str:
    known = []
    if variant.etag is not None:
        known.append(f"ETag {variant.etag}")
    if variant.last_modified is not None:
        known.append(f"Last-Modified {variant.last_modified}")
    return plain_text(", ".join(known)) or "none"


def expires_text(expires: Expires, now_s: float) -> str:
    """Return when a copy expires, and why then."""
    if expires.expiry_s is None:
        when = "at each request"
    elif expires.expiry_s >= FAR_S:
        when = "never expires"
    elif expires.expiry_s > now_s:
        when = f"expires {utc(expires.expiry_s)}, in {span(expires.expiry_s - now_s)}"
    else:
        when = f"expired {utc(expires.expiry_s)}, {span(now_s - expires.expiry_s)} ago"
    return f"{when} ({plain_text(expires.reason)})"

from dataclasses import replace

from bestbefore.addon.admin.report import (
    DemandReport,
    EstimateReport,
    ExpectedReport,
    Expires,
    FeedReport,
    ListedObject,
    ObjectReport,
    Observed,
    PartsReport,
    PlannedFetch,
    RateReport,
    UpdateReport,
    VariantReport,
)
from bestbefore.addon.admin.show import list_text, object_text
from bestbefore.addon.engine.update import TimeSpan
from bestbefore.addon.feeds.document import Hints
from bestbefore.addon.rfc9111.caching.reuse import Action
from bestbefore.policies.validation.machinery.control import ControlState

NOW_S = 1706227238.0
VARIANT = VariantReport(
    status=200,
    size_bytes=12_345,
    selected_by={},
    personal=False,
    etag='"a"',
    last_modified="Thu, 25 Jan 2024 23:00:38 GMT",
    stored_s=NOW_S - 4000,
    current_s=NOW_S - 300,
    action=Action.FRESH,
    expires=Expires(NOW_S + 3300, "max-age"),
    under={
        "strict": Expires(NOW_S + 3300, "max-age"),
        "shorten": Expires(NOW_S - 10, "indttl"),
        "override": Expires(NOW_S + 90_000, "max_ttl"),
    },
)
REPORT = ObjectReport(
    url="http://example.org/a?b=1",
    now_s=NOW_S,
    match="*.example.org",
    policy="indttl",
    params={"theta": 0.1, "window": 86_400.0, "max_ttl": "inf", "fallback": ["ttl", "group"], "bootstrap": 2419200.0},
    obey="strict",
    group="example.org",
    observed=Observed(
        since_s=NOW_S - 86_400,
        last_contact_s=NOW_S - 300,
        contacts=42,
        unchanged=30,
        updates=5,
        updates_by_hour=(1, *[0] * 11, 4, *[0] * 11),
        rates_by_hour=(1.0, *[0.0] * 11, 4.0, *[0.0] * 11),
        last_updates=(UpdateReport(NOW_S - 7200, NOW_S - 3600), UpdateReport(NOW_S - 600, NOW_S - 600)),
        last_modified_s=NOW_S - 864_000,
        rate=RateReport(0.2, 0.08, 0.5),
    ),
    variants=(VARIANT,),
    prefetch=PlannedFetch(NOW_S + 1800, "changes 5 times a day"),
)

EXPECTED = """\
http://example.org/a?b=1
  rule        *.example.org, obey = strict
  policy      indttl:theta=0.1,window=1d,max_ttl=inf,fallback=ttl+group,bootstrap=28d
  group       example.org
  observed    since 2024-01-25 00:00:38Z (24h)
  contacts    42, the last at 2024-01-25 23:55:38Z (5m ago); 30 found it unchanged
  before that modified at 2024-01-16 00:00:38Z
  updates     5; the last ones:
    between 2024-01-25 22:00:38Z and 2024-01-25 23:00:38Z (60m)
    at 2024-01-25 23:50:38Z
  rate        an update every 5h (95%: 2h to 12h)
  updates per hour, by the hour of the day (UTC)
       4/h |                        ##
           |                        ##
           |                        ##
           |                        ##
           |##                      ##
           |##                      ##
         0 +------------------------------------------------
            00          06          12          18
  next fetch  at 2024-01-26 00:30:38Z, in 30m: changes 5 times a day
  copy 1
    content     200, 12kB
    stored      2024-01-25 22:53:58Z; known to be current at 2024-01-25 23:55:38Z
    validators  ETag "a", Last-Modified Thu, 25 Jan 2024 23:00:38 GMT
    now         fresh: expires 2024-01-26 00:55:38Z, in 55m (max-age)
    if shorten  expired 2024-01-26 00:00:28Z, 10s ago (indttl)
    if override expires 2024-01-27 01:00:38Z, in 25h (max_ttl)
"""


def lines_of(variant: VariantReport) -> list[str]:
    return object_text(replace(REPORT, variants=(variant,))).partition("  copy 1\n")[2].splitlines()


def test_an_object_is_shown_with_all_that_is_known_of_it() -> None:
    assert object_text(REPORT) == EXPECTED


def test_after_few_contacts_it_is_too_early_to_tell_a_rate_or_a_pattern() -> None:
    assert REPORT.observed is not None
    observed = replace(
        REPORT.observed, last_contact_s=REPORT.observed.since_s + 6.0, rate=RateReport(600.0, 4.0, 3600.0)
    )
    lines = object_text(replace(REPORT, observed=observed)).splitlines()
    assert "  rate        too early to tell: an update every 1s to 15m (95%)" in lines
    assert "  by the hour of the day: too early to tell, after 6s" in lines
    assert not any("|" in line for line in lines)


def test_a_rate_and_a_gain_of_next_to_nothing_are_not_numbers() -> None:
    assert REPORT.observed is not None
    assert REPORT.prefetch is not None
    quiet = replace(REPORT.observed, rate=RateReport(0.0, 0.0, 1333.0))  # two contacts within seconds
    text = object_text(replace(REPORT, observed=quiet, prefetch=REPORT.prefetch))
    assert "  rate        too early to tell: no update seen\n" in text


def test_a_controlled_price_is_shown_with_what_decides_it() -> None:
    controlled = ControlState(0.05, 0.6123, 12_345, 600.0, 123.4, 99.0)
    assert """
  stale rate  5 % of its group is wanted, 4.86 % by estimate of 12,345 requests
              validations showed 123.4 stale hits where 99.0 were predicted
              now a stale hit is worth 0.612 validations
""" in object_text(replace(REPORT, controlled=controlled))
    nothing = ControlState(0.05, 0.6, 0, 0.0, 0.0, 0.0)
    assert "is wanted of 0 requests\n" in object_text(replace(REPORT, controlled=nothing))


def test_what_a_policy_expects_and_how_often_a_copy_is_requested_is_shown() -> None:
    ever, day, gaps = EstimateReport(0.25, 0.5), EstimateReport(0.7, 1.0), EstimateReport(0.04, 0.0)
    expected = ExpectedReport(0.825, ever, day, gaps, EstimateReport(0.01, 0.05), 0.1)
    variant = replace(VARIANT, demand=DemandReport(12.345, 0.2))
    assert """
  expected    an update every 73m at this hour of the week, a mixture of
     25%  an update every 2h, by all that is known
     70%  an update every 60m, by the last day
      4%  no update, by the time since the last one
      1%  an update every 20h, if its updates have ended
  its group   an update every 10h in a typical member
""" in object_text(replace(REPORT, expected=expected))
    assert """
    requested   12.3 an hour, by the last day; 0.2, by the last minutes
""" in object_text(replace(REPORT, variants=(variant,)))


def test_items_edits_and_hints_of_a_feed_are_shown() -> None:
    assert REPORT.observed is not None
    feed = FeedReport(20, 3, Hints(3600.0, (1, 2), (5, 6)), away=False)
    text = object_text(replace(REPORT, observed=replace(REPORT.observed, feed=feed)))
    declared = "declares to be asked every 60m, not in the hours 1 2 UTC, not on Sat Sun"
    assert f"  feed        20 items; 3 edits seen; {declared}\n" in text
    missed = (TimeSpan(1706227200.0, 1706227238.0),)
    text = object_text(replace(REPORT, observed=replace(REPORT.observed, feed=replace(feed, missed=missed))))
    assert "; 3 edits seen; more may have been missed 1 time, the last before 2024-01-26 00:00:38Z; declares" in text
    feed = FeedReport(0, 0, Hints(), away=True)
    text = object_text(replace(REPORT, observed=replace(REPORT.observed, feed=feed)))
    assert "  feed        0 items; 0 edits seen; the last contact showed something else\n" in text


def test_what_is_not_known_is_said() -> None:
    text = object_text(replace(REPORT, observed=None, variants=(), prefetch=None))
    assert "next fetch" not in text
    assert "  observed    nothing: no response to it has taught anything yet\n" in text
    assert text.endswith("  copies      none stored\n")


def test_stored_parts_are_listed() -> None:
    parts = PartsReport(((0, 19_999), (30_000, 30_000)), 1_000_000, '"a"', None)
    text = object_text(replace(REPORT, variants=(), parts=(parts,)))
    assert text.endswith(
        "  copies      none stored\n  parts       20kB of 1MB: bytes 0-19999 30000-30000; validators ETag \"a\"\n"
    )


def test_an_object_that_never_changed_has_no_pattern_and_a_bound_of_its_rate() -> None:
    assert REPORT.observed is not None
    quiet = replace(
        REPORT.observed, updates=0, updates_by_hour=(0,) * 24, rates_by_hour=(0.0,) * 24, last_updates=(),
        last_modified_s=None, rate=RateReport(0.0, 0.0, 0.1),
    )
    text = object_text(replace(REPORT, observed=quiet, prefetch=None))
    assert "  updates     0\n  rate        no update seen: one every 10h or more (95%)\n  copy 1\n" in text


def test_of_an_object_that_every_contact_found_changed_only_the_lower_bound_of_the_rate_is_known() -> None:
    assert REPORT.observed is not None
    restless = replace(REPORT.observed, rate=RateReport(None, 2.0, None))
    text = object_text(replace(REPORT, observed=restless))
    assert "  rate        every contact found an update: one every 30m or less (95%)\n" in text


def test_after_one_contact_nothing_is_said_of_the_rate() -> None:
    assert REPORT.observed is not None
    assert "  rate  " not in object_text(replace(REPORT, observed=replace(REPORT.observed, rate=None)))


def test_a_variant_says_which_requests_it_answers() -> None:
    variant = replace(VARIANT, selected_by={"accept-encoding": "gzip", "accept-language": None}, personal=True)
    assert lines_of(variant)[0] == (
        "    content     200, 12kB, for requests with accept-encoding: gzip; accept-language: (none); the same Cookie"
    )


def test_a_variant_that_nothing_would_change_is_shown_as_such() -> None:
    alike = replace(VARIANT, under=dict.fromkeys(VARIANT.under, VARIANT.expires))
    assert lines_of(alike)[-1] == "    obey        shorten, override: the same"


def test_verdicts_without_a_moment_are_shown_without_one() -> None:
    always = replace(VARIANT, action=Action.VALIDATE, expires=Expires(None, "no-cache"))
    assert "    now         to be validated: at each request (no-cache)" in lines_of(always)
    never = replace(VARIANT, expires=Expires(float("inf"), "indhist"))
    assert "    now         fresh: never expires (indhist)" in lines_of(never)


def test_nothing_that_an_origin_sends_reaches_the_terminal() -> None:
    variant = replace(VARIANT, etag='"\x1b[2J\x9b"', selected_by={"accept": "\x07"})
    text = object_text(replace(REPORT, url="http://example.org/\x1b[2J", variants=(variant,)))
    assert text.replace("\n", "").isascii()
    assert text.replace("\n", "").isprintable()


def test_the_list_has_a_line_for_each_object() -> None:
    listed = ListedObject("http://example.org/a b", 123, 42, 30, 5, "indttl", NOW_S + 500)
    text = list_text(
        [listed, replace(listed, next_check_s=NOW_S), replace(listed, next_check_s=None, policy="ttl")], NOW_S
    )
    assert text == """\
requests contacts unchanged updates  policy   next check  URL
     123       42        30       5  indttl   in 8.3m     http://example.org/a%20b
     123       42        30       5  indttl   now         http://example.org/a%20b
     123       42        30       5  ttl      -           http://example.org/a%20b
"""


def test_the_columns_of_the_list_fit_the_longest_policy() -> None:
    listed = ListedObject("http://example.org/a", 1, 1, 0, 0, "stormcrawler", None)
    text = list_text([listed, replace(listed, policy="ttl")], NOW_S)
    assert {line.index("http") if "http" in line else line.index("URL") for line in text.splitlines()} == {64}


def test_a_modification_since_the_oldest_item_of_a_feed_is_none_before_its_observation() -> None:
    observed = REPORT.observed
    assert observed is not None
    later = replace(observed, last_modified_s=observed.since_s + 60.0)
    assert "before that" not in object_text(replace(REPORT, observed=later))

from dataclasses import replace

import pytest

from bestbefore.addon.admin import summary as module
from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.summary import Summary
from bestbefore.addon.engine.outcome import Outcome

HIT = Answered(
    time_s=1706227238.5, duration_s=0.0004, client="192.0.2.7", method="GET", url="http://www.example.org/a",
    status=200, outcome=Outcome.HIT, reason="indttl", ttl_s=60.0, sent_bytes=2000,
)
MISS = replace(HIT, outcome=Outcome.MISS, reason="uri-miss", received_bytes=2000, contact=True, stored=True)
CURRENT = replace(HIT, outcome=Outcome.VALIDATED, contact=True, validation=True, unnecessary=True)
UPDATED = replace(CURRENT, outcome=Outcome.UPDATED, received_bytes=2000, unnecessary=False, update=True)
NOW_S = 1706230800.0


def rows(text: str) -> list[tuple[str, list[str]]]:
    """Name and cells of each row after the heading."""
    cells_of = [line for line in text.splitlines()[1:] if not line.startswith("  valid.") and "obey" not in line]
    start = text.splitlines()[0].index(" requests")
    return [(line[:start].rstrip(), line[start:].split()) for line in cells_of]


def test_each_kind_of_request_is_counted() -> None:
    summary = Summary(0.0)
    for answered in (MISS, HIT, HIT, CURRENT, UPDATED):
        summary.add(answered)
    assert rows(summary.render(NOW_S, 600.0)) == [
        ("since the start, 10m ago", ["5", "2", "2", "1", "1", "6kB", "0", "0"]),
        ("  example.org", ["5", "2", "2", "1", "1", "6kB", "0", "0"]),
    ]


def test_the_text_is_stamped_with_policy_time_and_explains_its_columns() -> None:
    heading, *_, legend, end = Summary(0.0).render(NOW_S, 1.0).split("\n")
    assert heading.startswith("summary 2024-01-26 01:00:00Z ")
    assert "obey" in legend
    assert end == ""


def test_a_period_starts_from_nothing_while_the_total_goes_on() -> None:
    summary = Summary(100.0)
    summary.add(MISS)
    summary.start_period(3700.0)
    summary.add(HIT)
    assert rows(summary.render(NOW_S, 7300.0)) == [
        ("last 60m", ["1", "1", "0", "0", "0", "2kB", "0", "0"]),
        ("  example.org", ["1", "1", "0", "0", "0", "2kB", "0", "0"]),
        ("since the start, 2h ago", ["2", "1", "0", "0", "0", "2kB", "0", "0"]),
        ("  example.org", ["2", "1", "0", "0", "0", "2kB", "0", "0"]),
    ]


def test_domains_that_only_the_prefetcher_asked_for_are_no_rows_but_counted() -> None:
    summary = Summary(0.0)
    summary.add(replace(CURRENT, url="http://fetched.example/", background=True))
    assert summary.is_idle
    summary.add(HIT)
    listed = rows(summary.render(NOW_S, 1.0))
    assert [name for name, _ in listed] == ["since the start, 1s ago", "  example.org"]
    assert listed[0][1][2] == "1"
    assert not summary.is_idle
    summary.start_period(1.0)
    assert summary.is_idle


def test_what_shorten_and_override_would_have_changed_is_counted_per_domain() -> None:
    summary = Summary(0.0)
    for would, times in (("validated", 3), ("hit", 2), ("", 4)):
        for _ in range(times):
            summary.add(replace(HIT, url="https://feeds.example.net/x", would_differ=would))
    summary.add(HIT)
    lines = dict(rows(summary.render(NOW_S, 1.0)))
    assert lines["  example.net"][-3:] == ["+3", "+3", "-2"]
    assert lines["  example.org"][-2:] == ["0", "0"]


def test_our_own_errors_save_nothing_and_an_aborted_download_costs() -> None:
    summary = Summary(0.0)
    summary.add(replace(HIT, outcome=Outcome.REFUSED, status=502, sent_bytes=300))
    summary.add(replace(MISS, sent_bytes=1000, received_bytes=5000, complete=False))
    assert rows(summary.render(NOW_S, 1.0))[0][1][5] == "-4kB"


def test_the_busiest_domains_are_shown_and_the_others_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 2)
    summary = Summary(0.0)
    for n in range(1, 6):
        for _ in range(n):
            summary.add(replace(HIT, url=f"http://host.domain{n}.example/"))
    assert [(name, cells[0]) for name, cells in rows(summary.render(NOW_S, 1.0))[1:]] == [
        ("  domain5.example", "5"), ("  domain4.example", "4"), ("  other domains", "6"),
    ]


def test_counted_domains_are_bounded_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DOMAINS_COUNTED", 5)
    summary = Summary(0.0)
    for i in range(1000):
        summary.add(HIT)
        summary.add(replace(HIT, url=f"http://invented{i}.example/"))
        assert len(summary._total.domains) <= 10
    listed = rows(summary.render(NOW_S, 1.0))
    assert (listed[0][1][0], listed[1]) == ("2000", ("  example.org", ["1000", "1000", *"000", "2MB", "0", "0"]))
    assert sum(int(cells[0]) for _, cells in listed[1:]) == 2000


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://me:pw@www.example.co.uk:8443/a@b", "  example.co.uk"),
        ("http://[2001:db8::1]:80/", "  2001:db8::1"),
        ("bank.example:443", "  bank.example"),
        ("http://\x1b[2Jbad.example/", "  ?"),
        ("http://\x1b2J.example/", "  %1B2j.example"),
        ("http:///", "  ?"),
        ("", "  ?"),
        ("http://" + "a" * 63 + ".example/", "  ..." + "a" * 29 + ".example"),
    ],
)
def test_domains_are_registrable_ones_fit_to_be_printed(url: str, name: str) -> None:
    summary = Summary(0.0)
    summary.add(replace(HIT, url=url))
    assert rows(summary.render(NOW_S, 1.0))[1][0] == name


def test_domains_with_as_many_requests_are_in_alphabetical_order() -> None:
    counts = module.DomainCounts()
    for domain in ("b.test", "c.test", "a.test", "c.test"):
        counts.add(domain, module.RequestCounts(requests=1))
    assert [domain for domain, _ in counts.busiest(3)[0]] == ["c.test", "a.test", "b.test"]


def test_counts_that_another_process_has_taken_are_merged_once() -> None:
    one, other, both = Summary(0.0), Summary(0.0), Summary(0.0)
    one.add(MISS)
    other.add(HIT)
    other.add(replace(HIT, url="http://example.net/"))
    for summary in (one, other, one, other):
        both.merge(summary.take())
    assert rows(both.render(NOW_S, 600.0)) == [
        ("since the start, 10m ago", ["3", "2", "0", "0", "0", "4kB", "0", "0"]),
        ("  example.org", ["2", "1", "0", "0", "0", "2kB", "0", "0"]),
        ("  example.net", ["1", "1", "0", "0", "0", "2kB", "0", "0"]),
    ]
    assert not both.is_idle
    assert one.is_idle

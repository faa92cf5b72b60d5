"""Worked examples: no clock, no network."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.prefetcher.politeness import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    LONGEST_RETRY_S,
    Politeness,
    retry_after_s,
)

NOW_S = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT
SITE = "example.org"


def politeness(interval_s: float = 2.0, connections: int = 1) -> Politeness:
    return Politeness(interval_s, connections, np.random.default_rng(7))


@pytest.mark.parametrize(
    ("value", "expected_s"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60.0),
        ("Sunday, 06-Nov-94 08:50:37 GMT", 60.0),
        ("Sun Nov  6 08:50:37 1994", 60.0),
        ("Sun, 06 Nov 1994 08:40:37 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_RETRY_S),
        ("9" * 400, LONGEST_RETRY_S),
        ("-5", None),
        ("1.5", None),
        ("\u0661\u0662", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_in_both_forms(value: str | None, expected_s: float | None) -> None:
    assert retry_after_s(value, NOW_S) == expected_s


def test_a_503_with_retry_after_0_pauses_the_domain_longer_each_time() -> None:
    polite = politeness()
    polite.answered(SITE, 503, "0", NOW_S)
    first_s = polite.wait_s(SITE, NOW_S)
    polite.answered(SITE, 503, "0", NOW_S + first_s)
    assert 0.0 < first_s < polite.wait_s(SITE, NOW_S + first_s)


def test_between_two_fetches_of_a_domain_lies_the_interval() -> None:
    polite = politeness()
    assert polite.wait_s(SITE, NOW_S) == 0.0
    polite.started(SITE, NOW_S)
    polite.ended(SITE, NOW_S + 0.5)
    assert polite.wait_s(SITE, NOW_S + 0.5) == 1.5
    assert polite.wait_s(SITE, NOW_S + 2.0) == 0.0
    assert polite.wait_s("example.com", NOW_S + 0.5) == 0.0


def test_one_connection_at_a_time() -> None:
    polite = politeness()
    polite.started(SITE, NOW_S)
    assert polite.wait_s(SITE, NOW_S + 100.0) == math.inf
    polite.ended(SITE, NOW_S + 100.0)
    assert polite.wait_s(SITE, NOW_S + 100.0) == 0.0


def test_more_connections_if_they_are_allowed_and_still_the_interval() -> None:
    polite = politeness(connections=2)
    polite.started(SITE, NOW_S)
    assert polite.wait_s(SITE, NOW_S + 1.0) == 1.0
    polite.started(SITE, NOW_S + 2.0)
    assert polite.wait_s(SITE, NOW_S + 10.0) == math.inf


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_holds_for_the_whole_domain_and_a_success_does_not_end_it(status: int) -> None:
    polite = politeness()
    polite.answered(SITE, status, "3600", NOW_S)
    polite.answered(SITE, 200, None, NOW_S + 1.0)
    assert 3600.0 <= polite.wait_s(SITE, NOW_S) <= 3960.0
    assert polite.paused_s(SITE, NOW_S + 4000.0) == 0.0


def test_a_shorter_retry_after_does_not_end_a_longer_one() -> None:
    polite = politeness()
    polite.answered(SITE, 503, "3600", NOW_S)
    polite.answered(SITE, 503, "1", NOW_S + 1.0)
    assert polite.wait_s(SITE, NOW_S + 1.0) >= 3599.0


def test_other_errors_do_not_pause_the_domain() -> None:
    polite = politeness()
    for status in (200, 304, 404, 500):
        polite.answered(SITE, status, "3600", NOW_S)
    assert polite.wait_s(SITE, NOW_S) == 0.0


def test_without_answers_the_pause_doubles_up_to_the_longest() -> None:
    polite, now_s = politeness(), NOW_S
    for attempt in range(30):
        polite.unanswered(SITE, now_s)
        waited_s = polite.wait_s(SITE, now_s)
        usual_s = min(FIRST_PAUSE_S * 2**attempt, LONGEST_PAUSE_S)
        assert 0.5 * usual_s <= waited_s <= 1.5 * usual_s
        now_s += waited_s
    polite.answered(SITE, 200, None, now_s)
    polite.answered(SITE, 429, None, now_s)
    assert polite.wait_s(SITE, now_s) <= 1.5 * FIRST_PAUSE_S


def test_the_pauses_of_many_domains_end_at_different_times() -> None:
    polite = politeness()
    for number in range(50):
        polite.unanswered(f"site{number}.example", NOW_S)
    waits = {polite.wait_s(f"site{number}.example", NOW_S) for number in range(50)}
    assert len(waits) == 50


def test_the_same_seed_gives_the_same_pauses() -> None:
    waits = []
    for _ in range(2):
        polite = politeness()
        polite.unanswered(SITE, NOW_S)
        waits.append(polite.wait_s(SITE, NOW_S))
    assert waits[0] == waits[1]


def test_a_clock_that_is_set_back_prolongs_nothing() -> None:
    polite = politeness()
    polite.answered(SITE, 503, "100", NOW_S)
    before_s = polite.wait_s(SITE, NOW_S)
    assert polite.wait_s(SITE, NOW_S - 86_400.0) == pytest.approx(before_s)


@given(st.lists(st.tuples(st.floats(0.0, 10.0), st.sampled_from(["start", "end", "429", "retry", "fail", "ok"]))))
def test_whatever_happens_nothing_begins_too_early(events: list[tuple[float, str]]) -> None:
    polite, now_s, begun_s, under_way = politeness(), NOW_S, -math.inf, 0
    for passed_s, what in events:
        now_s += passed_s
        match what:
            case "start" if polite.wait_s(SITE, now_s) == 0.0:
                assert under_way == 0
                assert now_s - begun_s >= 2.0 - 1e-6
                polite.started(SITE, now_s)
                begun_s, under_way = now_s, 1
            case "end":
                polite.ended(SITE, now_s)
                under_way = 0
            case "429":
                polite.answered(SITE, 429, None, now_s)
                assert polite.wait_s(SITE, now_s) >= 0.5 * FIRST_PAUSE_S
            case "retry":
                polite.answered(SITE, 503, "30", now_s)
                assert polite.paused_s(SITE, now_s) >= 30.0 - 1e-6
            case "fail":
                polite.unanswered(SITE, now_s)
            case "ok":
                polite.answered(SITE, 200, None, now_s)

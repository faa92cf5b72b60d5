"""How traces are cut into feeds of 90 days, and how feeds like the paper's are drawn."""

import numpy as np
import pytest

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.papers.feeds.spans import END_S, MOST_POSTINGS, Spans, cut, like_paper, postings_law, read_spans
from bestbefore.replay.papers.work import Work
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.errors import TraceError

MIDNIGHT_S = 18_000 * DAY_S


def test_spans_follow_each_other_from_the_midnight_before_the_source_began():
    at = MIDNIGHT_S + np.array([5 * HOUR_S, 89 * DAY_S, 90 * DAY_S, 300 * DAY_S, 2 * DAY_S])
    spans = cut(Updates.of(at, np.array([0, 0, 0, 0, 1], dtype=np.int32), ("chp/1", "chp/2")))
    assert [span.tolist() for span in spans] == [[5 * HOUR_S, 89 * DAY_S], [0.0], [30 * DAY_S], [2 * DAY_S]]


def test_each_source_begins_when_its_own_first_feed_does():
    at = np.array([MIDNIGHT_S, MIDNIGHT_S + 50 * DAY_S, MIDNIGHT_S + 100 * DAY_S])
    spans = cut(Updates.of(at, np.array([0, 1, 1], dtype=np.int32), ("a/1", "b/1")))
    assert [span.tolist() for span in spans] == [[0.0], [0.0, 50 * DAY_S]]


def test_no_posting_is_lost_or_counted_twice(work):
    found = read_spans(work)
    rows = sum(1 for name in ("feeds", "commits", "releases")
               for _ in work.trace(f"postings_{name}.csv.gz").read_text().splitlines()[1:])
    assert found["all"].numbers.sum() == rows
    assert all(times[0] >= 0.0 and times[-1] < END_S for times in found["all"].times_s)


@pytest.mark.parametrize(
    ("rows", "said"), [("", "no posting, expected some"), ("a/1,5\na/1,9\n", "all within 14 days, expected more")]
)
def test_a_trace_with_nothing_to_judge_is_named(tmp_path, rows, said):
    for name in ("feeds", "commits", "releases"):
        (tmp_path / f"postings_{name}.csv.gz").write_text("object,time\n" + rows)
    with pytest.raises(TraceError, match=rf"postings_feeds.csv.gz: {said}"):
        read_spans(Work(tmp_path, pytest.fail))


def test_two_weeks_are_learnt_from_and_the_rest_is_judged():
    spans = Spans("", [np.array([0.0, 14 * DAY_S - 1, 14 * DAY_S]), np.array([20 * DAY_S])])
    assert spans.learnt.tolist() == [2, 0]
    assert spans.judged.times_s.tolist() == [14 * DAY_S, 20 * DAY_S]
    assert spans.judged.feeds.tolist() == [0, 1]


def test_a_burst_within_an_hour_is_one_active_hour():
    spans = Spans("", [np.array([10.0, 20.0, 30.0, DAY_S, DAY_S + HOUR_S])])
    assert spans.hours_learnt[0, :2].tolist() == [4, 1]
    assert spans.active_hours_learnt[0, :2].tolist() == [2, 1]


def test_windows_end_at_the_moment_and_do_not_reach_into_other_feeds():
    spans = Spans("", [np.array([0.0, 50.0, 100.0]), np.array([0.0, END_S - 1.0])])
    feeds = np.array([0, 1])
    assert spans.counted(feeds, 100.0, (50.0, 1000.0)).tolist() == [[1, 3], [0, 1]]
    assert spans.counted(feeds, END_S + DAY_S, (10.0, 2 * END_S)).tolist() == [[0, 3], [1, 2]]


def test_the_law_has_the_printed_share_of_daily_feeds():
    law = postings_law()
    assert law.sum() == pytest.approx(1.0)
    assert law[89:].sum() == pytest.approx(3116 / 9634)
    assert np.all(np.diff(law) < 0.0)


def test_feeds_are_drawn_by_the_law_and_none_twice():
    rng = np.random.default_rng(1)
    numbers = rng.integers(1, 4 * MOST_POSTINGS, 4000)
    numbers[:2000] = rng.integers(1, 40, 2000)
    spans = Spans("", [np.full(number, float(place)) for place, number in enumerate(numbers.tolist())])
    drawn = like_paper(spans, 200)
    assert drawn.numbers.max() <= MOST_POSTINGS
    assert np.mean(drawn.numbers >= 90) == pytest.approx(3116 / 9634, abs=0.04)
    assert len({float(times[0]) for times in drawn.times_s}) == len(drawn)

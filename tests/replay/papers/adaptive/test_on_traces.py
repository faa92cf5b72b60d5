"""A few values of the page, on the recorded traces; pinned counts are from a replay that shares no code with ours."""

from pathlib import Path

import pytest

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.papers.adaptive.anchors import stale_at_ttl
from bestbefore.replay.papers.adaptive.curves import AGGHIST, INDHIST, TTL, series_of_curves
from bestbefore.replay.papers.adaptive.paired import Paired
from bestbefore.replay.papers.adaptive.sections import bursty
from bestbefore.replay.papers.adaptive.sections.segments import segments_of
from bestbefore.replay.papers.work import Work
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.simulate.scenario import Cache

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def work(traces: Path) -> Work:
    return Work(traces, pytest.fail, jobs=2)


@pytest.fixture(scope="module")
def whole(work: Work) -> Paired:
    return Paired.read(work)


def test_the_counts_are_those_of_the_trace(work: Work, whole: Paired) -> None:
    # alpha = theta = 0.2: the counts that come with the trace.
    series = series_of_curves(work, whole.scenario(Cache.CLIENT, 8), [TTL, INDHIST, AGGHIST], [0.2], "")
    found = [(one.results[0].counts["stale_hits"], one.results[0].counts["validations"]) for one in series]
    assert found == [(8160, 19093), (10625, 17427), (6524, 18411)]


def test_table_1_has_six_segments(whole: Paired) -> None:
    found = segments_of(whole.of_class("cyclic").first_days(8).updates.times_s, 8, 1.0)
    assert [(a, b) for a, b, _ in found] == [(0, 3), (3, 5), (5, 7), (7, 12), (12, 13), (13, 24)]
    assert [rate for *_, rate in found] == pytest.approx([92.96, 68.19, 51.06, 38.12, 83.38, 106.39], abs=0.01)


def test_in_the_setting_of_figure_7_histories_beat_ttl(work: Work, whole: Paired) -> None:
    cyclic = whole.of_class("cyclic")
    rest = cyclic.only({*cyclic.classes} - {*cyclic.most_requested()[:1]})
    curves = (TTL, AGGHIST, INDHIST)
    series = series_of_curves(work, rest.scenario(Cache.CLIENT, 8), curves, [0.1, 0.2, 0.3, 0.5, 0.7], "")
    found = stale_at_ttl(series, 0.5)
    stale = [found[curve.name] for curve in curves]
    assert None not in stale
    assert stale == sorted(stale, reverse=True, key=lambda share: share or 0.0)


@pytest.fixture(scope="module")
def rest(whole: Paired) -> Paired:
    return whole.only({*whole.classes} - {*whole.most_requested()[:1]})


def test_eighteen_of_the_merged_objects_have_their_burst_in_the_test(rest: Paired) -> None:
    pairs = rest.pairs(bursty.SEED)
    assert len(pairs) == 55
    assert len(bursty.with_burst_in_test(rest, pairs)) == 18


def test_the_floor_of_indhist_is_higher_with_one_cache(rest: Paired) -> None:
    policy = parse_spec("indhist:theta=1e-9")
    counts = [Engines(rest.scenario(cache, 8)).replay(policy) for cache in (Cache.CLIENT, Cache.SHARED)]
    assert [(one.cached, one.stale_hits, one.validations) for one in counts] == [
        (33978, 247, 23922), (86338, 2222, 40191),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "stale_hits", "validations"),
    [
        ("indhist:theta=0.05,history_window=10d", 503, 10570),
        ("indhist:theta=0.05,history_window=5d", 4774, 10294),
        ("indhist:theta=0.3293,history_window=3d", 17625, 7993),
        pytest.param("indagg:theta=0.3293,threshold=0.5", 19291, 8300, marks=pytest.mark.long),
    ],
)
def test_the_points_of_figures_7_and_9_are_those_of_an_independent_replay(
    whole: Paired, spec: str, stale_hits: int, validations: int
) -> None:
    counts = Engines(whole.of_class("cyclic").scenario(Cache.CLIENT, 8)).replay(parse_spec(spec))
    assert (counts.stale_hits, counts.validations) == (stale_hits, validations)

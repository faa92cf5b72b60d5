"""The counts of parts together are those of the whole trace, on a recorded trace."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bestbefore.replay.commands.run_options import RunOptions
from bestbefore.replay.commands.scenario_options import ScenarioOptions
from bestbefore.replay.parted.reading import ignore
from bestbefore.replay.parted.replaying import PartedRun, PartedSweep, PartReplay, total
from bestbefore.replay.parted.splitting import split
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.engines import Through
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.sweeps.finished_points import FinishedPoints, Rows
from bestbefore.replay.sweeps.grid import points_of
from bestbefore.replay.sweeps.progress import no_bar
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.files import read_requests, read_updates

DATA = Path(__file__).parents[2] / "data"
ALONE = [
    "oracle", "never", "always", "fixed:interval=6h", "ttl:alpha=0.2", "indhist:theta=0.1", "indttl:max_ttl=1d",
    "nutch", "stormcrawler", "aimd", "miniflux",
]
TOGETHER = [
    "agghist:theta=0.2", "indagg:theta=0.2", "indttl:max_ttl=1d,fallback=ttl+group,history_window=28d",
    "renewal:price=6", "renewal:stale_rate=0.02", "ttl:siblings=0.5", "renewal:price=6,fallback=ttl+group,siblings=0.5",
]


@pytest.fixture(scope="module")
def trace() -> tuple[Updates, Requests]:
    updates = read_updates(DATA / "excerpt.updates.csv", ignore)
    return updates, read_requests(DATA / "excerpt.requests.csv.gz", ignore)


def counts(
    trace: tuple[Updates, Requests], folder: Path, by: str, options: RunOptions, given: ScenarioOptions,
    specs: list[str],
) -> tuple[list[list[Rows]], list[list[Rows]]]:
    """Those of the whole trace and of its parts, for each kind of history."""
    policies = [points_of(spec)[0].policy for spec in specs]
    parted = split(*trace, folder, by, 4)
    runs = [
        PartedRun(parted, given.cache, given.grouping, warm, options.tells_times, options.engine, None, None)
        for warm in options.warms
    ]
    assert [run.obstacle(policy) for run in runs for policy in policies] == [None] * len(runs) * len(policies)
    sweep = PartedSweep(runs, policies, [None] * len(runs))
    make = partial(options.replaying, given=given.from_(parted.first_s), warn=ignore, bar=no_bar)
    replay = PartReplay(folder, parted, make)
    assert len(list(sweep.take((i, replay(work)) for i, work in enumerate(sweep.work)))) == sweep.points
    whole = options.replaying(*trace, given, warn=ignore, bar=no_bar)
    return [[run.rows(policy) for policy in policies] for run in whole], sweep.results()


@pytest.mark.parametrize(
    ("by", "grouping", "specs", "history", "cache"),
    [
        ("object", Grouping.ALL, ALONE, "both", Cache.CLIENT),
        ("domain", Grouping.DOMAIN, TOGETHER[-1:], "observed", Cache.SHARED),
        pytest.param("object", Grouping.ALL, ALONE, "changed", Cache.SHARED, marks=pytest.mark.slow),
        pytest.param("prefix", Grouping.PREFIX, TOGETHER, "both", Cache.SHARED, marks=pytest.mark.slow),
        pytest.param("domain", Grouping.DOMAIN, TOGETHER, "complete", Cache.CLIENT, marks=pytest.mark.slow),
        pytest.param("domain", Grouping.DOMAIN, TOGETHER, "changed", Cache.CLIENT, marks=pytest.mark.slow),
    ],
)
def test_parts_have_the_counts_of_the_whole(
    trace: tuple[Updates, Requests], tmp_path: Path, by: str, grouping: Grouping, specs: list[str], history: str,
    cache: Cache,
) -> None:  # fmt: skip
    options = RunOptions(history, None, None, False, None, True, None, None)
    given = ScenarioOptions(None, 1706918400.0, cache, grouping)
    whole, parts = counts(trace, tmp_path / "t", by, options, given, specs)
    assert parts == whole


def test_policies_that_need_more_than_a_part_has_are_refused(trace: tuple[Updates, Requests], tmp_path: Path) -> None:
    parted = split(*trace, tmp_path / "t", "object", 2)
    options = RunOptions("complete", None, None, False, None, False, None, None)

    def obstacle(spec: str, grouping: Grouping) -> str | None:
        run = PartedRun(parted, Cache.SHARED, grouping, None, True, options.engine, None, None)
        return run.obstacle(points_of(spec)[0].policy)

    for spec in TOGETHER:
        assert "reads the whole trace as one group" in str(obstacle(spec, Grouping.ALL))
        assert "convert --parts N --by domain" in str(obstacle(spec, Grouping.DOMAIN))
    for spec in ALONE:
        assert obstacle(spec, Grouping.ALL) is None


def test_what_is_finished_is_not_replayed_again(trace: tuple[Updates, Requests], tmp_path: Path) -> None:
    parted = split(*trace, tmp_path / "t", "object", 3)
    options = RunOptions("complete", None, None, False, None, False, None, None)
    given = ScenarioOptions(parted.first_s, None, Cache.SHARED, Grouping.ALL)
    replay = PartReplay(tmp_path / "t", parted, partial(options.replaying, given=given, warn=ignore, bar=no_bar))
    run = PartedRun(parted, given.cache, given.grouping, None, True, options.engine, None, None)

    def sweep(*specs: str, cache: Cache = Cache.SHARED) -> PartedSweep:
        policies = [points_of(spec)[0].policy for spec in specs]
        return PartedSweep([replace(run, cache=cache)], policies, [FinishedPoints(tmp_path / "finished.jsonl", "")])

    first = sweep("ttl", "never")
    sizes = [parted.parts[part].request_rows for part, _ in first.work]
    assert sizes == sorted(sizes, reverse=True)
    list(first.take((i, replay(first.work[i])) for i in (2, 0)))
    second = sweep("ttl", "never")
    assert ([part for part, _ in second.work], second.points) == ([first.work[1][0]], 2)
    list(second.take(iter([(0, replay(second.work[0]))])))
    last = sweep("ttl", "never")
    assert (last.work, last.points) == ([], 0)
    assert last.results() == second.results()
    assert sweep("ttl", "always").points == 3
    assert sweep("ttl", cache=Cache.CLIENT).points == 3


def test_a_large_part_is_divided_by_policies(trace: tuple[Updates, Requests], tmp_path: Path) -> None:
    parted = split(*trace, tmp_path / "t", "object", 3)
    run = PartedRun(parted, Cache.SHARED, Grouping.ALL, None, True, Through.FAST, None, None)
    policies = [point.policy for point in points_of("ttl:alpha=0.1..0.5/5")]
    sweep = PartedSweep([run, replace(run, warm=Warm.NONE)], policies, [None, None])
    sweep.divide(1)
    assert [len(asked) for _, wanted in sweep.work for asked in wanted] == [5] * 6
    sweep.divide(2)
    sizes = [parted.parts[part].request_rows * len(wanted[0]) for part, wanted in sweep.work]
    assert len(sizes) > 6
    assert max(sizes) <= parted.requests * 5 / 4
    found: list[tuple[int, list[list[Rows]]]] = [
        (i, [[[{"part": f"{part}", policy.name: 1}] for policy in own] for own in wanted])
        for i, (part, wanted) in enumerate(sweep.work)
    ]
    assert len(list(sweep.take(iter(found)))) == sweep.points == 30
    everywhere = [{"part": f"{part}", "ttl": 1} for part in range(3)]
    assert sweep.results() == [[everywhere] * 5] * 2


def test_breakdowns_are_summed_by_name_and_ordered() -> None:
    a: Rows = [{"hits": 1, "misses": 2}, {"domain": "b", "hits": 1, "misses": 2}]
    b: Rows = [
        {"hits": 3, "misses": 1}, {"domain": "a", "hits": 1, "misses": 0}, {"domain": "b", "hits": 2, "misses": 1},
    ]
    assert total([a, b]) == [{"hits": 4, "misses": 3}, b[1], {"domain": "b", "hits": 3, "misses": 3}]

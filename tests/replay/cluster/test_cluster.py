"""The workers are real processes, of one cluster for the module."""

import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bestbefore.replay.cluster.cluster import DaskCluster
from bestbefore.replay.cluster.errors import ClusterError
from bestbefore.replay.cluster.opening import start_cluster
from bestbefore.replay.papers.work import Work

sys.path.insert(0, str(Path(__file__).parent))  # as the workers, whose path is this one's
import machines

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskCluster]:
    said: list[str] = []
    with start_cluster(2, said.append) as started:
        assert len(said) == 1
        assert "2 processes, watched at http://127.0.0.1:" in said[0]
        yield started


def test_each_argument_gets_its_value_from_another_process(cluster: DaskCluster) -> None:
    with cluster.map(machines.square, range(20)) as values:
        found = dict(values)
    assert {place: square for place, (square, _) in found.items()} == {n: n * n for n in range(20)}
    assert os.getpid() not in {process for _, process in found.values()}


def test_the_work_of_papers_is_done_there_in_the_order_of_its_arguments(cluster: DaskCluster) -> None:
    values = Work(None, print, cluster=cluster).each(machines.square, range(9), "squares")
    assert [square for square, _ in values] == [n * n for n in range(9)]
    assert os.getpid() not in {process for _, process in values}


def test_a_worker_reads_files_with_as_many_threads_as_it_has(cluster: DaskCluster) -> None:
    with cluster.map(machines.threads_of_polars, range(2)) as values:
        assert dict(values) == {0: 1, 1: 1}


def test_nothing_is_to_be_done_without_arguments(cluster: DaskCluster) -> None:
    with cluster.map(machines.square, []) as values:
        assert list(values) == []


def test_a_worker_that_dies_costs_only_what_it_was_at(cluster: DaskCluster, tmp_path: Path) -> None:
    with cluster.map(partial(machines.die_once, tmp_path / "died"), range(20)) as values:
        found = dict(values)
    assert {place: square for place, (square, _) in found.items()} == {n: n * n for n in range(20)}
    times = [len((tmp_path / f"{n}").read_text()) for n in range(20)]
    assert sum(times) <= 22  # the values that it had not yet handed over are made again too


def test_what_ends_every_worker_is_an_error(cluster: DaskCluster) -> None:
    with (
        pytest.raises(ClusterError, match=r"^part 1 ended 4 workers, the last tcp://.*: perhaps memory is too small$"),
        cluster.map(machines.always_die, [0]) as values,
    ):
        list(values)


def test_a_file_that_a_worker_lacks_is_named_with_the_worker(cluster: DaskCluster) -> None:
    expected = r"^worker tcp://127.0.0.1:\d+ \(.*, process \d+\): /nowhere/a: No such file or directory$"
    with (
        pytest.raises(ClusterError, match=expected),
        cluster.map(machines.read_nothing, ["/nowhere/a"]) as values,
    ):
        list(values)


def test_other_errors_are_raised_as_they_are_and_the_rest_is_given_up(cluster: DaskCluster) -> None:
    with pytest.raises(ValueError, match="no value of"), cluster.map(machines.refuse, range(1000)) as values:
        list(values)
    with cluster.map(machines.square, [7]) as values:
        assert next(values)[1][0] == 49


def test_workers_that_do_not_come_back_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestbefore.replay.cluster.cluster.LOOK_EVERY_S", 0.1)
    monkeypatch.setattr("bestbefore.replay.cluster.cluster.BACK_WITHIN_S", 0.5)
    with start_cluster(1, lambda _: None) as cluster:
        cluster.client.cluster.scale(0)
        with (
            pytest.raises(ClusterError, match=r"^this machine: all workers .* none has come back in 0\.5 s$"),
            cluster.map(machines.wait, range(3)) as values,
        ):
            list(values)

from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.hazard.memory import memory_since, updated_at
from bestbefore.policies.models.history import History
from bestbefore.policies.units import DAY_S, HOUR_S

times = st.lists(st.integers(0, 40 * 86400).map(float), max_size=30)


def bins(counts: list[int]) -> dict[int, int]:
    return {k: n for k, n in enumerate(counts) if n}


@given(times.flatmap(lambda t: st.tuples(st.just(t), st.permutations(t + t[:3]))))
@settings(max_examples=50, derandomize=True)
def test_updates_in_any_order_or_given_twice_are_the_same_history(given_times: tuple[list[float], list[float]]) -> None:
    plain, shuffled = (History.of(t, 1000.0) for t in given_times)
    assert plain.times_s.tolist() == shuffled.times_s.tolist() == sorted({t for t in given_times[0] if t >= 1000.0})


def test_updates_count_after_the_start_of_an_interval_up_to_and_with_its_end() -> None:
    history = History.of([100.0, 200.0, 300.0], 0.0)
    assert history.count(100.0, 300.0) == 2
    assert history.count(99.0, 299.0) == 2
    assert history.count(300.0, 400.0) == 0
    assert history.count(400.0, 100.0) == 0


def test_updates_count_in_the_utc_hour_of_their_day() -> None:
    history = History.of([0.0, HOUR_S - 1, HOUR_S, 5 * DAY_S + 23.5 * HOUR_S], 0.0)
    assert bins(history.counts(-1.0, 6 * DAY_S)) == {0: 2, 1: 1, 23: 1}
    assert bins(history.counts(-1.0, DAY_S)) == {0: 2, 1: 1}


@given(times, st.integers(0, 40 * 86400), st.integers(0, 40 * 86400))
@settings(max_examples=50, derandomize=True)
def test_the_bins_add_up_to_the_count(given_times: list[float], a: int, b: int) -> None:
    history = History.of(given_times, 0.0, folded=[(3, 2), (30, 5)])
    counts = history.counts(min(a, b), max(a, b))
    assert len(counts) == 24
    assert sum(counts) == history.count(min(a, b), max(a, b))


def test_a_folded_hour_counts_whole_where_its_start_is_inside() -> None:
    history = History.of([5 * DAY_S], 0.0, folded=[(25, 7)])
    assert bins(history.counts(-1.0, 25 * HOUR_S)) == {1: 7}
    assert history.count(-1.0, 25 * HOUR_S - 1) == 0
    assert history.count(25 * HOUR_S, 6 * DAY_S) == 1


def test_the_last_update_is_the_latest_that_is_not_after_t() -> None:
    history = History.of([100.0, 200.0], 0.0)
    assert history.last_update_s(99.0) is None
    assert history.last_update_s(100.0) == 100.0
    assert history.last_update_s(199.0) == 100.0
    assert history.last_update_s(1e9) == 200.0


def test_without_a_later_update_a_folded_hour_then_last_modified_is_the_last_update() -> None:
    history = History.of([50 * HOUR_S], 20 * HOUR_S, last_modified_s=7.0, folded=[(30, 1), (40, 2)])
    assert history.last_update_s(45 * HOUR_S) == 40 * HOUR_S
    assert history.last_update_s(35 * HOUR_S) == 30 * HOUR_S
    assert history.last_update_s(30 * HOUR_S) == 30 * HOUR_S
    assert history.last_update_s(25 * HOUR_S) == history.last_update_s(7.0) == 7.0
    assert history.last_update_s(6.0) is None


def test_last_modified_is_never_counted() -> None:
    history = History.of([], 100.0, last_modified_s=50.0)
    assert history.count(-1.0, 1000.0) == 0
    assert sum(history.counts(-1.0, 1000.0)) == 0


def test_the_first_update_of_a_span_may_be_a_folded_hour() -> None:
    history = History.of([90 * HOUR_S + 1.0], 0.0, folded=[(30, 2), (40, 1)])
    assert history.first_update_s(29 * HOUR_S, 100 * HOUR_S) == 30 * HOUR_S
    assert history.first_update_s(30 * HOUR_S, 100 * HOUR_S) == 40 * HOUR_S
    assert history.first_update_s(40 * HOUR_S, 100 * HOUR_S) == 90 * HOUR_S + 1.0
    assert history.first_update_s(40 * HOUR_S, 90 * HOUR_S) is None


def test_the_latest_updates_come_last_one_first() -> None:
    history = History.of([1.0, 2.0, 3.0, 4.0], 0.0)
    assert history.latest_s(1.0, 3.5, 9) == [3.0, 2.0]
    assert history.latest_s(0.0, 9.0, 2) == [4.0, 3.0]
    assert history.latest_s(5.0, 9.0, 2) == []
    folded = History.of([9 * HOUR_S], 0.0, folded=[(1, 1), (2, 3)])
    assert folded.latest_s(0.0, 10 * HOUR_S, 9) == [9 * HOUR_S, 2 * HOUR_S, 2 * HOUR_S, 2 * HOUR_S, HOUR_S]
    assert folded.latest_s(HOUR_S, 10 * HOUR_S, 2) == [9 * HOUR_S, 2 * HOUR_S]


def test_the_memory_of_a_complete_history_is_that_of_its_updates_in_order() -> None:
    history = History.of([5000.0, 9000.0, 20_000.0], 1000.0)
    expected = memory_since(1000.0)
    assert history.memory_at(4999.0) == expected
    for update_s in (5000.0, 9000.0):
        expected = updated_at(expected, update_s, update_s)
    assert history.memory_at(15_000.0) == expected
    assert history.memory_at(5000.0).updates == 1.0


def test_folded_updates_are_remembered_at_the_starts_of_their_hours() -> None:
    expected = memory_since(0.0)
    for update_s in (HOUR_S, HOUR_S, 5 * HOUR_S, 30_000.0):
        expected = updated_at(expected, update_s, update_s)
    assert History.of([30_000.0], 0.0, folded=[(5, 1), (1, 2)]).memory_at(40_000.0) == expected


def test_the_memory_of_contacts_is_taken_as_it_is() -> None:
    memory = updated_at(memory_since(0.0), 700.0, 300.0)
    assert History.of([700.0], 0.0, memory=memory).memory_at(800.0) is memory
    assert History.of([700.0], 0.0, memory=memory).memory_at(600.0) == memory._replace(at_s=600.0)

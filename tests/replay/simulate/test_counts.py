from bestbefore.replay.simulate.counts import Counts, RefreshCounts


def test_requests_are_misses_hits_and_validations() -> None:
    counts = Counts(misses=2, hits=5, stale_hits=1, validations=3, unnecessary=2)
    assert counts.by_name() == {
        "requests": 10,
        "misses": 2,
        "cached": 8,
        "hits": 5,
        "stale_hits": 1,
        "validations": 3,
        "unnecessary": 2,
    }


def test_the_total_of_counts_is_their_sum() -> None:
    parts = [Counts(2, 5, 1, 3, 2), Counts(1, 0, 0, 4, 0)]
    assert Counts.total(parts) == Counts(3, 5, 1, 7, 2)
    assert Counts.total([]) == Counts(0, 0, 0, 0, 0)


def test_refreshes_are_reported_with_the_mean_and_the_longest_delay() -> None:
    total = RefreshCounts.total([RefreshCounts(10, 4, 1, 60.0, 40.0), RefreshCounts(5, 2, 2, 0.0, None)])
    assert total.by_name() == {
        "refreshes": 15,
        "updates": 6,
        "unfetched": 3,
        "mean_delay_s": 20.0,
        "max_delay_s": 40.0,
    }
    assert RefreshCounts(0, 2, 2, 0.0, None).by_name()["mean_delay_s"] is None

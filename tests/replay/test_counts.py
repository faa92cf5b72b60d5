from bestbefore.replay.counts import Counts


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

from bestbefore.replay.simulate.breakdown import Breakdown
from bestbefore.replay.simulate.counts import Counts, RefreshCounts

A = Counts(misses=1, hits=2, stale_hits=1, validations=0, unnecessary=0)
B = Counts(misses=1, hits=0, stale_hits=0, validations=4, unnecessary=3)


def test_the_objects_of_a_domain_are_counted_together() -> None:
    names = ["http://www.example.org/b", "www.example.org/a", "news/x", "0"]
    by_domain = Breakdown.by_domain(names)
    assert by_domain.key == "domain"
    assert by_domain.count(dict(zip(names, [A, B, A, B], strict=True))) == {
        "0": B,
        "news": A,
        "www.example.org": Counts.total([A, B]),
    }


def test_objects_of_which_nothing_is_said_are_a_part_of_their_own() -> None:
    by_class = Breakdown.by_label("class", {"a": "bursty", "c": "mixed", "other": "cyclic"}, ["a", "b", "c", "d"])
    assert by_class.key == "class"
    counts = RefreshCounts(refreshes=3, updates=2, unfetched=0, delay_s=5.0, max_delay_s=4.0)
    assert by_class.count({"a": counts, "b": counts, "d": counts}) == {
        "": RefreshCounts.total([counts, counts]),
        "bursty": counts,
    }

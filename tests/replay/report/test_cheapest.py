from bestbefore.replay.report.cheapest import SHARES, cheapest
from bestbefore.replay.sweeps.grid import points_of
from bestbefore.replay.sweeps.sweep import Result


def result(alpha: float, stale_hits: int, validations: int) -> Result:
    (point,) = points_of(f"ttl:alpha={alpha}")
    return Result(point, {"cached": 1000, "stale_hits": stale_hits, "validations": validations})


def test_the_cheapest_is_that_with_the_fewest_validations_at_the_share() -> None:
    results = [result(0.1, 5, 300), result(0.2, 20, 100), result(0.3, 25, 90), result(0.4, 19, 100)]
    found = {share: one and one.point.spec for share, one in cheapest(results, "validations", "stale_hits", "cached")}
    assert found == {
        0.001: None, 0.002: None, 0.005: "ttl:alpha=0.1", 0.01: "ttl:alpha=0.1", 0.02: "ttl:alpha=0.4",
        0.05: "ttl:alpha=0.3", 0.1: "ttl:alpha=0.3", 0.2: "ttl:alpha=0.3",
    }


def test_without_requests_that_found_a_copy_nothing_is_stale() -> None:
    nothing = Result(*points_of("ttl"), {"cached": 0, "stale_hits": 0, "validations": 0})
    assert list(cheapest([nothing], "validations", "stale_hits", "cached")) == [(share, nothing) for share in SHARES]

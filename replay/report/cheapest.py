"""The cheapest results at given shares of unwanted outcomes, such as stale hits."""

from collections.abc import Iterable, Iterator

from bestbefore.replay.sweeps.sweep import Result

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""The usual upper bounds of stale rates."""


def cheapest(results: Iterable[Result], x: str, y: str, whole: str) -> Iterator[tuple[float, Result | None]]:
    """Yield for each of `SHARES` the result with the least count x whose count y is at most that share of `whole`.

    Among equals the one with the least y is taken, then the first. None if no result has so small a share.
    """
    in_order = sorted(results, key=lambda result: (result.counts[x], result.counts[y]))
    shares = [one.counts[y] / one.counts[whole] if one.counts[whole] else 0.0 for one in in_order]
    for most in SHARES:
        yield most, next((one for one, share in zip(in_order, shares, strict=True) if share <= most), None)

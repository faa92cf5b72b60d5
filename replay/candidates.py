"""The policies that a recommendation chooses from by default."""

from bestbefore.policies.validation.machinery.bounds import LEAST_STALE_RATE

_SHARES = (0.001, 0.0015, 0.0022, 0.0033, 0.0047, 0.0068, 0.01, 0.015, 0.022, 0.033, 0.047, 0.068, 0.1, 0.15, 0.22,
           0.33, 0.47, 0.68, 1.0)
_PRICES = (150, 70, 35, 18, 10, 6, 4, 2.5, 1.7, 1.2, 0.8, 0.55, 0.35, 0.2, 0.1, 0.05)
_INTERVALS = ("30s", "1m", "2m", "5m", "10m", "20m", "1h", "2h", "6h", "12h", "1d")

CANDIDATES: tuple[str, ...] = (
    *(f"ttl:alpha={step}" for step in _SHARES),
    *(f"{name}:theta={step}" for name in ("indhist", "agghist", "indagg") for step in _SHARES),
    *(f"indttl:theta={step},alpha={alpha}" for alpha in (0.05, 0.2) for step in _SHARES),
    *(f"renewal:price={price}" for price in _PRICES),
    *(f"fixed:interval={interval}" for interval in _INTERVALS),
)
"""SPECs of the learning policies and of `fixed`, each from short to long lifetimes."""

STRICT = 0.03
"""The stale rate below which a day is too long a bound for histories (docs/results/adaptive.md)."""
_BOUNDED_SHARES = (0.01, 0.022, 0.047, 0.1, 0.22, 0.47, 1.0)
_OF_ASKED = (0.5, 0.7, 0.85, 1.0)
"""The targets of `renewal`, over the stale rate that is asked for, as a target is kept to within some percent."""


def controlled_candidates(stale_rate: float) -> tuple[str, ...]:
    """Return the SPECs of `renewal` whose price is controlled to keep to a stale rate."""
    targets = (float(f"{share * stale_rate:.3g}") for share in _OF_ASKED)
    return tuple(f"renewal:stale_rate={target:.12g}" for target in targets if target >= LEAST_STALE_RATE)


def bounded_candidates(stale_rate: float) -> tuple[str, ...]:
    """Return the SPECs of histories with lifetimes of at most an hour, for stale rates below `STRICT`."""
    if stale_rate >= STRICT:
        return ()
    return tuple(f"{name}:theta={step},max_ttl=1h" for name in ("indhist", "agghist") for step in _BOUNDED_SHARES)

"""Checks of the ranges of policy parameters."""

import math

from bestbefore.policies.models.price import LARGEST_PRICE


def check_range(key: str, value: float, least: float = 0.0, most: float = math.inf, *, infinite: bool = False) -> None:
    """Raise ValueError unless least <= value <= most, and the value is finite or `infinite` allows infinity.

    `key` is the name of the parameter in a SPEC.
    """
    if least <= value <= most and (infinite or math.isfinite(value)):
        return
    if most < math.inf:
        expected = f"a number from {least:g} to {most:g}"
    elif infinite:
        expected = f"a number of {least:g} or more, or inf"
    else:
        expected = f"a finite number of {least:g} or more"
    raise ValueError(f"{key} must be {expected}, not {value:g}")


def check_bounds(min_s: float, max_s: float) -> None:
    """Raise ValueError unless 0 <= min <= max < inf, for the keys `min` and `max` of a policy."""
    check_range("min", min_s)
    check_range("max", max_s)
    if min_s > max_s:
        raise ValueError(f"min ({min_s:g} s) must not exceed max ({max_s:g} s)")


def check_price(price: float) -> None:
    """Raise ValueError unless 0 <= price <= `LARGEST_PRICE`, for the key `price` of a policy."""
    check_range("price", price, most=LARGEST_PRICE)

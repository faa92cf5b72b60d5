"""The grammar of sweeps: a SPEC whose values may be ranges, and the policies that it includes."""

import math
from dataclasses import dataclass
from itertools import product

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import UNIT_SECONDS, parse_duration, parse_spec

MOST_POINTS = 10_000
"""The most points of a sweep; more are taken for a mistake."""
_LINEAR = ":lin"


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a sweep: one policy."""

    spec: str
    """The SPEC of this policy."""
    policy: Policy
    sweep: str
    """The SPEC with ranges to which it belongs; the same as `spec` without ranges."""
    swept: tuple[str, ...] = ()
    """The keys whose values are ranges in `sweep`."""

    @property
    def written(self) -> dict[str, str]:
        """The parameters that the SPEC names, by key, as text."""
        items = (item.partition("=") for item in self.spec.partition(":")[2].split(",") if item)
        return {key.strip(): value.strip() for key, _, value in items}


def points_of(sweep: str) -> list[Point]:
    """Return all points of a SPEC with ranges, in order; the last range varies fastest.

    The range `A..B/N` has N values from A to B inclusive with equal ratios, `A..B/N:lin` with equal steps. The inner
    values are rounded to seven digits, so that the SPEC of a point is exactly what is replayed.

    >>> [point.spec for point in points_of("indttl:theta=0.1..0.4/3,window=12h..2d/2:lin")][:3]
    ['indttl:theta=0.1,window=12h', 'indttl:theta=0.1,window=2d', 'indttl:theta=0.2,window=12h']

    Raises ValueError as `parse_spec` does, and for an invalid range.
    """
    name, colon, rest = sweep.partition(":")
    items = rest.split(",") if colon else []
    swept = tuple(item.partition("=")[0].strip() for item in items if ".." in item)
    if not swept:
        return [Point(sweep, parse_spec(sweep), sweep)]
    choices = [_choices(item) for item in items]
    if math.prod(map(len, choices)) > MOST_POINTS:
        raise ValueError(f"more than {MOST_POINTS:,} points")
    specs = (f"{name}:{','.join(chosen)}" for chosen in product(*choices))
    return [Point(spec, parse_spec(spec), sweep, swept) for spec in specs]


def _choices(item: str) -> list[str]:
    """Return `key=value` for each value of an item of a SPEC."""
    key, equals, value = item.partition("=")
    if ".." not in item or not equals:
        return [item]
    try:
        return [f"{key}={chosen}" for chosen in _values(value.strip())]
    except ValueError as error:
        raise ValueError(f"{item!r}: {error}") from None


def _values(text: str) -> list[str]:
    linear = text.endswith(_LINEAR)
    ends, _, count = text.removesuffix(_LINEAR).partition("/")
    first, _, last = (end.strip() for end in ends.partition(".."))
    if not (count.isascii() and count.isdigit() and count.lstrip("0") not in {"", "1"}):
        raise ValueError(f"expected A..B/N with an N of 2 or more, such as {first or 0.02}..{last or 0.7}/12")
    if len(count) > len(str(MOST_POINTS)) or int(count) > MOST_POINTS:
        raise ValueError(f"more than {MOST_POINTS:,} points")
    a, b = _number(first), _number(last)
    if not a < b < math.inf:
        raise ValueError(f"expected a range from a smaller to a larger value, not from {first} to {last}")
    if a <= 0.0 and not linear:
        raise ValueError(f"values that grow by a factor cannot begin at {first}: begin above 0, or append {_LINEAR}")
    shares = [i / (int(count) - 1) for i in range(1, int(count) - 1)]
    inner = [a + (b - a) * share if linear else a * (b / a) ** share for share in shares]
    return [first, *(f"{value:.7g}" for value in inner), last]


def _number(text: str) -> float:
    """Parse a number, or a duration with a unit into seconds; the range of values is checked with each policy."""
    if text[-1:] in UNIT_SECONDS:
        return parse_duration(text)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None

"""The comparison of curves at the numbers of validations of TTL."""

from collections.abc import Mapping, Sequence

from bestbefore.replay.papers.adaptive.curves import STALE_RATE, TTL, VALIDATION_RATE, at, crossing, rates
from bestbefore.replay.papers.adaptive.words import number, ratio, share
from bestbefore.replay.papers.claims import less
from bestbefore.replay.report.series import Series

ANCHORS = (0.5, 0.2)
"""The alphas of TTL at whose validations curves are compared; the paper uses the first."""


def stale_at_ttl(series: Sequence[Series], alpha: float) -> dict[str, float | None]:
    """The share of stale hits of each series at the validations of TTL with this alpha; TTL must be one of them."""
    ttl = next(one for one in series if one.name == TTL.name)
    validations = crossing(
        [(float(result.point.written["alpha"]), rates(result.counts)[VALIDATION_RATE]) for result in ttl.results], alpha
    )
    return {
        one.name: None if validations is None else at(one, VALIDATION_RATE, validations, STALE_RATE) for one in series
    }


def anchored_table(parts: Mapping[str, Sequence[Series]]) -> tuple[list[str], list[tuple[str, ...]]]:
    """The heads and rows of a table of `stale_at_ttl` for the same curves in several parts of a trace.

    A cell has the share, and in parentheses its ratio to that of TTL.
    """
    found = {(part, alpha): stale_at_ttl(series, alpha) for part, series in parts.items() for alpha in ANCHORS}
    heads = ["stale hits at the validations of", *(f"TTL, alpha={alpha:g}{part}" for part, alpha in found)]
    names = [one.name for one in next(iter(parts.values()))]
    return heads, [(name, *(_cell(column, name) for column in found.values())) for name in names]


def _cell(found: Mapping[str, float | None], name: str) -> str:
    if name == TTL.name or found[name] is None:
        return share(found[name])
    return f"{share(found[name])} ({number(ratio(found[name], found[TTL.name]))})"


def held_everywhere(parts: Sequence[Sequence[Series]], better: str, worse: str) -> list[bool | None]:
    """Return whether one curve has fewer stale hits than another, at each anchor of each part."""
    found = [stale_at_ttl(series, alpha) for series in parts for alpha in ANCHORS]
    return [less(column[better], column[worse]) for column in found]


def shown(series: Sequence[Series], names: Sequence[str]) -> str:
    """Format the shares of stale hits of some curves at each anchor, for a sentence.

    Of a name with commas only the last part is shown.
    """
    found = [stale_at_ttl(series, alpha) for alpha in ANCHORS]
    return ", ".join(f"{name.split(', ')[-1]} {' / '.join(share(one[name]) for one in found)}" for name in names)

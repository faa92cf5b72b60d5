"""The points at which curves are compared, and what is found there."""

from collections.abc import Mapping, Sequence

from bestbefore.replay.papers.adaptive.curves import STALE_RATE, TTL, VALIDATION_RATE, at, crossing, rates
from bestbefore.replay.papers.adaptive.words import number, ratio, share
from bestbefore.replay.papers.claims import less
from bestbefore.replay.report.series import Series

ANCHORS = (0.5, 0.2)
"""Curves are compared at the validations of TTL with these alphas; the text of the paper names the first."""


def stale_at_ttl(series: Sequence[Series], alpha: float) -> dict[str, float | None]:
    """The share of stale hits of each series with as many validations as TTL, which is one of them, has with alpha."""
    ttl = next(one for one in series if one.name == TTL.name)
    validations = crossing(
        [(float(result.point.written["alpha"]), rates(result.counts)[VALIDATION_RATE]) for result in ttl.results], alpha
    )
    return {
        one.name: None if validations is None else at(one, VALIDATION_RATE, validations, STALE_RATE) for one in series
    }


def anchored_table(
    parts: Mapping[str, Sequence[Series]],
) -> tuple[list[str], list[tuple[str, ...]]]:
    """The heads and rows of a table of `stale_at_ttl` for the same curves in several parts of a trace.

    A cell has the share, and in parentheses how many times that of TTL it is.
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
    """Return, at each anchor of each part, whether one curve has fewer stale hits than another."""
    found = [stale_at_ttl(series, alpha) for series in parts for alpha in ANCHORS]
    return [less(column[better], column[worse]) for column in found]


def shown(series: Sequence[Series], names: Sequence[str]) -> str:
    """The shares of stale hits of some curves at each anchor, as a sentence has them.

    Of a name with commas the last part is shown: the finding says what the others are.
    """
    found = [stale_at_ttl(series, alpha) for alpha in ANCHORS]
    return ", ".join(f"{name.split(', ')[-1]} {' / '.join(share(one[name]) for one in found)}" for name in names)

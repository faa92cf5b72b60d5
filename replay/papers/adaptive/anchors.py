"""The comparison of curves at the numbers of validations of TTL."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from bestbefore.replay.papers.adaptive.curves import (
    STALE_RATE,
    TTL,
    VALIDATION_RATE,
    PolicyCurve,
    at,
    rates,
)
from bestbefore.replay.papers.adaptive.formatting import number, ratio, share
from bestbefore.replay.papers.claims import CLEARLY, Claim, clearly_less, less, slightly_less, verdict
from bestbefore.replay.report.interpolation import crossing
from bestbefore.replay.report.series import Series

ANCHORS = (0.5, 0.2)
"""The alphas of TTL at whose validations curves are compared; the paper uses the first."""
FEWER = "fewer", less
CLEARLY_FEWER = f"{CLEARLY:.0%} fewer or more", clearly_less
SLIGHTLY_FEWER = f"fewer, by less than {CLEARLY:.0%}", slightly_less
"""The relations of stale hits that are judged."""


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


def order_claim(
    where: str,
    finding: str,
    parts: Mapping[str, Sequence[Series]],
    curves: Sequence[PolicyCurve],
    pairs: Iterable[tuple[PolicyCurve, PolicyCurve]],
    relation: tuple[str, Callable[[float | None, float | None], bool | None]] = FEWER,
) -> Claim:
    """The claim that of each pair the first curve has fewer stale hits than the second, at each anchor of each part.

    `relation` is another one between their stale hits, with its text. The result shows the shares of `curves` in each
    part, after the text under which `parts` has it.
    """
    found = [stale_at_ttl(series, alpha) for series in parts.values() for alpha in ANCHORS]
    text, holds = relation
    held = (holds(column[better.name], column[worse.name]) for better, worse in pairs for column in found)
    ours = "".join(f"{part}{shown(series, curves)}" for part, series in parts.items())
    return Claim(where, finding, ours, text, verdict(*held))


def shown(series: Sequence[Series], curves: Sequence[PolicyCurve]) -> str:
    """Format the shares of stale hits of some curves at each anchor, for a sentence.

    Of a name with commas only the last part is shown.
    """
    found = [stale_at_ttl(series, alpha) for alpha in ANCHORS]
    names = [curve.name for curve in curves]
    return ", ".join(f"{name.split(', ')[-1]} {' / '.join(share(one[name]) for one in found)}" for name in names)

"""What each form of policy costs at several stale rates, with the place of the present policy, for a recommendation."""

from collections.abc import Iterator, Mapping, Sequence

from bestbefore.policies.validation.machinery.spec import params
from bestbefore.replay.evaluation.curves import Curve
from bestbefore.replay.recommend import Choice, Recommendation, Tried, stale_rate
from bestbefore.replay.report.formatting import aligned, percent
from bestbefore.replay.report.frontier import on_frontier

TIMES_ASKED = (0.5, 1.0, 2.0, 5.0)
"""The stale rates of the table, as multiples of the one that was asked for."""
NOT_REACHED = "-"


def table(found: Recommendation) -> Iterator[str]:
    """Yield the lines of a table of the validations of each form in the first part, by stale rate.

    Nothing is printed if no stale hit at all was asked for.
    """
    cached = found.present.counts.cached
    rates = [share for times in TIMES_ASKED if 0.0 < (share := times * found.largest_stale_rate) < 1.0]
    if not rates or not cached:
        return
    curves = curves_of(found.tried)
    rows = [("validations with a stale rate of", *map(percent, rates))]
    for form, curve in curves.items():
        at = (curve.validations(rate) for rate in rates)
        rows.append((form, *(NOT_REACHED if one is None else f"{one * cached:,.0f}" for one in at)))
    yield "first part, all domains together:"
    yield from (f"  {line}" for line in aligned(rows, words=1))
    present = found.present.counts
    rate = stale_rate(present)
    yield f"  at present ({found.present.point.spec}): {percent(rate)} stale, {present.validations:,} validations"
    at_present = {form: curve.validations(rate) for form, curve in curves.items()}
    reached = {form: one * cached for form, one in at_present.items() if one is not None}
    if reached:
        best = min(reached, key=lambda form: reached[form])
        yield f"  fewest at that stale rate: {best}, {reached[best]:,.0f} validations"


def json_rows(found: Recommendation) -> Iterator[dict[str, object]]:
    """Yield the choices, the present policy, and each candidate in the first part, as objects of JSON.

    The last one, `whole`, has the second part over all domains with the choices, without them, and of the oracle.

    `frontier`: no other candidate has both fewer stale hits and fewer validations.
    """
    for domain, choice in (*found.domains.items(), (None, found.default)):
        in_use = found.in_use.of(domain or "").spec
        yield {"chosen_for": domain, **_json_choice(choice), "in_use": in_use}
    yield {"present": found.present.point.spec, **found.present.counts.by_name()}
    shares = [(float(one.counts.stale_hits), float(one.counts.validations)) for one in found.tried]
    for one, is_best in zip(found.tried, on_frontier(shares), strict=True):
        yield {"candidate": one.point.spec, **one.counts.by_name(), "frontier": is_best}
    whole = {"with": found.followed, "without": found.unconfigured, "at_best": found.default.bound}
    yield {"whole": {name: counts.by_name() for name, counts in whole.items()}}


def _json_choice(choice: Choice) -> dict[str, object]:
    policy = choice.point.policy
    parts = {"first": choice.first, "then": choice.then, "at_best": choice.bound, "at_present": choice.present}
    return {
        "policy": policy.name,
        "params": {key: value for key, value in params(policy).items() if key in choice.point.written},
        "reached": choice.reached,
        **{part: counts.by_name() for part, counts in parts.items()},
    }


def curves_of(tried: Sequence[Tried]) -> Mapping[str, Curve]:
    """Return the curve of each form of policy, named by its SPEC without values."""
    points: dict[str, list[tuple[float, float]]] = {}
    for one in tried:
        name, keys = one.point.policy.name, ",".join(one.point.written)
        share = one.counts.validations / one.counts.cached if one.counts.cached else 0.0
        points.setdefault(f"{name}:{keys}" if keys else name, []).append((stale_rate(one.counts), share))
    return {form: Curve(sorted(of_form)) for form, of_form in points.items()}

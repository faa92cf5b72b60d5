import pytest

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.papers.adaptive.anchors import (
    CLEARLY_FEWER,
    SLIGHTLY_FEWER,
    anchored_table,
    order_claim,
    shown,
    stale_at_ttl,
)
from bestbefore.replay.papers.adaptive.curves import INDHIST, TTL, PolicyCurve
from bestbefore.replay.papers.claims import Claim
from bestbefore.replay.report.series import Series
from bestbefore.replay.sweeps.grid import Point
from bestbefore.replay.sweeps.sweep import Result


def series(name: str, spec: str, *points: tuple[float, float, float]) -> Series:
    results = []
    for value, validations, stale in points:
        text = spec.format(value)
        counts = {"cached": 100.0, "validations": validations, "stale_hits": stale}
        results.append(Result(Point(text, parse_spec(text), spec), counts))
    return Series(name, results, key="alpha")


CURVES = [
    series("TTL", "ttl:alpha={}", (0.1, 50.0, 2.0), (0.25, 40.0, 4.0), (1.0, 10.0, 16.0)),
    series("IndHist", "indhist:theta={}", (0.1, 80.0, 1.5), (0.7, 5.0, 24.0)),
    series("short", "indhist:theta={}", (0.1, 40.0, 3.0), (0.7, 10.0, 12.0)),
]


def test_curves_are_compared_at_the_validations_of_ttl() -> None:
    # With alpha = 0.5, in the middle between two points, TTL has 20 validations and 8 stale hits.
    found = stale_at_ttl(CURVES, 0.5)
    assert found == {"TTL": pytest.approx(0.08), "IndHist": pytest.approx(0.06), "short": pytest.approx(0.06)}
    assert stale_at_ttl(CURVES, 0.2)["short"] is None


SHORT = PolicyCurve("short", "indhist:theta={}")


def test_a_claim_holds_if_it_holds_for_each_pair_at_each_anchor_of_each_part() -> None:
    parts = {"": CURVES, "; beside ": CURVES}
    once = shown(CURVES, [INDHIST])
    found = order_claim("here", "less", parts, [INDHIST], [(INDHIST, TTL)])
    assert found == Claim("here", "less", f"{once}; beside {once}", "fewer", "yes")
    assert order_claim("here", "less", parts, [INDHIST], [(INDHIST, TTL), (TTL, INDHIST)]).verdict == "partly"
    # They are equal where both have a value.
    assert order_claim("here", "less", parts, [INDHIST], [(INDHIST, SHORT)]).verdict == "no"
    clearly = order_claim("here", "less", parts, [INDHIST], [(INDHIST, TTL)], CLEARLY_FEWER)
    assert (clearly.tolerance, clearly.verdict) == ("10% fewer or more", "yes")
    assert order_claim("here", "less", parts, [INDHIST], [(INDHIST, TTL)], SLIGHTLY_FEWER).verdict == "no"


def test_a_table_has_a_column_for_each_anchor_and_part() -> None:
    heads, rows = anchored_table({"": CURVES, " beside": CURVES})
    assert heads[1:] == ["TTL, alpha=0.5", "TTL, alpha=0.2", "TTL, alpha=0.5 beside", "TTL, alpha=0.2 beside"]
    assert rows[2] == ("short", "6.0 % (0.75)", "–", "6.0 % (0.75)", "–")


def test_a_sentence_names_the_shares_at_both_anchors() -> None:
    assert shown(CURVES, (TTL, SHORT)) == "TTL 8.0 % / 3.4 %, short 6.0 % / –"

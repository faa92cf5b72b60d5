from bestbefore.replay.present import Present
from bestbefore.replay.recommend import Choice, Recommendation, Tried
from bestbefore.replay.report.forms import curves_of, json_rows, table
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.sweeps.grid import points_of


def counted(spec: str, stale: int, validations: int) -> Tried:
    (point,) = points_of(spec)
    return Tried(point, Counts(1, 1000 - validations, stale, validations, 0))


TRIED = [
    counted("ttl:alpha=0.1", 5, 400), counted("ttl:alpha=0.4", 20, 100), counted("renewal:price=3", 10, 90),
    counted("renewal:price=9", 5, 180), counted("fixed:interval=1h", 300, 1),
]


def found(stale_rate: float = 0.01) -> Recommendation:
    choice = Choice(TRIED[3].point, TRIED[3].counts, TRIED[2].counts, TRIED[4].counts, TRIED[1].counts, reached=True)
    nothing = Counts.total([])
    present = counted("indttl", 12, 300)
    in_use = Present(present.point)
    return Recommendation(stale_rate, choice, {"a.org": choice}, [], 9, nothing, present, TRIED, in_use)


def test_each_form_has_its_validations_at_several_stale_rates() -> None:
    assert "\n".join(table(found())) == """\
first part, all domains together:
  validations with a stale rate of  0.5 %  1 %  2 %  5 %
  ttl:alpha                           400  200  100  100
  renewal:price                       180   90   90   90
  fixed:interval                        -    -    -    -
  at present (indttl): 1.2 % stale, 300 validations
  fewest at that stale rate: renewal:price, 90 validations"""


def test_without_stale_hits_there_is_nothing_to_compare() -> None:
    assert list(table(found(0.0))) == []


def test_json_has_the_choices_the_present_policy_and_the_frontier() -> None:
    rows = list(json_rows(found()))
    assert [row.get("chosen_for", 0) for row in rows[:3]] == ["a.org", None, 0]
    assert (rows[1]["policy"], rows[1]["params"], rows[1]["reached"]) == ("renewal", {"price": 9.0}, True)
    assert (rows[0]["then"]["validations"], rows[0]["at_present"]["validations"]) == (90, 100)
    assert (rows[2]["present"], rows[2]["validations"]) == ("indttl", 300)
    assert [row["candidate"] for row in rows[3:-1] if row["frontier"]] == [
        "renewal:price=3", "renewal:price=9", "fixed:interval=1h"
    ]


def test_a_form_is_named_without_values() -> None:
    assert list(curves_of([*TRIED, counted("ttl", 1, 1)])) == ["ttl:alpha", "renewal:price", "fixed:interval", "ttl"]

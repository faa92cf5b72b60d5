from dataclasses import replace

from small_cases import compared, outcome

from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.curves import Spread
from bestbefore.replay.evaluation.targets import kept, of_targets


def test_each_limit_is_compared_with_what_was_measured() -> None:
    complete, observed = outcome(1, 0.2, 0.1), outcome(1, 0.2, 0.2)
    observed = replace(observed, setting=observed.setting._replace(known=Known.OBSERVED))
    _, rows = of_targets(compared(complete, observed, outcome(1, 0.1, 0.1, Known.FIRST_DAY)), "own")
    assert rows == [
        ["one shared cache, complete histories, over the best of the five", "1 %", "0.57", "0.50", "yes"],
        ["one shared cache, complete histories, over the best of the five", "2 %", "0.54", "0.25", "yes"],
        ["one shared cache, observed over complete histories", "1 %", "1.05", "2.00", "no"],
        ["one shared cache, observed over complete histories", "2 %", "1.05", "2.00", "no"],
        ["first day, shared cache, stale hits over `ttl`", "1 %", "1.00", "1.00", "yes"],
        ["first day, shared cache, stale hits over `ttl`", "2 %", "1.00", "1.00", "yes"],
    ]


def test_a_limit_is_kept_only_if_it_is_reached_everywhere() -> None:
    assert kept(Spread(0.5, 0.5, 0.5, 2, 2), 0.5) == "yes"
    assert kept(Spread(0.5, 0.5, 0.5, 1, 2), 0.5) == "no"
    assert kept(None, 0.5) == "–"

from dataclasses import replace

from small_cases import compared, outcome

from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.curves import Spread
from bestbefore.replay.evaluation.targets import kept, of_held, of_targets


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


def test_a_stale_rate_is_held_if_it_is_on_each_trace() -> None:
    observed = [replace(one, setting=one.setting._replace(known=Known.OBSERVED)) for one in [outcome(1, 0.2, 0.1)] * 3]
    found = compared(
        replace(observed[0], held={0.01: (0.0112, 9000), 0.02: (0.022, 9000)}),
        replace(observed[1], held={0.01: (0.009, 9000), 0.02: (0.026, 9000)}),
        replace(observed[2], held={0.01: (0.09, 100), 0.02: (0.019, 9000)}),
    )
    assert of_held(found, "own")[1] == [
        ["one shared cache, observed histories", "1 %", "+1%", "-10% to +12%", "2 of 2", "yes"],
        ["one shared cache, observed histories", "2 %", "+10%", "-5% to +30%", "2 of 3", "no"],
    ]
    assert of_held(compared(outcome(1, 0.2, 0.1)), "own")[1] == []

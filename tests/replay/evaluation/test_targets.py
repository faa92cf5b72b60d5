from dataclasses import replace

from small_cases import compared, outcome

from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.curves import Spread
from bestbefore.replay.evaluation.targets import EACH, MEAN, criteria, met, of_criteria, of_held, verdict
from bestbefore.replay.simulate.scenario import Cache


def test_each_criterion_is_compared_with_what_was_measured() -> None:
    complete, observed = outcome(1, 0.2, 0.1), outcome(1, 0.2, 0.2)
    client = replace(complete, setting=complete.setting._replace(cache=Cache.CLIENT))
    observed = replace(observed, setting=observed.setting._replace(known=Known.OBSERVED), held={0.02: (0.026, 9000)})
    found = criteria(compared(complete, client, observed, outcome(1, 0.1, 0.1, Known.FIRST_DAY)), "own")
    assert of_criteria(found)[1] == [
        ["one shared cache, complete histories, over the best of the five", "1 %", "mean", "0.57", "0.50", "yes"],
        ["one shared cache, complete histories, over the best of the five", "2 %", "mean", "0.54", "0.25", "yes"],
        ["a cache for each client, complete histories, over the best of the five", "1 %", "each trace", "1.03", "0.50",
         "yes"],
        ["a cache for each client, complete histories, over the best of the five", "2 %", "each trace", "1.03", "0.25",
         "yes"],
        ["one shared cache, observed over complete histories", "1 %", "mean", "1.05", "2.00", "no"],
        ["one shared cache, observed over complete histories", "2 %", "mean", "1.05", "2.00", "no"],
        ["first day, shared cache, stale hits over `ttl`", "1 %", "each trace", "1.00", "1.00", "yes"],
        ["first day, shared cache, stale hits over `ttl`", "2 %", "each trace", "1.00", "1.00", "yes"],
        ["one shared cache, observed histories, stale rate held after 2 days, deviation", "2 %", "each trace", "20%",
         "+30% to +30%", "no"],
    ]  # fmt: skip
    assert verdict("squid", found) == "`squid` meets 6 of 9 criteria that were measured: it is not to be the default."
    assert verdict("squid", found[:4]) == "`squid` meets 4 of 4 criteria that were measured: it may be the default."


def test_a_limit_is_met_only_if_it_is_reached_everywhere() -> None:
    assert met(Spread(0.5, 0.5, 0.5, 2, 2), 0.5, MEAN) is True
    assert met(Spread(0.5, 0.5, 0.5, 1, 2), 0.5, MEAN) is False
    assert met(None, 0.5, MEAN) is None


def test_a_limit_of_each_trace_is_one_of_the_largest_ratio() -> None:
    found = Spread(0.8, 0.5, 1.1, 3, 3)
    assert (met(found, 1.03, MEAN), met(found, 1.03, EACH), met(found, 1.1, EACH)) == (True, False, True)


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

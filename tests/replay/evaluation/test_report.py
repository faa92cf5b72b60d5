from small_cases import compared, outcome

from bestbefore.replay.evaluation import report
from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.curves import Spread
from bestbefore.replay.report.page import Page


def test_words_follow_the_figures() -> None:
    spreads = {rate: Spread(mean, mean, mean, 1, 1) for rate, mean in ((0.01, 0.7), (0.02, 1.01), (0.05, 1.03))}
    assert report.words({**spreads, 0.1: None}) == (
        "fewer validations at 1 %; as many at 2 %; more at 5 %; unknown at 10 %"
    )


def test_a_page_has_a_section_for_each_question() -> None:
    found = compared(outcome(1, 0.2, 0.3), outcome(1, 0.2, 0.1, Known.FIRST_DAY))
    page = Page("evaluation", "made so")
    report.write(page, found, "From one trace.", "It took no time.")
    heads = [block for block in page.blocks if block.startswith("#")]
    assert heads == [
        "# Policies at equal stale rates",
        "## All policies: own",
        "## Criteria for the default: own",
        "## `squid:percent` over the best of the five, `fixed`, the oracle and the offline bound: own",
        "## `squid:percent` by the kind of objects: own",
        "## Each trace",
        "## Where it needs more than the best of the five",
        "## The first day: own",
    ]
    assert "In 1 of 2 comparisons `squid:percent` needs more than 1.02 times" in page.markdown
    assert "Compared with the best of the five, `squid:percent` needs fewer validations at 2 %; more at 1 %." in (
        page.markdown
    )
    assert page.markdown.count("made so") == 1

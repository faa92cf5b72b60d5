from dataclasses import replace

from bestbefore.replay.papers.adaptive.multiples import CURVES, Multiples
from bestbefore.replay.papers.adaptive.sections.judged_reasons import (
    NO_BURSTS,
    NO_HOURS,
    OBSERVED,
    RATES_KNOWN,
    RECORDED,
    Floor,
    KnownHistories,
    write_reasons,
)
from bestbefore.replay.report.page import Page

FLOOR = Floor(0.6, 0.01, 0.03)


def of_all(value: float | None) -> Multiples:
    return {curve.name: [value] * 3 for curve in CURVES}


def verdicts(floor: Floor, few: float, many: float, variants: dict[str, float | None]) -> list[str]:
    page = Page("name", "made by a test")
    found = {name: of_all(variants.get(name, 0.9)) for name in (RECORDED, RATES_KNOWN, NO_BURSTS, NO_HOURS, OBSERVED)}
    write_reasons(page, floor, KnownHistories(0.5, 0.2, of_all(few)), KnownHistories(0.1, 0.2, of_all(many)), found)
    return [line.rsplit("|", 2)[1].strip() for line in page.markdown.splitlines() if line.startswith("| ")][2:]


def test_each_reason_is_judged_by_what_was_measured() -> None:
    better = {RATES_KNOWN: 0.7, NO_BURSTS: 0.8, NO_HOURS: 1.1, OBSERVED: None}
    assert verdicts(FLOOR, 0.7, 1.0, better) == ["yes", "partly", "yes", "yes", "yes", "yes", "yes", "–"]
    worse = {RATES_KNOWN: 1.0, NO_BURSTS: None, NO_HOURS: 0.8, OBSERVED: 0.8}
    low = replace(FLOOR, first_requests=0.4)
    assert verdicts(low, 1.0, 0.7, worse) == ["partly", "partly", "no", "no", "no", "no", "no", "yes"]

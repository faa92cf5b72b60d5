"""The effect of one cache for all clients."""

from bestbefore.replay.papers.adaptive.curves import (
    AGGHIST,
    INDAGG,
    INDHIST,
    INDTTL_DAY,
    STALE_RATE,
    TTL,
    VALIDATION_RATE,
    at,
    series_of_curves,
    values_between,
)
from bestbefore.replay.papers.adaptive.drawing import add_rates_figure
from bestbefore.replay.papers.adaptive.formatting import share
from bestbefore.replay.papers.adaptive.paired import Paired
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.simulate.scenario import Cache

CURVES = (TTL, AGGHIST, INDHIST, INDAGG, INDTTL_DAY)
TUNING = values_between(0.005, 1.0, 13)
STALE_RATES = (0.005, 0.01, 0.02, 0.05, 0.1)
TRAINING_DAYS = 8


def write(work: Work, page: Page, whole: Paired) -> None:
    """Write the section on the same trace with each kind of cache."""
    page.section("One cache for each client, and one for all")
    page.text(
        """The paper gives each client its own cache; a proxy has one for all. The validations needed, as a share of the
        requests that found a copy, so that at most the given share of these requests are stale hits (all objects, eight
        days of training, seven of test; – : no parameter reaches it):"""
    )
    heads = ["stale hits", *(curve.name for curve in CURVES)]
    for cache, what in ((Cache.CLIENT, "a cache for each client"), (Cache.SHARED, "one cache for all")):
        series = series_of_curves(work, whole.scenario(cache, TRAINING_DAYS), CURVES, TUNING, what)
        add_rates_figure(page, cache.value, f"All objects, {what}", series, logarithmic_x=True)
        rows = [
            (share(rate), *(share(at(one, STALE_RATE, rate, VALIDATION_RATE)) for one in series))
            for rate in STALE_RATES
        ]
        page.table([f"{what}: {heads[0]}", *heads[1:]], rows)

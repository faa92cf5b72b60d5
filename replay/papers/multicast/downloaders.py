"""Figures 8 and 9, tables 5 and 6: subscribers and downloaders on one channel."""

from collections.abc import Iterator, Sequence

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.replay.multicast.clients import ClientLaw
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.papers.claims import verdict, write_claims
from bestbefore.replay.papers.multicast.guidelines import COMPARED, OURS
from bestbefore.replay.papers.multicast.judging import HEADS, ORDERS, PrintedMeasure, order_claim, recommendation
from bestbefore.replay.papers.multicast.measures import (
    COMPLETE,
    DELAY,
    WEEK_AGE,
    WEEK_CLIENTS,
    WEEK_DATA,
    WEEK_DELAY,
    ChannelMeasure,
    shown,
)
from bestbefore.replay.papers.multicast.simulations import Case, Simulations
from bestbefore.replay.report.page import Page

SUBSCRIBERS = 100
DOWNLOADERS = (10, 40, 100, 200)
SCHEDULERS = ("circ", "pop", "rq", "rxc", *OURS)
CELLS: Sequence[tuple[int, float]] = ((10, 9.0), (10, 40.0), (100, 9.0), (100, 40.0))
"""(downloaders, sites per client) in the cells of tables 5 and 6."""
OVER_DATA = {(10, 9.0): "pop", (10, 40.0): "pop", (100, 9.0): "circ", (100, 40.0): "pop"}
"""What table 6 recommends."""


def parameters_of(downloaders: int, sites_per_client: float = 9.0) -> Parameters:
    """100 subscribers with some downloaders."""
    return Parameters(subscribers=SUBSCRIBERS, downloaders=downloaders, client_law=ClientLaw(sites_per_client))


BASE = parameters_of(100)
PRINTED = (
    *(PrintedMeasure("mean delay, days", name, BASE, DELAY, printed)
      for name, printed in (("rq", "1.05"), ("rxc", "4.2"), ("pop", "6.6"), ("circ", "21.2"))),
    *(PrintedMeasure("freshness at one week", name, BASE, WEEK_CLIENTS, printed)
      for name, printed in (("rq", "0.922"), ("circ", "0.855"), ("pop", "0.84"), ("rxc", "0.84"))),
)


def cases() -> Iterator[Case]:
    """What the figures and tables need."""
    points = [*(parameters_of(count) for count in DOWNLOADERS), *(parameters_of(*cell) for cell in CELLS)]
    for parameters in points:
        for name in SCHEDULERS:
            yield name, parameters


def write(page: Page, simulations: Simulations) -> None:
    """Write the sections on figures 8 and 9 and on tables 5 and 6."""
    page.section("Figures 8 and 9: downloaders beside 100 subscribers")
    page.text(
        """All downloaders start with the simulation, which ends after 75 days. A mean delay is that of the downloaders
        that have everything by then, as in the paper; how many have not stands beside it. *Agrees* for a delay: within
        20 % of the printed one and our interval."""
    )
    page.table(HEADS, [printed.row(simulations) for printed in PRINTED], words=2)
    page.table(
        ("100 downloaders", "mean delay, days", "of those complete within a week", "unfinished after 75 days"),
        [_delays(simulations, name) for name in SCHEDULERS],
    )
    for number, measure in ((8, DELAY), (9, WEEK_CLIENTS)):
        _figure(page, simulations, number, measure)
    page.table(
        ("unfinished after 75 days", *(f"{count} downloaders" for count in DOWNLOADERS)),
        [(shown(name), *(_unfinished(simulations, name, parameters_of(count)) for count in DOWNLOADERS))
         for name in SCHEDULERS],
    )
    page.text(ORDERS)
    write_claims(page, [
        order_claim(simulations, "figure 8", "the order of delays is R/Q, RxC, Pop, Circ", BASE, DELAY,
                    ("rq", "rxc", "pop", "circ")),
        order_claim(simulations, "figure 9", "R/Q keeps subscribers freshest, then Circ, then Pop", BASE, WEEK_CLIENTS,
                    ("rq", "circ", "pop")),
    ])
    _tables(page, simulations)


def _delays(simulations: Simulations, name: str) -> tuple[str, ...]:
    mean = simulations.mean(name, BASE, DELAY).text(2)
    return (
        shown(name), mean, simulations.mean(name, BASE, WEEK_DELAY).text(2), _unfinished(simulations, name, BASE)
    )


def _unfinished(simulations: Simulations, name: str, parameters: Parameters) -> str:
    return f"{parameters.downloaders - simulations.mean(name, parameters, COMPLETE).mean:.1f}"


def _figure(page: Page, simulations: Simulations, number: int, measure: ChannelMeasure) -> None:
    lines, rows = [], []
    for name in SCHEDULERS:
        means = [simulations.mean(name, parameters_of(count), measure) for count in DOWNLOADERS]
        points = [(float(count), mean.mean) for count, mean in zip(DOWNLOADERS, means, strict=True)]
        lines.append(Line(shown(name), points, marked=True))
        rows.append((shown(name), *(mean.text(measure.digits) for mean in means)))
    page.table((f"{measure.name} (figure {number})", *(f"{count} downloaders" for count in DOWNLOADERS)), rows)
    drawing = drawn(lines, Scale("downloaders"), Scale(measure.name, with_zero=measure.is_time))
    page.figure(str(number), f"Figure {number}: {measure.name}", drawing)


def _tables(page: Page, simulations: Simulations) -> None:
    page.section("Tables 5 and 6: which scheduler beside downloaders")
    page.text(
        """Fewer and more than 30 downloaders, fewer and more than 15 sites per client, judged as tables 2 to 4. Table
        5 recommends R/Q for all, table 6 (freshness over data) Circ for many downloaders of few sites, else Pop."""
    )
    heads = (
        "table", "downloaders", "sites per client", "measure", "recommended", "ours, best first", "within reach",
        "best of all",
    )
    rows = [
        (str(number), str(downloaders), f"{sites:g}", measure.name, *_judged(simulations, parameters, measure, name))
        for downloaders, sites in CELLS
        for parameters in [parameters_of(downloaders, sites)]
        for number, measure, name in (
            (5, DELAY, "rq"), (5, WEEK_CLIENTS, "rq"), (5, WEEK_AGE, "rq"),
            (6, WEEK_DATA, OVER_DATA[downloaders, sites]),
        )
    ]
    page.table(heads, rows, words=len(heads))
    page.text(
        """A mean delay is that of complete downloaders, so that a scheduler that leaves those with large requests
        incomplete has a smaller one. How many are not complete:"""
    )
    page.table(
        ("unfinished after 75 days", *(f"{count} downloaders, {sites:g} sites" for count, sites in CELLS)),
        [(shown(name), *(_unfinished(simulations, name, parameters_of(*cell)) for cell in CELLS))
         for name in (*COMPARED, *OURS)],
    )


def _judged(
    simulations: Simulations, parameters: Parameters, measure: ChannelMeasure, recommended: str
) -> tuple[str, ...]:
    ours, held = recommendation(simulations, COMPARED, (recommended,), parameters, measure)
    best = simulations.best((*COMPARED, *OURS), parameters, measure)
    value = simulations.mean(best, parameters, measure).text(measure.digits)
    return shown(recommended), ours, verdict(held), f"{shown(best)} {value}"

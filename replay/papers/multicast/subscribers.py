"""Figures 4 to 7: freshness and age of subscribers against their number."""

from collections.abc import Iterator

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.dissemination.table import SCHEDULERS
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.schedulers import IDEAL
from bestbefore.replay.papers.claims import write_claims
from bestbefore.replay.papers.multicast.judging import HEADS, ORDERS, PrintedMeasure, order_claim
from bestbefore.replay.papers.multicast.measures import AGE_CLIENTS, AGE_DATA, CLIENTS, DATA, ChannelMeasure, shown
from bestbefore.replay.papers.multicast.simulations import THOUSAND, Case, Simulations
from bestbefore.replay.report.page import Page

SUBSCRIBERS = (100, 200, 400, 1000)
PAPER = ("circ", "pop", "rq", "rxc")
FIGURES: tuple[tuple[int, ChannelMeasure], ...] = ((4, CLIENTS), (5, DATA), (6, AGE_CLIENTS), (7, AGE_DATA))
HUNDRED = Parameters(subscribers=100)
PRINTED = (
    PrintedMeasure("100 subscribers", "circ", HUNDRED, CLIENTS, "0.865"),
    PrintedMeasure("100 subscribers", "pop", HUNDRED, CLIENTS, "0.865"),
    PrintedMeasure("100 subscribers", "rq", HUNDRED, CLIENTS, "0.787"),
    PrintedMeasure("1000 subscribers", "circ", THOUSAND, CLIENTS, "0.53"),
    PrintedMeasure("1000 subscribers", "pop", THOUSAND, CLIENTS, "0.55"),
    PrintedMeasure("1000 subscribers", "rq", THOUSAND, CLIENTS, "0.62"),
    PrintedMeasure("1000 subscribers", "rxc", THOUSAND, CLIENTS, "0.48"),
    PrintedMeasure("1000 subscribers, over data", "rq", THOUSAND, DATA, "0.43"),
)


def schedulers() -> tuple[str, ...]:
    """Those of the paper's figures, then the others that there are."""
    drawn_there = (*PAPER, IDEAL)
    return (*drawn_there, *(name for name in SCHEDULERS if name not in (*drawn_there, "rxw")))


def cases() -> Iterator[Case]:
    """What the figures need."""
    for subscribers in SUBSCRIBERS:
        for name in schedulers():
            yield name, Parameters(subscribers=subscribers)


def write(page: Page, simulations: Simulations) -> None:
    """Write the sections on figures 4 to 7."""
    page.section("Figures 4 to 7: freshness and age of subscribers")
    page.text(
        """The points of the figures cannot be read in our copy of the paper; these are the values of its text.
        Freshness and age are the averages over the last of 75 days, ± is the 95 % interval of the mean over instances.
        *Agrees*: the printed freshness lies within 0.02 of our interval."""
    )
    page.table(HEADS, [printed.row(simulations) for printed in PRINTED], words=2)
    for number, measure in FIGURES:
        _figure(page, simulations, number, measure)
    page.text(ORDERS)
    write_claims(page, [
        order_claim(simulations, "figure 4", "at 100 Circ slightly better than Pop, then R/Q", HUNDRED, CLIENTS,
                    ("circ", "pop", "rq")),
        order_claim(simulations, "figure 4", "at 1000 R/Q, Pop, Circ, RxC", THOUSAND, CLIENTS,
                    ("rq", "pop", "circ", "rxc")),
        order_claim(simulations, "figure 4", "R/Q is the best for more than 400", THOUSAND, CLIENTS, ("rq", "pop")),
        order_claim(simulations, "figure 5", "R/Q is the worst over data", THOUSAND, DATA, ("pop", "circ", "rq")),
        order_claim(simulations, "figures 4, 5", "RxC with true rates is better than RxC", THOUSAND, CLIENTS,
                    (IDEAL, "rxc")),
        order_claim(simulations, "figure 6", "at 1000 and more R/Q has the least age over clients", THOUSAND,
                    AGE_CLIENTS, ("rq", "pop")),
        order_claim(simulations, "figure 7", "at 1000 Pop has less age over data than R/Q", THOUSAND, AGE_DATA,
                    ("pop", "rq")),
    ])


def _figure(page: Page, simulations: Simulations, number: int, measure: ChannelMeasure) -> None:
    cells = {
        name: [simulations.mean(name, Parameters(subscribers=count), measure) for count in SUBSCRIBERS]
        for name in schedulers()
    }
    page.table(
        (f"{measure.name} (figure {number})", *(f"{count:,} subscribers" for count in SUBSCRIBERS)),
        [(shown(name), *(mean.text(measure.digits) for mean in means)) for name, means in cells.items()],
    )
    lines = [
        Line(shown(name), [(float(count), mean.mean) for count, mean in zip(SUBSCRIBERS, means, strict=True)],
             marked=True)
        for name, means in cells.items()
    ]
    drawing = drawn(lines, Scale("subscribers"), Scale(measure.name, with_zero=measure.is_time))
    page.figure(str(number), f"Figure {number}: {measure.name}", drawing)

"""Tables 2 to 4: which scheduler to use for subscribers, by their number and the size of their requests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bestbefore.policies.dissemination.gain import ExpectedGain
from bestbefore.replay.multicast.clients import ClientLaw
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.papers.claims import verdict
from bestbefore.replay.papers.multicast.judging import recommendation
from bestbefore.replay.papers.multicast.measures import AGE_CLIENTS, AGE_DATA, CLIENTS, DATA, ChannelMeasure, shown
from bestbefore.replay.papers.multicast.simulations import Case, Simulations
from bestbefore.replay.report.page import Page

COMPARED = ("circ", "pop", "rq")
"""Those that the tables recommend; RxC was preferred in none of the paper's experiments."""
OURS = (ExpectedGain.name,)
"""What is not in the paper."""
HEADS = ("subscribers", "sites per client", "recommended", "ours, best first", "within reach", "best of all")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table, with the simulations that stand for it."""

    recommended: Sequence[str]
    """Several are said to do about as well."""
    points: Sequence[tuple[int, float]]
    """(subscribers, sites per client)."""


TABLES: Sequence[tuple[int, ChannelMeasure, Sequence[Cell]]] = (
    (2, CLIENTS, (
        Cell(("circ", "pop"), ((100, 5.0), (100, 9.0))), Cell(("rq",), ((1000, 5.0), (1000, 9.0))),
        Cell(("pop",), ((100, 20.0), (100, 40.0))), Cell(("rq",), ((1000, 20.0),)),
        Cell(("rq",), ((100, 100.0),)), Cell(("rq",), ((400, 80.0),)),
    )),
    (3, DATA, (
        Cell(("pop",), ((100, 9.0), (100, 40.0), (1000, 9.0), (1000, 20.0), (400, 80.0))),
    )),
    (4, AGE_CLIENTS, (
        Cell(("circ",), ((100, 5.0), (100, 9.0))), Cell(("rq",), ((2000, 9.0),)),
        Cell(("pop",), ((100, 40.0), (1200, 25.0))),
    )),
    (4, AGE_DATA, (
        Cell(("circ",), ((100, 5.0), (100, 9.0))), Cell(("pop",), ((2000, 9.0),)),
        Cell(("pop",), ((100, 40.0), (1200, 25.0))),
    )),
)


def parameters_of(point: tuple[int, float]) -> Parameters:
    """The parameters of a point of a table."""
    subscribers, sites = point
    return Parameters(subscribers=subscribers, client_law=ClientLaw(sites))


def cases() -> Iterator[Case]:
    """What the tables need."""
    points = dict.fromkeys(point for _, _, cells in TABLES for cell in cells for point in cell.points)
    for point in points:
        for name in (*COMPARED, *OURS):
            yield name, parameters_of(point)


def write(page: Page, simulations: Simulations) -> None:
    """Write the sections on tables 2 to 4."""
    page.section("Tables 2 to 4: which scheduler for subscribers")
    page.text(
        f"""Each cell of the tables is judged at points within it, among {", ".join(map(shown, COMPARED))}. *Within
        reach*: each recommended scheduler comes within 0.01 of the best freshness, or within 5 % of the least age.
        *Best of all* is with `gain`, which the paper does not have."""
    )
    for number, measure, cells in TABLES:
        page.text(f"Table {number}, {measure.name}:")
        rows = [_row(simulations, cell, point, measure) for cell in cells for point in cell.points]
        page.table(HEADS, rows, words=len(HEADS))


def _row(simulations: Simulations, cell: Cell, point: tuple[int, float], measure: ChannelMeasure) -> tuple[str, ...]:
    parameters = parameters_of(point)
    ours, held = recommendation(simulations, COMPARED, cell.recommended, parameters, measure)
    best = simulations.best((*COMPARED, *OURS), parameters, measure)
    value = simulations.mean(best, parameters, measure).text(measure.digits)
    return (
        f"{point[0]:,}", f"{point[1]:g}", " or ".join(map(shown, cell.recommended)), ours, verdict(held),
        f"{shown(best)} {value}",
    )

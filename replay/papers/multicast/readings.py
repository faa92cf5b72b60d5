"""What the paper leaves open: the change rates of pages, what R and Q count, ties, and clients without sites."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bestbefore.replay.multicast.clients import ClientLaw
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.papers.multicast.measures import CLIENTS, shown
from bestbefore.replay.papers.multicast.simulations import Case, Simulations
from bestbefore.replay.report.page import Page

BASE = Parameters()
PRINTED = (
    (100, "circ", "0.865"), (100, "pop", "0.865"), (100, "rq", "0.787"),
    (1000, "circ", "0.53"), (1000, "pop", "0.55"), (1000, "rq", "0.62"),
)
"""(subscribers, scheduler, freshness over clients)."""


@dataclass(frozen=True, slots=True)
class PaperReading:
    """A way to read the paper."""

    name: str
    parameters: Parameters
    changes: Sequence[str]
    """The schedulers for which it differs from ours."""
    of_thousand: Sequence[str] = ()
    """Those of them that are simulated with 1000 subscribers, too."""

    def case(self, subscribers: int, scheduler: str) -> Case | None:
        """The simulation for a cell; None if there is none."""
        simulated = self.changes if subscribers == BASE.subscribers else self.of_thousand
        return (scheduler, replace(self.parameters, subscribers=subscribers)) if scheduler in simulated else None


_ALL = ("circ", "pop", "rq")
READINGS = (
    PaperReading("law A, 1 d + exponential of mean 107 d (ours)", BASE, _ALL, _ALL),
    PaperReading("law B, a tenth at 2 d, the others at 83 d", replace(BASE, law="B"), _ALL, ("circ",)),
    PaperReading("uniform, 1 to 149 d", replace(BASE, law="uniform"), _ALL, ("circ",)),
    PaperReading("all pages at 75 d", replace(BASE, law="fixed"), _ALL, ("circ",)),
    PaperReading("all pages at 34 d", replace(BASE, law="fixed", slower=34 / 75), _ALL, ("circ",)),
    PaperReading("R in clients", replace(BASE, requests_in_pages=False), ("pop", "rq"), ("pop", "rq")),
    PaperReading("Q in pages", replace(BASE, queue_in_pages=True), ("rq",), ("rq",)),
    PaperReading("ties at random", replace(BASE, random_ties=True), ("pop", "rq")),
    PaperReading("clients without sites, with freshness 0", replace(BASE, client_law=ClientLaw(empty=True)), _ALL),
)


def cases() -> Iterator[Case]:
    """What the table needs."""
    for reading in READINGS:
        for subscribers, scheduler, _ in PRINTED:
            if (case := reading.case(subscribers, scheduler)) is not None:
                yield case


def write(page: Page, simulations: Simulations) -> None:
    """Write the section on readings."""
    page.section("What the paper leaves open")
    page.text(
        """The text gives a mean change interval of 75 days, and no law. One rate for all pages is tried below (34 d).
        **Law A was fitted** to the two printed values of Circ, and so
        was B; A's mean interval is 108 d. What R and Q count is not fitted: the paper says that the server "tracks how
        many clients need each page in a particular chunk, and maintains its sum over all the pages" (R in pages times
        clients) and that "clients request and receive Web data in chunks" (Q in chunks). Freshness is that of pages.
        Sites are drawn uniformly, and a client has max(1, round(Exp(9))) of them. Among equal scores the chunk that is
        waited for longest is sent. Freshness over clients by reading, an empty cell where it changes nothing:"""
    )
    page.table(
        ("reading", *(f"{shown(scheduler)}, {subscribers}" for subscribers, scheduler, _ in PRINTED)),
        [
            ("**printed**", *(printed for _, _, printed in PRINTED)),
            *((reading.name, *_cells(simulations, reading)) for reading in READINGS),
        ],
    )


def _cells(simulations: Simulations, reading: PaperReading) -> Iterator[str]:
    for subscribers, scheduler, _ in PRINTED:
        case = reading.case(subscribers, scheduler)
        if case is not None:
            yield simulations.mean(*case, CLIENTS).text(3)
        else:
            yield "not simulated" if scheduler in reading.changes else ""

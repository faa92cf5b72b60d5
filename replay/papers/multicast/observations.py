"""What sections 5.3 and 6.2 say of change intervals, skew and RxC."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from bestbefore.replay.multicast.clients import ClientLaw
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.papers.claims import Claim, verdict, write_claims
from bestbefore.replay.papers.multicast import downloaders
from bestbefore.replay.papers.multicast.measures import CLIENTS, COMPLETE, shown
from bestbefore.replay.papers.multicast.simulations import Case, Simulations
from bestbefore.replay.report.page import Page

BASE = Parameters(subscribers=200)
CLEAR = 0.01
"""The least difference of freshness that counts."""
MANY = 0.1
ORDER = ("rq", "pop", "circ", "rxc")
CONDITIONS: Mapping[str, Parameters] = {
    "change intervals 10/75 of the base case": replace(BASE, slower=10 / 75),
    "change intervals 100/75 of the base case": replace(BASE, slower=100 / 75),
    "80 % of requests for 5 % of the sites": replace(BASE, client_law=ClientLaw(hot_requests=0.8)),
}


def cases() -> Iterator[Case]:
    """What the section needs beside the figures."""
    for parameters in (BASE, *CONDITIONS.values()):
        for name in ORDER:
            yield name, parameters


def write(page: Page, simulations: Simulations) -> None:
    """Write the section on the observations."""
    page.section("Sections 5.3 and 6.2: change intervals, skew, RxC")
    page.text(
        f"""Freshness over clients of {BASE.subscribers} subscribers. The paper: "the order of preference for the
        heuristics does not change dramatically". *Holds*: no two of them that differ by more than {CLEAR} in the base
        case and under the condition change their order."""
    )
    page.table(
        ("condition", *map(shown, ORDER)),
        [
            (condition, *(simulations.mean(name, parameters, CLIENTS).text(3) for name in ORDER))
            for condition, parameters in {"base case": BASE, **CONDITIONS}.items()
        ],
    )
    write_claims(page, [
        *(Claim("section 5.3", "the order does not change", condition, f"no pair over {CLEAR} in both cases changes it",
                verdict(*_kept(simulations, parameters)))
          for condition, parameters in CONDITIONS.items()),
        _unfinished(simulations),
    ])


def _kept(simulations: Simulations, parameters: Parameters) -> list[bool | None]:
    """For each two schedulers, whether their order is that of the base case; None if it is not clear in one of them."""
    found: list[bool | None] = []
    for first, second in combinations(ORDER, 2):
        base, here = (simulations.difference(first, second, case, CLIENTS).mean for case in (BASE, parameters))
        found.append((base > 0.0) == (here > 0.0) if min(abs(base), abs(here)) > CLEAR else None)
    return found


def _unfinished(simulations: Simulations) -> Claim:
    complete = simulations.mean("rxc", downloaders.BASE, COMPLETE).mean
    left = downloaders.BASE.downloaders - complete
    return Claim(
        "section 6.2", "under RxC many downloaders do not finish within 75 days",
        f"{left:.1f} of {downloaders.BASE.downloaders} on average", f"{MANY:.0%} of them or more",
        verdict(left >= MANY * downloaders.BASE.downloaders),
    )

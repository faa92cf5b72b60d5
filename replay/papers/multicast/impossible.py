"""Printed values that no reading of the paper can give together."""

from collections.abc import Iterator

import numpy as np

from bestbefore.policies.units import FloatArray
from bestbefore.replay.multicast.clients import ClientLaw
from bestbefore.replay.multicast.instance import Instance
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.seed_mean import SeedMean
from bestbefore.replay.papers.claims import Claim, verdict, write_claims
from bestbefore.replay.papers.multicast import downloaders
from bestbefore.replay.papers.multicast.judging import DELAY_TOLERANCE
from bestbefore.replay.papers.multicast.measures import CLIENTS, COMPLETE, WEEK_DELAY, shown
from bestbefore.replay.papers.multicast.simulations import THOUSAND, Case, Simulations
from bestbefore.replay.report.page import Page

LARGER = ((40.0, "pop", "0.85"), (40.0, "rq", "0.81"), (100.0, "pop", "0.73"), (100.0, "rq", "0.74"))
"""(sites per client, scheduler, printed freshness over 100 clients)."""
SEEDS = range(1, 21)
ALIKE = 0.05
DELAY_RQ = 1.05
"""The printed mean delay, days."""


def larger(sites_per_client: float) -> Parameters:
    """100 subscribers with larger requests."""
    return Parameters(client_law=ClientLaw(sites_per_client))


def cases() -> Iterator[Case]:
    """What the section needs."""
    for sites, name, _ in LARGER:
        yield name, larger(sites)
        yield name, THOUSAND


def least_mean_delay_days(instance: Instance, chunks_per_day: float) -> float:
    """No schedule of a channel without subscribers has a smaller mean delay of the downloaders.

    A chunk that n downloaders wait for counts 1 / n for each. Then the downloaders that are complete first, whichever
    they are, have needed at least as many slots as their counts in sum, which are least for those with the least.
    """
    counts = np.sort(_private_chunks(instance))
    return float(np.cumsum(counts).mean()) / chunks_per_day


def _private_chunks(instance: Instance) -> FloatArray:
    """(downloaders,) the chunks of each, those of several clients divided among them."""
    clients_of = np.bincount(np.concatenate(instance.downloaders), minlength=instance.repository.sites)
    chunks = np.diff(instance.repository.first_chunk)
    return np.array([float((chunks[sites] / clients_of[sites]).sum()) for sites in instance.downloaders])


def write(page: Page, simulations: Simulations) -> None:
    """Write the section on what cannot hold."""
    page.section("What cannot hold together")
    thousand = {name: simulations.mean(name, THOUSAND, CLIENTS) for name in ("pop", "rq")}
    page.text(
        f"""*Larger requests.* 100 clients of 100 sites make as many requests as 1000 clients of 10, of the same chunks
        with nearly the same popularity, and Pop looks at nothing else. The paper prints 0.73 for the one and, for 1000
        of 9 sites, 0.55. Ours at 1000 of 9: Pop {thousand["pop"].text(3)}, R/Q {thousand["rq"].text(3)}."""
    )
    page.table(
        ("100 clients", "sites per client", "printed", "ours", "difference"),
        [_larger_row(simulations, sites, name, printed) for sites, name, printed in LARGER],
    )
    complete = simulations.mean("rq", downloaders.BASE, COMPLETE).mean
    week = simulations.mean("rq", downloaders.BASE, WEEK_DELAY)
    least = SeedMean.of([_least(seed, ClientLaw()) for seed in SEEDS])
    least_empty = SeedMean.of([_least(seed, ClientLaw(empty=True)) for seed in SEEDS])
    page.text(
        f"""*The delay under R/Q*, 1.05 days for 100 downloaders beside 100 subscribers. Even without subscribers no
        order of sending can give all 100 a mean delay under {least.text(2)} days (under {least_empty.text(2)} where
        clients without sites count with a delay of 0): the downloaders that are complete first need the chunks that
        they asked for. {len(SEEDS)} instances, `replay/papers/multicast/impossible.py`. Under R/Q
        {downloaders.BASE.downloaders - complete:.1f} of {downloaders.BASE.downloaders} downloaders are not complete
        even after 75 days, and a mean over the others has no such bound; so a printed mean says little without the
        number it was taken over. A week is the time at which freshness is measured."""
    )
    pop = simulations.mean("pop", larger(100.0), CLIENTS).mean
    write_claims(page, [
        Claim("section 5.3", "freshness under Pop of 100 clients of 100 sites is 0.73, of 1000 of 9 sites 0.55",
              f"{pop:.3f} and {thousand['pop'].mean:.3f}", f"differences within {ALIKE:g} of each other",
              verdict(abs((0.73 - 0.55) - (pop - thousand["pop"].mean)) <= ALIKE)),
        Claim("figure 8", f"the mean delay of all under R/Q is {DELAY_RQ:g} days", f"{least.text(2)} days or more",
              "not less than that", verdict(least.mean - least.half_width <= DELAY_RQ)),
        Claim("figure 8", f"the same, for those complete within a week: {DELAY_RQ:g} days", f"{week.text(2)} days",
              f"within {DELAY_TOLERANCE:.0%} and our interval",
              verdict(abs(week.mean - DELAY_RQ) <= DELAY_TOLERANCE * DELAY_RQ + week.half_width)),
    ])


def _least(seed: int, law: ClientLaw) -> float:
    parameters = Parameters(subscribers=0, downloaders=100, client_law=law)
    return least_mean_delay_days(Instance.draw(parameters, seed), parameters.chunks_per_day)


def _larger_row(simulations: Simulations, sites: float, name: str, printed: str) -> tuple[str, ...]:
    ours = simulations.mean(name, larger(sites), CLIENTS)
    return shown(name), f"{sites:g}", printed, ours.text(3), f"{ours.mean - float(printed):+.3f}"

"""The worked examples of sections 4.2 and 4.3, with the functions of the live policies."""

from bestbefore.policies.models.intensity import HOURLY_S, mass
from bestbefore.policies.units import HOUR_S
from bestbefore.replay.papers.adaptive.sections.segments import PRINTED
from bestbefore.replay.papers.claims import Claim, verdict
from bestbefore.replay.report.page import Page


def aggregate_example() -> float:
    """Section 4.2: the updates expected from 1:00 to 8:00 of an object with 1 % of the updates of Table 1."""
    edges_s = [0.0, *(until * HOUR_S for _, until, _ in PRINTED)]
    return mass(edges_s, [0.01 * rate for _, _, rate in PRINTED], 1 * HOUR_S, 8 * HOUR_S)


def individual_example() -> float:
    """Section 4.3: the updates expected from 11:30 to 14:00 of the object of section 3.3.2."""
    updates_in_eight_days = {10: 4, 11: 1, 12: 1, 13: 3, 14: 2}
    rates = [updates_in_eight_days.get(hour, 0) / 8 for hour in range(24)]
    return mass(HOURLY_S, rates, 11.5 * HOUR_S, 14 * HOUR_S)


def write(page: Page) -> Claim:
    """Write the section of the examples, and return whether their results agree."""
    aggregate, individual = aggregate_example(), individual_example()
    page.section("The worked examples of sections 4.2 and 4.3")
    page.text(
        """The mass of the printed intensities, calculated by `policies/models/intensity.py`, which the live proxy uses
        too. The paper rounds the first value. (In eight days, section 3.3.2 counts each hour of the day as eight hours
        of observation, as we do.)"""
    )
    page.table(
        ("example", "printed", "ours"),
        (
            ("4.2: AggHist, 1:00 to 8:00, f_o = 0.01", "1.95", f"{aggregate:.4f}"),
            ("4.3: IndHist, 11:30 to 14:00", "0.5625", f"{individual:.4f}"),
        ),
    )
    return Claim(
        "Sections 4.2, 4.3",
        "1.95 updates are expected in one example, 0.5625 in the other",
        f"{aggregate:.4f} and {individual:.4f}",
        "equal where printed",
        verdict(round(aggregate, 2) == 1.95, individual == 0.5625),
    )

"""Figure 10: the distances of crawls from their ideal times when all slots of crawlers are used."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time

import numpy as np
from numpy.typing import NDArray

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.prefetch.slots.assignment import Slots, assign
from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.papers.agreement import Agreement, bound
from bestbefore.replay.report.page import Page

CRAWLERS = 10
SLOTS_EACH = 1_000_000
FEWER_SLOTS = 100_000
RELEASED = 0.2
"""The share of the crawls, quasi-deterministic ones, that may not come before their time."""
SEED = 2002
WINDOW = 20
"""The slots within which the paper finds virtually all crawls."""
VIRTUALLY_ALL = 0.99
WITHIN = (1, 2, 5, 10, 20, 50, 100, 200)
DAYS = (1, 2, 4, 8, 16)
DAYS_DRAWN = (1, 4, 16)
MOST_PER_DAY = 4
FREE = (0.001, 0.01, 0.05)
FREE_DRAWN = 0.01
LAST_RELEASE = 5
"""Slots before the end of the day; what would be released later is released then, lest it find no slot."""
NEAR = 30
"""Slots to both sides that the figure shows."""
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Deviations:
    """The deviations of crawls from their ideal times, in slots; negative: before the ideal time."""

    slots: FloatArray
    released: NDArray[np.bool_]
    seconds: float
    """The processor time of the assignment."""

    def within(self, slots: int) -> float:
        """The share of the crawls at most `slots` away."""
        return float(np.mean(np.abs(self.slots) <= slots + ROUNDING))

    def row(self, name: str) -> tuple[str, ...]:
        """Return a row of the page."""
        late = float(np.mean(self.slots[self.released] <= WINDOW + ROUNDING))
        early = int(np.sum(self.slots[self.released] < -ROUNDING))
        shares = (f"{100 * self.within(slots):.1f}" for slots in WITHIN)
        return name, f"{len(self.slots):,}", *shares, f"{100 * late:.1f}", str(early), f"{self.seconds:.1f}"

    def judged(self, name: str) -> list[Agreement]:
        """Judge the findings of the paper."""
        early = int(np.sum(self.slots[self.released] < -ROUNDING))
        return [
            bound("Figure 10", f"{name}: virtually all crawls within {WINDOW} slots, share", self.within(WINDOW),
                  least=VIRTUALLY_ALL),
            bound("Figure 10", f"{name}: none before its release time", early, most=0.0, digits=0),
            bound("Figure 10", f"{name}: assigned in two minutes, processor s", self.seconds, most=120.0, digits=1),
        ]

    def curve(self, name: str) -> Line:
        """The share of the crawls within 1 to 1000 slots."""
        within = np.geomspace(1.0, 1000.0, 61)
        ascending = np.sort(np.abs(self.slots))
        shares = np.searchsorted(ascending, within + ROUNDING) / len(ascending)
        return Line(name, list(zip(within.tolist(), shares.tolist(), strict=True)))

    def histogram(self) -> list[Line]:
        """Return for both kinds of crawls the share of each slot around the ideal time."""
        edges = np.arange(-NEAR - 0.5, NEAR + 1.5)
        lines = []
        for kind, some in (("without a release time", ~self.released), ("with a release time", self.released)):
            shares = np.histogram(self.slots[some], edges)[0] / max(int(some.sum()), 1)
            points = zip((edges[:-1] + 0.5).tolist(), shares.tolist(), strict=True)
            lines.append(Line(kind, list(points), marked=True))
        return lines


HEADS = (
    "ideal times", "crawls", *(f"within {slots}" for slots in WITHIN), f"released, within {WINDOW}",
    "released too early", "processor s",
)


def deviations(ideal_s: FloatArray, released: NDArray[np.bool_], slots_each: int) -> Deviations:
    """Return the deviations of the least-cost assignment to ten crawlers in a day."""
    began = process_time()
    assigned = assign(Slots.of(DAY_S, [slots_each] * CRAWLERS), ideal_s, released)
    seconds = process_time() - began
    return Deviations((assigned.start_s - ideal_s) * (slots_each / DAY_S), released, seconds)


def independent(crawls: int, slots_each: int, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Sample ideal times uniformly in the day."""
    return _some_released(rng.uniform(0.0, DAY_S, crawls), slots_each, rng)


def even(crawls: int, slots_each: int, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Sample one ideal time in each of as many equal parts of the day as there are crawls."""
    return _some_released((np.arange(crawls) + rng.random(crawls)) * (DAY_S / crawls), slots_each, rng)


def carried_on(slots_each: int, days: int, rng: np.random.Generator) -> Iterator[Deviations]:
    """Yield the deviations of consecutive days with evenly spaced ideal times after the last crawl (section 3).

    Pages have 1 to 4 crawls a day, the first of them at a random time. A fifth of the pages has independent release
    times instead, the same every day.
    """
    crawls = CRAWLERS * slots_each
    per_day = rng.integers(1, MOST_PER_DAY + 1, crawls)
    per_day = per_day[:int(np.searchsorted(np.cumsum(per_day), crawls)) + 1]
    per_day[-1] -= per_day.sum() - crawls
    page = np.repeat(np.arange(len(per_day)), per_day)
    last = np.cumsum(per_day) - 1
    spacing_s = DAY_S / per_day
    after_s = (np.arange(crawls) - (last - per_day + 1)[page]) * spacing_s[page]
    released = (rng.random(len(per_day)) < RELEASED)[page]
    release_s = _in_time(rng.uniform(0.0, DAY_S, crawls), slots_each)
    anchor_s = rng.uniform(0.0, DAY_S, len(per_day))
    for _ in range(days):
        ideal_s = np.where(released, release_s, np.mod(anchor_s, spacing_s)[page] + after_s)
        found = deviations(ideal_s, released, slots_each)
        yield found
        anchor_s = (ideal_s + found.slots * (DAY_S / slots_each))[last]


def _some_released(
    ideal_s: FloatArray, slots_each: int, rng: np.random.Generator
) -> tuple[FloatArray, NDArray[np.bool_]]:
    released = rng.random(len(ideal_s)) < RELEASED
    return np.where(released, _in_time(ideal_s, slots_each), ideal_s), released


def _in_time(release_s: FloatArray, slots_each: int) -> FloatArray:
    return np.minimum(release_s, DAY_S * (1.0 - LAST_RELEASE / slots_each))


def write(page: Page) -> list[Agreement]:
    """Write the section on slots."""
    page.section("Figure 10: transportation problem example")
    page.text(
        f"""One day, {CRAWLERS} equal crawlers with {SLOTS_EACH:,} slots each (86.4 ms), as many crawls as slots,
        {100 * RELEASED:.0f} % of them with release times, by `policies/prefetch/slots`. The paper: about two minutes
        with a network flow library; "virtually all crawls occur within a window of plus or minus 20 time slots", those
        with release times not before them. It does not say how ideal times were drawn, which determines the result:
        with every slot taken, a crawl is late or early by the number of crawls due before it that are too many or too
        few. Shares of the crawls in per cent:"""
    )
    rng = np.random.default_rng(SEED)
    curves = []
    rows = []
    agreements: list[Agreement] = []
    for name, draw in (("even", even), ("independent", independent)):
        found = deviations(*draw(CRAWLERS * SLOTS_EACH, SLOTS_EACH, rng), SLOTS_EACH)
        rows.append(found.row(name))
        agreements += found.judged(f"{name} ideal times")
        curves.append(found.curve(f"{name}, {len(found.slots):,} crawls"))
    page.table(HEADS, rows)
    page.text(
        """*Even*: the day in as many equal parts as crawls, an ideal time anywhere in each. With *independent* ideal
        times the surplus of crawls is a random walk over ten million; no assignment has a smaller sum of distances. Two
        variants have less of it (here with a tenth of the slots):"""
    )
    page.items(
        """free slots: *n % free* has so many fewer crawls than slots;""",
        f"""the rule of section 3, by which a page's ideal times follow from its last crawl in the interval before. *Day
        n* is the n-th day of a plan that is continued in this way (pages with 1 to {MOST_PER_DAY} crawls a day, at
        first at random; those with release times the same every day).""",
    )
    rows = []
    for free in FREE:
        crawls = round((1.0 - free) * CRAWLERS * FEWER_SLOTS)
        found = deviations(*independent(crawls, FEWER_SLOTS, rng), FEWER_SLOTS)
        rows.append(found.row(f"independent, {100 * free:g} % free"))
        if free == FREE_DRAWN:
            curves.append(found.curve(f"independent, {100 * free:g} % free, {crawls:,} crawls"))
    for day, found in enumerate(carried_on(FEWER_SLOTS, DAYS[-1], rng), start=1):
        if day in DAYS:
            rows.append(found.row(f"day {day}"))
        if day in DAYS_DRAWN:
            curves.append(found.curve(f"day {day}, {len(found.slots):,} crawls"))
    page.table(HEADS, rows)
    drawing = drawn(curves, Scale("slots", logarithmic=True), Scale("share of the crawls no further from ideal"))
    page.figure("10_within", "Figure 10, summed up: crawls within so many slots of their ideal times", drawing)
    drawing = drawn(found.histogram(), Scale("slots after the ideal time"), Scale("share of the crawls of the kind"))
    page.figure("10", f"Figure 10: how far crawls are from their ideal times on day {DAYS[-1]}", drawing)
    return [*agreements, *found.judged(f"day {DAYS[-1]} of a continued plan")]

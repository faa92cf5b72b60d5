"""Table 1: the segments of the day of the updates of all cyclic objects in the days of training."""

from itertools import pairwise

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import DAY_S, HOUR_S, FloatArray
from bestbefore.policies.models.intensity import HOURLY_S, exposure_h
from bestbefore.policies.models.segmentation import merged
from bestbefore.replay.papers.adaptive.paired import ORIGIN_S, Paired
from bestbefore.replay.papers.page import Page

PRINTED = (
    ("0-7", 23.81),
    ("7-10", 52.07),
    ("10-14, 22-23", 83.40),
    ("14-15", 98.53),
    ("15-17", 65.23),
    ("17-19", 84.27),
    ("19-22, 23-24", 35.40),
)
PRINTED_UPDATES = 10074
PRINTED_MEAN_PER_HOUR = PRINTED_UPDATES / (8 * 24)
BULK_S = 30.0
PENALTIES = (0.5, 1.0, 2.0, 4.0)


def segments_of(times_s: FloatArray, days: float, penalty: float) -> list[tuple[float, float, float]]:
    """The first and the last hour of each segment, and its updates per hour, in the days since the origin.

    For two updates or more.
    """
    end_s = ORIGIN_S + days * DAY_S
    group = Group.of_updates(times_s, [ORIGIN_S])
    found = group.optimal_pattern(ORIGIN_S - 1.0, end_s, 0.0, penalty)
    if found is None:
        return []
    edges_s = found[0]
    bins = [HOURLY_S.index(edge_s) for edge_s in edges_s]
    counts = merged(group.counts(ORIGIN_S - 1.0, end_s), bins)
    hours = merged(exposure_h(HOURLY_S, ORIGIN_S, end_s), bins)
    return [
        (begin_s / HOUR_S, last_s / HOUR_S, n / h)
        for (begin_s, last_s), n, h in zip(pairwise(edges_s), counts, hours, strict=True)
    ]


def bulk_events(times_s: FloatArray) -> int:
    """The events that remain where updates within 30 s of the one before, of whichever object, are one with it."""
    times = sorted(times_s.tolist())
    return len(times) and 1 + sum(later - earlier > BULK_S for earlier, later in pairwise(times))


def write(page: Page, cyclic: Paired) -> None:
    """The section of the table."""
    training = cyclic.first_days(8).updates
    page.section("Table 1: the aggregate history")
    page.text(
        f"""The paper analyses {PRINTED_UPDATES:,} updates of 4,405 cyclic objects in eight days and gives seven
        segments of the day, of nine intervals, without saying how they were found. Ours are {len(training):,} updates
        of {len(cyclic.updates.times_by_object())} cyclic objects in eight days ({bulk_events(training.times_s):,}
        events, if updates within {BULK_S:.0f} s of each other are one, as the paper also counts). The segments are
        optimal: of all ways to join hours of the day, that with the largest Poisson log-likelihood less ln N for each
        segment (`policies/models/segmentation.py`). Ours do not reach over midnight, and two segments apart are never
        one, as 10-14 and 22-23 are in the paper. The rates are of different sites: what can be compared is their
        shape."""
    )
    mean = len(training) / (8 * 24)
    ours = [(f"{a:g}-{b:g}", rate) for a, b, rate in segments_of(training.times_s, 8, 1.0)]
    rows = []
    for i in range(max(len(PRINTED), len(ours))):
        printed = _cells(PRINTED[i], PRINTED_MEAN_PER_HOUR) if i < len(PRINTED) else ("", "", "")
        rows.append((*printed, *(_cells(ours[i], mean) if i < len(ours) else ("", "", ""))))
    heads = ("hours, printed", "updates per hour", "over the mean", "hours, ours (UTC)", "updates per hour")
    page.table((*heads, "over the mean"), rows)
    numbers = ", ".join(f"{len(segments_of(training.times_s, 8, p))} with {p:g} ln N" for p in PENALTIES)
    page.text(
        f"""The number of segments depends on the penalty: {numbers}. The day of the paper's site is that of its
        visitors and matches in France; that of our objects is a mixture of many clocks. What the segments are worth to
        AggHist is in Figure 7."""
    )


def _cells(segment: tuple[str, float], mean: float) -> tuple[str, str, str]:
    hours, rate = segment
    return hours, f"{rate:.2f}", f"{rate / mean if mean else 0.0:.2f}"

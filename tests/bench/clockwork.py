"""What contacts just after the beats of objects bring: `python tests/bench/clockwork.py TRACES [--record]`.

TRACES is the folder of the recorded traces. With --record the table also becomes docs/results/clockwork.md.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from results_page import write_page

from bestbefore.policies.models.clockwork.detection import MOST_UPDATES, find_clockwork
from bestbefore.policies.models.patterns import hourly_counts, profiles
from bestbefore.policies.prefetch.online.estimate import ScheduleEstimate
from bestbefore.policies.prefetch.online.schedule import Schedule
from bestbefore.policies.prefetch.online.week import bytes_of
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray
from bestbefore.replay.traces.columns.files import read_updates

PAGE = Path(__file__).parents[2] / "docs" / "results" / "clockwork.md"
SOURCES = {
    "updates_scraped": ("cdc", "cft", "dotgov", "ipr", "aws", "weibo", "fema-shelters", "moz", "aws-policy"),
    "postings_releases": ("scoop-extras", "opam"),
    "updates_pages": ("tldr",),
}
TESTED_S = 28 * DAY_S
LEAST_UPDATES = 20
MOST_OBJECTS = 150
CONTACTS_A_DAY = (1.0, 4.0)
STRENGTH = 24.0
STARTED_EARLIER_S = 6 * HOUR_S
"""So that a run does not begin within a beat."""
ONLY = None

EXPLANATION = """\
Objects of the recorded traces with 20 updates or more, at most 150 of a source, in the last four weeks of the source
that have an update each day on average. The schedule without a plan contacts them, at a budget of 1 or 4 contacts an
object and day: once by rates and hours alone, once with the beats of those objects that change like clockwork
([rates](../rates.md#clockwork)). Both know of the history only what contacts have shown, and estimate the rate from the
latest updates; the beats are looked for again whenever a contact has shown an update. *beats* is the number of objects
with clockwork at the end. *delay* is the mean time from an update to the next contact, in minutes, with objective
`delay`; *stale* the mean share of time in which copies are outdated, in percent, with objective `freshness`. Of sources
whose updates bear the times of scrapes or of commits, these times are what the schedule sees."""


class Result(NamedTuple):
    """The result of one run."""

    delay_min: float
    stale_percent: float
    contacts: int
    beats: int


def estimate(known_s: FloatArray, now_s: float, *, with_beats: bool) -> ScheduleEstimate:
    """What is believed of an object after a contact."""
    recent = known_s[-20:]
    rate = (recent.size + 0.5) / max((now_s - recent[0]) / HOUR_S + 24.0, 1.0) if recent.size else 1 / 24
    hours = bytes_of(profiles(hourly_counts(known_s[-200:])[None], strength=STRENGTH)[0])
    found = find_clockwork(known_s[-4 * MOST_UPDATES :]) if with_beats else None
    return ScheduleEstimate(rate, now_s, hours=hours.tobytes(), clockwork=found)


def run(histories: list[FloatArray], objective: str, a_day: float, *, with_beats: bool) -> Result:
    """Contact the objects in the last weeks."""
    end_s = max(float(times_s[-1]) for times_s in histories)
    start_s = end_s - TESTED_S - STARTED_EARLIER_S
    schedule = Schedule(objective, a_day * len(histories) / 24.0, start_s)
    seen = [int(np.searchsorted(times_s, start_s)) for times_s in histories]
    estimates = [
        estimate(times_s[:n], start_s, with_beats=with_beats) for times_s, n in zip(histories, seen, strict=True)
    ]
    for slot, believed in enumerate(estimates):
        schedule.put(slot, believed)
    delays_s: list[float] = []
    contacts, stale_s, last_s = 0, 0.0, [start_s] * len(histories)

    def contact(slot: int, now_s: float) -> bool:
        nonlocal stale_s
        n = int(np.searchsorted(histories[slot], now_s, side="right"))
        new_s = histories[slot][seen[slot] : n]
        delays_s.extend((now_s - new_s).tolist())
        stale_s += now_s - new_s[0] if new_s.size else 0.0
        seen[slot], last_s[slot] = n, now_s
        return bool(new_s.size)

    now_s = start_s
    while now_s < end_s:
        slot = schedule.take(now_s)
        if slot is None:
            next_s = schedule.next_s()
            now_s = max(min(next_s if next_s is not None else end_s, now_s + HOUR_S), now_s + 1.0)
            continue
        contacts += 1
        if contact(slot, now_s):
            estimates[slot] = estimate(histories[slot][: seen[slot]], now_s, with_beats=with_beats)
        else:
            believed = estimates[slot]
            rate = estimate(histories[slot][: seen[slot]], now_s, with_beats=False).rate_per_hour
            estimates[slot] = ScheduleEstimate(rate, now_s, hours=believed.hours, clockwork=believed.clockwork)
        schedule.put(slot, estimates[slot])
    for slot in range(len(histories)):
        contact(slot, end_s)
    beats = sum(believed.clockwork is not None for believed in estimates)
    stale = 100.0 * stale_s / (TESTED_S * len(histories))
    return Result(float(np.mean(delays_s)) / 60.0, stale, contacts, beats)


def histories_of(traces: Path, file: str, source: str) -> list[FloatArray]:
    """The updates of the objects of a source, up to the last day that ends four weeks with an update a day."""
    updates = read_updates(traces / f"{file}.csv.gz", lambda _: None)
    found = []
    for number, name in enumerate(updates.objects):
        if name.startswith(f"{source}/"):
            found.append(updates.times_s[updates.object_ids == number])
    every = np.sort(np.concatenate(found))
    ends_s = every[np.searchsorted(every, every - TESTED_S) <= np.arange(every.size) - round(TESTED_S / DAY_S)]
    end_s = float(ends_s[-1])
    cut = [times_s[times_s <= end_s] for times_s in found]
    alive = [times_s for times_s in cut if times_s.size >= LEAST_UPDATES and times_s[-1] > end_s - 2 * TESTED_S]
    return alive[:MOST_OBJECTS]


def main() -> None:
    traces = Path(sys.argv[1])
    lines = [f"{'source':>14} {'objects':>7} {'beats':>5} {'a day':>5} "
             f"{'delay':>7} {'with beats':>10} {'ratio':>5}  {'stale':>6} {'with beats':>10} {'ratio':>5}"]  # fmt: skip
    for file, sources in SOURCES.items():
        for source in (name for name in sources if ONLY is None or name in ONLY):
            histories = histories_of(traces, file, source)
            if not histories:
                continue
            for a_day in CONTACTS_A_DAY:
                late, later = (run(histories, "delay", a_day, with_beats=with_beats) for with_beats in (False, True))
                old, older = (run(histories, "freshness", a_day, with_beats=with_beats) for with_beats in (False, True))
                lines.append(
                    f"{source:>14} {len(histories):7} {later.beats:5} {a_day:5.0f} {late.delay_min:7.1f} "
                    f"{later.delay_min:10.1f} {later.delay_min / late.delay_min:5.2f}  {old.stale_percent:6.2f} "
                    f"{older.stale_percent:10.2f} {older.stale_percent / max(old.stale_percent, 1e-9):5.2f}"
                )
                print(lines[-1], flush=True)
    if "--record" in sys.argv:
        write_page(PAGE, "Contacts just after beats", EXPLANATION, "\n".join(lines))


if __name__ == "__main__":
    main()

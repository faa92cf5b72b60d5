"""Random events of a channel, for a scheduler and its plain definition."""

from hypothesis import strategies as st
from plain_schedulers import Plain

from bestbefore.policies.dissemination.scheduler import Scheduler

PAGES = [1, 3, 2, 1, 4, 1]
ITEMS = st.sets(st.integers(0, len(PAGES) - 1), min_size=1).map(sorted)
EVENTS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["change"] * 4 + ["send"] * 3 + ["subscribe", "hold", "download",
    "leave", "other"]), ITEMS, st.integers(0, 5)), min_size=1, max_size=30,
)


def same_choices(name: str, scheduler: Scheduler, plain: Plain, events: list[tuple[int, str, list[int], int]]) -> None:
    """Both choose the same after each event, and know the same of each item and downloader."""
    now = 0.0
    for number, (later, kind, items, choice) in enumerate(events):
        now += later
        item, others = items[0], sorted(plain.clients)
        if kind == "change":
            page = choice % PAGES[item]
            scheduler.changed(item, now, page)
            plain.changed(item, now, page)
        elif kind in ("send", "other"):
            chosen = scheduler.choose(now) if kind == "send" else item
            if chosen is not None:
                assert sorted(scheduler.sent(chosen, now)) == plain.sent(chosen)
        elif kind == "leave":
            if others:
                scheduler.leave(others[choice % len(others)])
                plain.leave(others[choice % len(others)])
        elif kind == "download":
            scheduler.download(number, items, now)
            plain.download(number, items, now)
        else:
            held = items[choice:] if kind == "hold" else []
            scheduler.subscribe(number, items, now, held=held)
            plain.subscribe(number, items, now, held)
        audience = scheduler.audience
        assert audience.requests == [plain.requests(item) for item in range(len(PAGES))]
        assert set(audience._askers) == set(plain.clients)
        assert scheduler.choose(now) == scheduler.choose(now) == plain.choose(name, now)

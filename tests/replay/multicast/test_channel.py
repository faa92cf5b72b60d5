"""Every scheduler on small instances, against a second reading of the paper that keeps versions of each page."""

from collections.abc import Callable, Iterator

import pytest

from bestbefore.policies.units import DAY_S
from bestbefore.replay.multicast.channel import Channel
from bestbefore.replay.multicast.instance import Instance
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.schedulers import NAMES, made

SLOT_S = DAY_S / 6
DAYS = 12


class Recorded:
    """A scheduler that keeps what it chose."""

    def __init__(self, scheduler) -> None:
        self._scheduler = scheduler
        self.chosen: list[tuple[float, int | None]] = []

    def __getattr__(self, name: str):
        return getattr(self._scheduler, name)

    def choose(self, time_s: float) -> int | None:
        chunk = self._scheduler.choose(time_s)
        self.chosen.append((time_s, chunk))
        return chunk


def moments(instance: Instance, chosen: list[tuple[float, int | None]]) -> Iterator[tuple[float, str, int]]:
    """All events in order: changes of pages, then, at the same time, the chunk sent."""
    changes = [
        (float(time_s), 0, int(page))
        for times_s, pages in instance.changes.by_day(DAYS)
        for time_s, page in zip(times_s, pages, strict=True)
    ]
    sent = [(time_s, 1, chunk) for time_s, chunk in chosen if chunk is not None]
    for time_s, kind, what in sorted(changes + sent):
        yield time_s, ("changed", "sent")[kind], what


def by_versions(instance: Instance, chosen: list[tuple[float, int | None]]) -> tuple[list[float], list[float]]:
    """The freshness over clients of each day, and the delays, from the versions that each client has (section 2)."""
    chunks = [instance.repository.chunks_of(sites) for sites in instance.subscribers]
    web = dict.fromkeys(range(15 * instance.repository.chunks), 1)
    clients = [{15 * chunk + place: 1 for chunk in own for place in range(15)} for own in chunks]
    waiting = [set(instance.repository.chunks_of(sites)) for sites in instance.downloaders]
    freshness, delays, now = [0.0] * DAYS, [], 0.0
    ends = [(day * DAY_S, "day", day) for day in range(1, DAYS + 1)]
    for time_s, kind, what in sorted([*moments(instance, chosen), *ends], key=lambda event: event[0]):
        fresh = sum(sum(web[page] == copy for page, copy in own.items()) / len(own) for own in clients) / len(clients)
        if now < time_s:
            freshness[int(now // DAY_S)] += fresh * (time_s - now) / DAY_S
        now = time_s
        if kind == "changed":
            web[what] += 1
        elif kind == "sent":
            for own in clients:
                own.update({page: web[page] for page in range(15 * what, 15 * what + 15) if page in own})
            for left in waiting:
                if what in left:
                    left.remove(what)
                    delays += [] if left else [time_s]
    return freshness, delays


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_channel_gives_the_freshness_and_delays_of_the_versions_that_clients_have(
    small: Callable[..., Instance], name: str, seed: int
) -> None:
    instance = small(seed)
    scheduler = Recorded(made(name, instance, Parameters()))
    served = Channel(instance, scheduler, SLOT_S).run(DAYS)
    freshness, delays_s = by_versions(instance, scheduler.chosen)
    assert [day.freshness_over_clients for day in served.by_day] == pytest.approx(freshness)
    assert served.delays_s == delays_s
    assert served.chunks_sent == sum(chunk is not None for _, chunk in scheduler.chosen)
    assert [time_s for time_s, _ in scheduler.chosen] == pytest.approx([SLOT_S * n for n in range(1, 6 * DAYS + 1)])


def test_a_wide_channel_keeps_all_copies_nearly_current(small: Callable[..., Instance]) -> None:
    instance = small()
    served = Channel(instance, made("circ", instance, Parameters()), 60.0).run(3)
    assert min(day.freshness_over_clients for day in served.by_day) > 0.999
    assert len(served.delays_s) == 3


def test_a_slot_of_more_than_a_day_leaves_days_without_a_chunk(small: Callable[..., Instance]) -> None:
    instance = small()
    served = Channel(instance, made("pop", instance, Parameters()), 2.5 * DAY_S).run(6)
    assert (len(served.by_day), served.chunks_sent) == (6, 2)


def test_a_downloader_without_sites_has_no_delay(small: Callable[..., Instance], small_repository) -> None:
    drawn = small(downloaders=0)
    instance = Instance(1, small_repository, drawn.subscribers, [drawn.subscribers[0][:0]], drawn.changes)
    assert Channel(instance, made("rq", instance, Parameters()), SLOT_S).run(1).delays_s == [0.0]

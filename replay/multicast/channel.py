"""The channel: one chunk in each slot, chosen by a scheduler, until the end of the simulated days."""

from dataclasses import dataclass, field

from bestbefore.policies.dissemination.metrics import Condition, SubscriberCopies
from bestbefore.policies.dissemination.scheduler import Scheduler
from bestbefore.policies.units import DAY_S
from bestbefore.replay.multicast.instance import Instance
from bestbefore.replay.multicast.repository import PAGES_PER_CHUNK


@dataclass(slots=True)
class Served:
    """What a channel achieved."""

    by_day: list[Condition] = field(default_factory=list)
    """The averages of each day."""
    delays_s: list[float] = field(default_factory=list)
    """How long each downloader that has everything waited for it."""
    chunks_sent: int = 0


class Channel:
    """A channel on which a chunk arrives, as it is then, at the end of each slot.

    Time is discrete as in the paper: the changes of a slot come first, then the choice, and the chunk that is chosen is
    current at its end.
    """

    def __init__(self, instance: Instance, scheduler: Scheduler, slot_s: float) -> None:
        """The scheduler has an `Audience` without clients; the clients are added here."""
        self._instance = instance
        self._scheduler = scheduler
        self._slot_s = slot_s
        chunks_of = instance.repository.chunks_of
        self._copies = SubscriberCopies(scheduler.audience.pages, [chunks_of(sites) for sites in instance.subscribers])
        self._served = Served()
        for client, sites in enumerate(instance.subscribers):
            if len(sites):
                chunks = chunks_of(sites)
                scheduler.subscribe(client, chunks, 0.0, held=chunks)
        for client, sites in enumerate(instance.downloaders, start=len(instance.subscribers)):
            if len(sites):
                scheduler.download(client, chunks_of(sites), 0.0)
            else:
                self._served.delays_s.append(0.0)

    def run(self, days: int) -> Served:
        """Simulate some days from the start."""
        stale, report = self._scheduler.audience.stale, self._scheduler.changed
        slot, send_s = 1, self._slot_s
        for day, (times_s, pages) in enumerate(self._instance.changes.by_day(days), start=1):
            chunks, places = (column.tolist() for column in divmod(pages, PAGES_PER_CHUNK))
            for time_s, chunk, page in zip(times_s.tolist(), chunks, places, strict=True):
                while send_s < time_s:
                    self._send(send_s)
                    slot += 1
                    send_s = slot * self._slot_s
                if not stale[chunk] >> page & 1:
                    self._copies.page_became_stale(chunk, time_s)
                report(chunk, time_s, page)
            while send_s <= day * DAY_S:
                self._send(send_s)
                slot += 1
                send_s = slot * self._slot_s
            self._served.by_day.append(self._copies.span_ended(day * DAY_S))
        return self._served

    def _send(self, time_s: float) -> None:
        chunk = self._scheduler.choose(time_s)
        if chunk is None:
            return
        self._copies.sent(chunk, time_s)
        complete = self._scheduler.sent(chunk, time_s)
        self._served.delays_s += [time_s] * len(complete)
        self._served.chunks_sent += 1

"""Numbers, signs and appends the messages of one publisher, and trims the stream."""

from collections.abc import Mapping

from bestbefore.addon.admin.hub_metrics import HubMetrics
from bestbefore.addon.clock import Clock
from bestbefore.addon.hub.rate_limit import RateLimit
from bestbefore.addon.hub.retained import Retained
from bestbefore.addon.hub.wire import message as messages
from bestbefore.addon.hub.wire.channel import SiteChannel, StreamEntry
from bestbefore.addon.hub.wire.message import Content, Message
from bestbefore.addon.hub.wire.signature import sign


class LostLeaseError(Exception):
    """Another process publishes on the channel."""


class Sender:
    """The messages of one epoch."""

    def __init__(
        self, channel: SiteChannel, publisher: str, holder: str, key: bytes, clock: Clock, metrics: HubMetrics,
        *, bytes_per_s: int, retain_bytes: int,
    ) -> None:  # fmt: skip
        """`publisher`: the name of the hub. `holder`: of this process, which has the lease to publish."""
        self._channel = channel
        self._publisher = publisher
        self._holder = holder
        self._key = key
        self._clock = clock
        self._metrics = metrics
        self._limit = RateLimit(bytes_per_s)
        self._retained = Retained(retain_bytes)
        self._epoch = 0
        self._last = (0, 0)

    async def begin(self) -> None:
        """Begin an epoch, and find out what the stream holds. Raises the errors of the store."""
        self._epoch, self._last = await self._channel.begin()
        after = "-"
        while entries := await self._channel.entries(after):
            for entry in entries:
                self._retained.add(entry.id, entry.size_bytes)
            after = entries[-1].id

    def passed_s(self) -> float:
        """Return policy time that never jumps, in seconds."""
        return self._clock.monotonic() / self._clock.to_real_s(1.0)

    def wait_s(self) -> float:
        """Return how long the next object must wait for the bandwidth, in policy time."""
        return self._limit.wait_s(self.passed_s())

    async def send(self, content: Content, kind: str, sent: Mapping[str, bytes] | None = None, first: str = "") -> str:
        """Send a message; return its entry. `sent`, `first`: see `SiteChannel.publish`; `kind`: a label of metrics.

        Raises LostLeaseError and the errors of the store.
        """
        number = (self._epoch, self._last[1] + 1 if self._last[0] == self._epoch else 1)
        message = messages.encode(
            Message(self._publisher, self._channel.site, *number, self._last, self._clock.now(), content)
        )
        signature = sign(self._key, message)
        entry = await self._channel.publish(self._holder, message, signature, number, sent or {}, first)
        if entry is None:
            raise LostLeaseError
        self._last = number
        size_bytes = StreamEntry(entry, message, signature).size_bytes
        self._limit.sent(size_bytes, self.passed_s())
        self._metrics.sent_bytes.inc(size_bytes)
        self._metrics.sent.labels(kind).inc()
        keep = self._retained.add(entry, size_bytes)
        if keep is not None:
            await self._channel.trim(keep)
        return entry

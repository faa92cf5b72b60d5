"""The recording of exchanges: metrics, summaries, the request log and the traffic log."""

import asyncio
from collections.abc import Callable, Sequence

from mitmproxy.connection import Client

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.log.output import Output
from bestbefore.addon.admin.log.rotation import LogRotation
from bestbefore.addon.admin.metrics import Metrics
from bestbefore.addon.admin.summary import Summary
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.proxy.access.access import peer_of
from bestbefore.addon.proxy.mitm.forwarded import ForwardedRequest
from bestbefore.addon.proxy.start_error import StartError
from bestbefore.addon.rfc9111.message import Fields
from bestbefore.addon.store_status import StoreStatus
from bestbefore.policies.units import HOUR_S

SUMMARY_EVERY_S = HOUR_S
"""In real seconds."""
GATHER_S = 0.02
"""How long a hit may wait to be recorded with others, real seconds."""
GATHERED = 64
"""How many exchanges are recorded together at the most: more at once would delay an answer."""


class Recording:
    """Counts and logs each exchange once it is over."""

    def __init__(
        self,
        clock: Clock,
        store_status: Callable[[], StoreStatus],
        user_of: Callable[[Client, Fields], str],
        on_contact: Callable[[str], None],
    ) -> None:
        """`on_contact` is called with the URL of each exchange for which an origin was contacted."""
        self._clock = clock
        self._user_of = user_of
        self._on_contact = on_contact
        self.metrics = Metrics(store_status)
        self.summary = Summary(clock.monotonic())
        self.log_traffic: Callable[[Answered], None] = lambda _: None
        """Adds to the traffic log; set when the service is started."""
        self._output: Output | None = None
        self._rotation: LogRotation | None = None
        self._gathered: list[Answered] = []
        """What `add_soon` has added, in order."""
        self._timer: asyncio.TimerHandle | None = None
        """Records what was gathered, if nothing else has done so before."""
        self._watcher: Callable[[Sequence[Answered]], None] | None = None

    def open_output(
        self, settings: Settings, *, log_requests: bool, heading: bool = True, rotates: bool = True
    ) -> None:
        """Open the request log. Raises StartError.

        `heading`: on a terminal, under a heading. `rotates`: whether this process renames the file, if it is to be.
        """
        if rotates and settings.log_file is not None and settings.log_keep is not None:
            self._rotation = LogRotation(settings.log_file, settings.log_keep, self._clock.now())
        try:
            self._output = Output(
                settings.log_format,
                settings.log_file,
                keep_query=settings.log_query,
                quiet=not log_requests,
                heading=heading,
            )
        except OSError as error:
            raise StartError(f"{settings.log_file}: the log cannot be opened: {error.strerror}") from None

    def watch(self, watcher: Callable[[Sequence[Answered]], None] | None) -> None:
        """Call `watcher` with the exchanges from now on, several at a time, until another call; None: with none."""
        self._watcher = watcher

    def add_soon(self, answered: Answered) -> None:
        """Record an exchange together with others: a hit within `GATHER_S`, others before anything more is read.

        Recording one alone takes a sixth of the processor time of a hit. Who reads metrics or summary flushes before.
        """
        self._gathered.append(answered)
        if len(self._gathered) >= GATHERED:
            self.flush()
        elif answered.outcome is not Outcome.HIT:
            asyncio.get_running_loop().call_soon(self.flush)
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self._flush_at_last)

    def _flush_at_last(self) -> None:
        self._timer = None
        self.flush()

    def flush(self) -> None:
        """Record the exchanges that were gathered."""
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self._record(gathered)

    async def count(self) -> None:
        """Record what was gathered, before metrics and summary are read."""
        self.flush()

    def add(self, answered: Answered) -> None:
        """Record an exchange, after those that were gathered."""
        self._record([*self._gathered, answered])
        self._gathered = []

    def _record(self, exchanges: Sequence[Answered]) -> None:
        self.metrics.add(*exchanges)
        self.summary.add(*exchanges)
        for answered in exchanges:
            self.log_traffic(answered)
            if answered.contact:
                self._on_contact(answered.url)
            if self._output is not None:
                self._output.add(answered)
        if self._watcher is not None:
            self._watcher(exchanges)

    def forwarded(
        self,
        forwarded: ForwardedRequest,
        client: Client,
        status: int,
        reason: str,
        *,
        complete: bool,
        contact: bool = True,
    ) -> None:
        """Record an exchange, a tunnel or an upgraded connection that mitmproxy forwarded."""
        entry, passed = self._entry(forwarded, client, status), forwarded.passed
        entry.outcome, entry.reason, entry.contact, entry.complete = Outcome.BYPASS, reason, contact, complete
        entry.sent_bytes, entry.received_bytes = passed.sent, passed.sent if contact else 0  # it passes unchanged
        entry.uploaded_bytes = passed.uploaded
        self.add(entry)

    def refused(
        self, forwarded: ForwardedRequest, client: Client, status: int, sent_bytes: int, reason: str = "not-allowed"
    ) -> None:
        """Record a request that was refused instead of forwarded."""
        entry = self._entry(forwarded, client, status)
        entry.reason, entry.sent_bytes = reason, sent_bytes
        self.add(entry)

    def _entry(self, forwarded: ForwardedRequest, client: Client, status: int) -> Answered:
        fields = forwarded.request.fields
        return Answered(
            time_s=forwarded.time_s,
            duration_s=self._clock.monotonic() - forwarded.started_s,
            client=peer_of(client),
            method=forwarded.request.method,
            url=forwarded.url,
            status=status,
            outcome=Outcome.REFUSED,
            user=self._user_of(client, fields),
            protocol=forwarded.request.version,
            agent=fields.get("user-agent") or "",
            referer=fields.get("referer") or "",
        )

    def reopen(self) -> None:
        """Open the log file again, after it was renamed."""
        if self._output is not None:
            self._output.reopen()

    def rotate(self) -> None:
        """Begin another log file if another day has begun."""
        if self._rotation is not None and self._rotation.turn(self._clock.now()):
            self.reopen()

    async def log_summaries(self) -> None:
        """Print a summary of each hour that had exchanges, until cancelled."""
        while True:
            await asyncio.sleep(SUMMARY_EVERY_S)
            self.flush()
            now = self._clock.monotonic()
            if self._output is not None and not self.summary.is_idle:
                self._output.say(self.summary.render(self._clock.now(), now))
            self.summary.start_period(now)

    def close(self, *, summary: bool) -> None:
        """Close the request log, with `summary` after the last one."""
        if self._timer is not None:
            self._timer.cancel()
        self.flush()
        if self._output is not None:
            if summary:
                self._output.say(self.summary.render(self._clock.now(), self._clock.monotonic()))
            self._output.close()

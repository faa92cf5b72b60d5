"""The state outside the store by which a worker decides for its clients, created in one place.

docs/state.md gives the scope of each part. Several workers of one port have one each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

from bestbefore.addon.config.settings import Settings
from bestbefore.addon.proxy.access.admission import Admission
from bestbefore.addon.proxy.access.gate import Gate
from bestbefore.addon.proxy.access.new_objects import NewObjects
from bestbefore.addon.proxy.channel_coverage import ChannelCoverage, Covered
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.sharing.flight import Flights
from bestbefore.addon.proxy.exchange.sharing.hit_for_miss import HitForMiss
from bestbefore.addon.proxy.origin.unsound import UnsoundOrigin, UnsoundOrigins
from bestbefore.addon.proxy.relay import Lasting, WorkerRelay
from bestbefore.addon.proxy.tunnels.first_speaker import FirstSpeakers
from bestbefore.addon.proxy.tunnels.refusals import TUNNEL_ANNOUNCEMENTS, Refusals


@dataclass(frozen=True, slots=True)
class WorkerState:
    """The state of a worker: clients, origins and bounds on resources."""

    gate: Gate
    admission: Admission
    budget: Budget
    flights: Flights
    hit_for_miss: HitForMiss
    new_objects: NewObjects
    refusals: Refusals
    first_speakers: FirstSpeakers
    unsound: UnsoundOrigins
    coverage: ChannelCoverage
    relay: WorkerRelay

    @classmethod
    def of(
        cls,
        settings: Settings,
        descriptors: int,
        monotonic: Callable[[], float],
        count: Callable[[str], None],
        workers: int = 1,
    ) -> Self:
        """Create the state of one worker. Raises the errors of `Gate`.

        `descriptors`: how many file descriptors the process may open. `count` is called for each refused request or
        connection. `workers`: how many processes share the bound on content in flight.
        """
        relay = WorkerRelay()
        refusals = Refusals(partial(relay.pass_on, lasting=Lasting.ALL))
        for kind in TUNNEL_ANNOUNCEMENTS:
            relay.on(kind, refusals.receive)
        unsound = UnsoundOrigins(monotonic, partial(relay.pass_on, lasting=Lasting.ALL))
        relay.on(UnsoundOrigin, unsound.receive)
        coverage = ChannelCoverage(partial(relay.pass_on, lasting=Lasting.LATEST))
        relay.on(Covered, coverage.receive)
        in_flight_max = Budget.divided(settings.in_flight_max, workers)
        admission = Admission(descriptors, in_flight_max, monotonic, count)
        return cls(
            gate=Gate(settings, monotonic),
            admission=admission,
            budget=Budget(in_flight_max, settings.state / "bodies", admission.descriptors),
            flights=Flights(),
            hit_for_miss=HitForMiss(),
            new_objects=NewObjects(),
            refusals=refusals,
            first_speakers=FirstSpeakers(),
            unsound=unsound,
            coverage=coverage,
            relay=relay,
        )

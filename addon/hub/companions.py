"""The companions of a proxy and of a hub."""

from collections.abc import Callable, Sequence

from aiohttp import web

from bestbefore.addon.dashboard.companion import DashboardCompanion
from bestbefore.addon.hub.edge import Edge
from bestbefore.addon.hub.hub import Hub
from bestbefore.addon.prefetcher.prefetcher import Prefetcher
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Head
from bestbefore.addon.websub.subscriber import WebSubSubscriber


class Companions(Companion):
    """Several companions, started in order and stopped in the reverse order."""

    def __init__(self, companions: Sequence[Companion]) -> None:
        self._companions = companions

    @property
    def counts_demand(self) -> bool:
        for one in self._companions:  # noqa: SIM110 - asked for each request; `any` takes three times as long
            if one.counts_demand:
                return True
        return False

    async def start(self) -> None:
        for one in self._companions:
            await one.start()

    def mount(self, application: web.Application) -> None:
        for one in self._companions:
            one.mount(application)

    def reconfigured(self) -> None:
        for one in self._companions:
            one.reconfigured()

    def note_answer(self, host: str, head: Head) -> None:
        for one in self._companions:
            one.note_answer(host, head)

    def note_contact(self, url: str) -> None:
        for one in self._companions:
            one.note_contact(url)

    def signalled(self, url: str, at_s: float | None, kind: str) -> None:
        for one in self._companions:
            one.signalled(url, at_s, kind)

    def pushed_until(self, url: str, until_s: float) -> None:
        for one in self._companions:
            one.pushed_until(url, until_s)

    def forgotten(self, matches: Callable[[str], bool]) -> None:
        for one in self._companions:
            one.forgotten(matches)

    async def close(self) -> None:
        for one in reversed(self._companions):
            await one.close()


def of_proxy(service: Service) -> Companion:
    """Return what runs beside a proxy; the first of several workers has what only one can have. Raises InputError."""
    if not service.place.is_first:
        return Companions((Prefetcher(service), WebSubSubscriber(service)))
    return Companions((Prefetcher(service), WebSubSubscriber(service), Edge(service), DashboardCompanion(service)))


def of_hub(service: Service) -> Companion:
    """Return what runs beside a hub. Raises InputError."""
    return Companions((Prefetcher(service), WebSubSubscriber(service), Hub(service), DashboardCompanion(service)))

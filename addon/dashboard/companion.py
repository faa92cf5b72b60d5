"""The dashboard of one process that serves, as a companion of its proxy."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from prometheus_client.core import Metric

from bestbefore.addon.admin.summary import DomainCounts
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.credentials import read_credentials
from bestbefore.addon.config.load import Config
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.dashboard.application import Dashboard
from bestbefore.addon.dashboard.source import Watcher
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.store.store import Store


class DashboardCompanion(Companion):
    """Puts the pages on the admin address of a service, and reads the service for them."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def mount(self, application: web.Application) -> None:
        Dashboard(self, users_of(self._service.settings)).mount(application)

    @property
    def clock(self) -> Clock:
        return self._service.clock

    @property
    def config(self) -> Config:
        return self._service.config

    @property
    def config_file(self) -> Path | None:
        return self._service.config_file

    async def refresh(self) -> None:
        """Count what was answered until now."""
        await self._service.recording.count()

    def families(self) -> Sequence[Metric]:
        return self._service.metrics.families()

    def health(self) -> Mapping[str, object]:
        return self._service.health()

    def domains(self) -> DomainCounts:
        return self._service.recording.summary.total

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        yield self._service.store

    def watch(self, watcher: Watcher | None) -> None:
        self._service.recording.watch(watcher)

    def switch(self, *, offline: bool) -> None:
        self._service.switch(offline=offline)

    def checked(self, toml: str) -> Config:
        return self._service.checked(toml)


def users_of(settings: Settings) -> Mapping[str, str]:
    """Return the passwords by name with which other machines see the pages. Raises OSError, ValueError."""
    return {} if settings.admin_credentials is None else read_credentials(settings.admin_credentials)

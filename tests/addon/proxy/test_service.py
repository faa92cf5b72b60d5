"""What the running proxy lets go of when it is forgotten."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.errors import InputError
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.traffic.files import TrafficFiles


async def test_what_is_forgotten_leaves_the_traffic_log(tmp_path: Path) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\ntraffic_log = true\nadmin = "off"\n')
    service = Service(ConfigWatch(config, {"state": str(tmp_path / "state")}), RealClock())
    await service.start()
    hit = Answered(RealClock().now(), "127.0.0.1", "GET", "http://example.org/a", 0.001, 200, Outcome.HIT, "indttl")
    for host in ("example.org", "example.net"):
        service._answered(replace(hit, url=f"http://{host}/"))
    await service._traffic.turn()
    service._answered(replace(hit, url="http://example.org/b"))  # not written yet
    await service.store.forget("example.org")
    await service.stop()
    files = TrafficFiles(tmp_path / "state")
    assert [request.url for path in files.days() for request in files.read(path)] == ["http://example.net/"]


async def test_nothing_goes_on_once_it_is_stopped(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    service = Service(ConfigWatch(None, {"state": str(tmp_path), "admin": "off"}), RealClock())
    await service.start()
    await service.stop()
    assert asyncio.all_tasks() == before


def no_companion(_: Service) -> Companion:
    return Companion()


def test_in_a_stock_mitmproxy_other_addons_are_shown_each_exchange(tmp_path: Path) -> None:
    assert Service.from_options({"state": str(tmp_path), "config": None}, no_companion).uses_hooks
    assert not Service(ConfigWatch(None, {"state": str(tmp_path)}), RealClock()).uses_hooks


def test_options_of_a_stock_mitmproxy_that_are_wrong_are_said() -> None:
    with pytest.raises(InputError, match="admin"):
        Service.from_options({"admin": "nonsense"}, no_companion)

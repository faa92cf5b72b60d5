"""What the running proxy lets go of when it is forgotten."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import certifi
import pytest

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.errors import InputError
from bestbefore.addon.proxy import recording
from bestbefore.addon.proxy import service as service_module
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.pages.ca_bundle import certificates
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.proxy.start_error import StartError
from bestbefore.addon.traffic.files import TrafficFiles


async def test_what_is_forgotten_leaves_the_traffic_log(tmp_path: Path) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\ntraffic_log = true\nadmin = "off"\n')
    service = Service(ConfigWatch(config, {"state": str(tmp_path / "state")}), RealClock())
    await service.start()
    hit = Answered(RealClock().now(), "127.0.0.1", "GET", "http://example.org/a", 0.001, 200, Outcome.HIT, "indttl")
    for host in ("example.org", "example.net"):
        service.recording.add(replace(hit, url=f"http://{host}/"))
    await service._traffic.turn()
    service.recording.add(replace(hit, url="http://example.org/b"))  # not written yet
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


async def test_no_content_is_stored_that_is_larger_than_all_files_may_be(tmp_path: Path) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\nfiles_max = "9MiB"\nadmin = "off"\n')
    service = Service(ConfigWatch(config, {"state": str(tmp_path / "state")}), RealClock())
    await service.start()
    assert service.site.stored_at_most == 9 << 20
    await service.stop()


def no_companion(_: Service) -> Companion:
    return Companion()


def test_in_a_stock_mitmproxy_other_addons_are_shown_each_exchange(tmp_path: Path) -> None:
    assert Service.from_options({"state": str(tmp_path), "config": None}, no_companion).uses_hooks
    assert not Service(ConfigWatch(None, {"state": str(tmp_path)}), RealClock()).uses_hooks


def test_options_of_a_stock_mitmproxy_that_are_wrong_are_said() -> None:
    with pytest.raises(InputError, match="admin"):
        Service.from_options({"admin": "nonsense"}, no_companion)


CERTIFICATE = certificates(Path(certifi.where()).read_bytes())[0]


class Running:
    """A started service whose texts are kept, and its configuration."""

    def __init__(self, folder: Path) -> None:
        self.config, self.state = folder / "proxy.toml", folder / "state"
        self.write("")
        self.service = Service(ConfigWatch(self.config, {"state": str(self.state)}), RealClock())
        self.said = list[str]()
        self.closed = 0

    def write(self, lines: str) -> None:
        self.config.write_text(f'[proxy]\nadmin = "off"\n{lines}')

    async def start(self) -> None:
        await self.service.start()
        output: Any = self.service.recording._output
        self._real_close = output.close
        output.say, output.close = self.said.append, self._close

    def _close(self) -> None:
        self.closed += 1
        self._real_close()


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    made = Running(tmp_path)
    await made.start()
    yield made
    await made.service.stop()


async def test_a_changed_configuration_applies_to_clients_content_and_hosts_at_once(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    service = running.service
    assert not service.gate.access.admits("192.0.2.7")
    running.write('allow_clients = ["192.0.2.0/24"]\nmax_cached_body = "1MiB"\noffline = true\nlisten = "[::1]:1"')
    service.reopen()
    assert not service.gate.access.admits("192.0.2.7"), "it may still be being written"
    service.reopen()
    assert service.gate.access.admits("192.0.2.7")
    assert (service.site.max_cached_body, service.site.offline) == (service.settings.max_cached_body, True)
    assert service.exchanges.site is service.site
    assert "the configuration has changed" in caplog.text
    assert "changes that need a restart: listen" in caplog.text
    caplog.clear()
    service.reopen()
    assert caplog.text == "", "it has not changed again"


async def test_a_changed_configuration_that_is_wrong_is_not_used_and_counted(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    before = running.service.settings
    running.write("nonsense = 1\n")
    for _ in range(3):
        running.service.reopen()
    assert running.service.settings is before
    assert "the changed configuration is not used" in caplog.text
    assert b"bestbefore_config_reload_failures_total 1.0" in running.service.metrics.exposition("")[0]


async def test_the_counts_are_printed_each_hour_and_at_the_end_if_there_were_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "SUMMARY_EVERY_S", 0.01)
    made = Running(tmp_path)
    await made.start()
    said_twice = asyncio.Event()
    output: Any = made.service.recording._output
    request = Answered(0.0, "", "GET", "http://example.org/")

    def say(text: str) -> None:
        made.said.append(text)
        # When the next hour has begun.
        asyncio.get_running_loop().call_soon(made.service.recording.summary.add, request)
        if len(made.said) == 2:
            said_twice.set()

    output.say = say
    await asyncio.sleep(0.05)
    assert made.said == [], "no client has requested anything"
    made.service.recording.summary.add(request)
    await asyncio.wait_for(said_twice.wait(), 10.0)
    assert all("last " in text for text in made.said)
    monkeypatch.setattr(recording, "SUMMARY_EVERY_S", 1000.0)
    await asyncio.sleep(0.02)
    hourly = len(made.said)
    authority = tmp_path / "authority"
    authority.mkdir()
    (authority / service_module.CA_FILE).write_bytes(CERTIFICATE)
    bundle = made.service.listening("127.0.0.1", 3128, authority)
    assert bundle.is_file()
    assert made.service.gate.own_ports == {3128}
    assert made.service.ready
    await made.service.stop()
    assert (len(made.said), made.closed, made.service.ready) == (hourly + 1, 1, False)


async def test_without_clients_there_is_nothing_to_print_at_the_end(tmp_path: Path) -> None:
    made = Running(tmp_path)
    await made.start()
    await made.service.stop()
    assert (made.said, made.closed) == ([], 1)


async def test_a_refusal_at_a_limit_is_seen_in_the_health_for_a_while(running: Running) -> None:
    assert running.service.health()["connections"] == "ok"
    running.service.admission.shortage.refused("connections")
    assert running.service.health()["connections"] == "too many"
    assert running.service.health()["store"] == "ok"


async def test_what_may_belong_to_other_requests_is_dropped_and_counted(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped = list[str]()
    monkeypatch.setattr(running.service.store, "drop", dropped.append)
    running.service._drop_all(["http://a.test/", "http://b.test/"])
    assert dropped == ["http://a.test/", "http://b.test/"]
    assert running.service.metrics.unexpected_data._value.get() == 1.0


async def test_a_file_for_the_log_that_cannot_be_opened_ends_the_start(tmp_path: Path) -> None:
    made = Running(tmp_path)
    made.write(f'log_file = "{tmp_path}"\n')
    service = Service(ConfigWatch(made.config, {"state": str(made.state)}), RealClock())
    with pytest.raises(StartError, match="the log cannot be opened: Is a directory"):
        await service.start()
    await service.stop()
    assert not service.ready

"""The master of the proxy: its options, its greeting, and what a failed start says."""

import asyncio
import errno
import logging
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from mitmproxy import ctx, version

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.proxy.mitm.hooks import BestBefore
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.proxy.start_error import StartError

with warnings.catch_warnings():  # mitmproxy's own use of pyparsing
    warnings.simplefilter("ignore", DeprecationWarning)
    from bestbefore.addon.proxy.mitm.master import ErrorCheck, _greeting, _mode, _reason, make_master

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    folder = tmp_path_factory.mktemp("master")
    (folder / "proxy.toml").write_text(
        '[proxy]\nadmin = "off"\nlisten = "127.0.0.1:3999"\nidle_timeout = "7s"\ntraffic_log = true\n'
        'traffic_keep = "3d"\n'
    )
    made = Service(ConfigWatch(folder / "proxy.toml", {"state": str(folder)}), RealClock())
    await made.start()
    yield made
    await made.stop()


async def test_it_has_the_options_of_the_configuration_and_the_addons_that_a_proxy_needs(service: Service) -> None:
    made = make_master(service, lambda _: None)
    options = made.options
    assert (options.confdir, options.listen_host) == (str(service.settings.state), "127.0.0.1")
    assert (options.listen_port, options.mode, options.tcp_timeout) == (3999, ["regular"], 7)
    assert (options.connection_strategy, options.upstream_cert) == ("lazy", False)
    assert isinstance(made.addons.get("bestbefore"), BestBefore)
    for name in ("core", "proxyserver", "nextlayer", "tlsconfig", "disableh2c", "errorcheck"):
        assert made.addons.get(name) is not None, name
    made.addons.get("errorcheck").finish()


async def test_an_unknown_mitmproxy_is_named(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make_master(service, lambda _: None)
    assert "is not among" not in caplog.text
    monkeypatch.setattr(version, "VERSION", "99.0.0")
    make_master(service, lambda _: None)
    assert "is not among the versions that bestbefore was tested with (12." in caplog.text


@pytest.mark.parametrize("log", [True, False])
async def test_the_greeting_names_where_it_listens(service: Service, log: bool) -> None:
    server = SimpleNamespace(listen_addrs=[("127.0.0.1", 3999), ("::1", 3999, 0, 0)])
    master: Any = SimpleNamespace(addons=SimpleNamespace(get=lambda _: SimpleNamespace(servers=[server])))
    settings = {name: getattr(service.settings, name) for name in ("state", "traffic_keep")}
    given = SimpleNamespace(**settings, store="redis://me:secret@store.test:6379/0", traffic_log=log)
    place = SimpleNamespace(workers=1)
    shown: Any = SimpleNamespace(settings=given, admin_url=None, config_file=None, place=place)
    text = _greeting(shown, master, Path("/state/bundle.pem"))
    assert "http://127.0.0.1:3999" in text
    assert "/state/bundle.pem" in text
    assert "store.test:6379/0" in text
    assert "secret" not in text
    assert ("3d" in text) is log


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ({}, "regular"),
        ({"upstream": "http://parent.test:3128"}, "upstream:http://parent.test:3128"),
        ({"mode": "https://origin.test"}, "reverse:https://origin.test"),
    ],
)
async def test_the_mode_is_that_of_the_configuration(given: dict[str, Any], mode: str) -> None:
    assert _mode(Settings(state=Path("state"), **given)) == mode


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.EADDRINUSE, "long and repeated"), "the port is in use"),
        (OSError(errno.EACCES, "long and repeated"), "Permission denied"),
        (OSError(-2, "Name or service not known"), "[Errno -2] Name or service not known"),
        (OSError("only a text"), "only a text"),
    ],
)
async def test_the_reason_is_short(error: OSError, reason: str) -> None:
    assert _reason(error) == reason
    outer = OSError("outer")
    outer.__cause__ = error
    assert _reason(outer) == str(error)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What mitmproxy listens with."""
    found = list[Any]()
    addons = SimpleNamespace(get=lambda _: SimpleNamespace(servers=found))
    monkeypatch.setattr(ctx, "master", SimpleNamespace(addons=addons), raising=False)
    monkeypatch.setattr(ctx, "options", SimpleNamespace(listen_host="127.0.0.1", listen_port=3999), raising=False)
    return found


async def test_a_port_in_use_ends_the_start_with_its_address(servers: list[Any]) -> None:
    check = ErrorCheck()
    try:
        servers.append(SimpleNamespace(last_exception=None))
        await check.shutdown_if_errored()
        servers.append(SimpleNamespace(last_exception=OSError(errno.EADDRINUSE, "")))
        with pytest.raises(StartError, match=r"^cannot listen on 127\.0\.0\.1:3999: the port is in use$"):
            await check.shutdown_if_errored()
    finally:
        check.finish()


async def test_a_file_that_cannot_be_read_is_named(servers: list[Any]) -> None:
    assert servers == []
    check = ErrorCheck()
    try:
        error = PermissionError(errno.EACCES, "Permission denied", "/state/mitmproxy-ca.pem")
        logging.getLogger("mitmproxy").error(f"Addon error: {error}", exc_info=error)  # noqa: G004 - as mitmproxy does
        with pytest.raises(StartError, match=r"^Permission denied: /state/mitmproxy-ca\.pem$"):
            await check.shutdown_if_errored()
    finally:
        check.finish()


async def test_an_error_that_was_logged_ends_the_start_with_its_first_line(servers: list[Any]) -> None:
    logger = logging.getLogger("mitmproxy")
    check, seen = ErrorCheck(), list[str]()
    outer = logging.Handler()
    outer.emit = lambda record: seen.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(outer)
    try:
        logger.warning("only a warning")
        await asyncio.wait_for(check.shutdown_if_errored(), 30.0)
        logger.error("first\nand more")
        logger.error("second")
        with pytest.raises(StartError, match=r"^first$"):
            await check.shutdown_if_errored()
        assert seen == [], "the StartError says it"
        check.finish()
        logger.error("after the start")
        assert seen == ["after the start"]
    finally:
        check.finish()
        logging.getLogger().removeHandler(outer)

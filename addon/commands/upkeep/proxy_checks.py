"""Checks of a running proxy: its port, its admin address, an origin through it."""

import errno
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import SplitResult

import click

from bestbefore.addon.admin.units import span
from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.clients.running_proxy import PATIENCE_S, certificate_of, credentials_in, shown
from bestbefore.addon.commands.upkeep.finding import Finding
from bestbefore.addon.config.settings import DEFAULT_ADMIN, Address, Settings
from bestbefore.addon.proxy.pages.ca_bundle import BUNDLE_NAME, certificates
from bestbefore.addon.rfc9111.message import Target

ORIGIN_PATIENCE_S = 30.0
"""The proxy tries several addresses of an origin, each for `connect_timeout`."""
APART_S = 60.0
"""How far the clocks of an origin and of this machine may be apart."""


def port_finding(url: SplitResult, settings: Settings, *, is_given: bool) -> Finding:
    """Return the finding on the proxy's port: `ok` if the proxy of this state folder answers there."""
    try:
        certificate = certificate_of(url) if settings.mode is None else None
    except click.ClickException as error:
        if is_given or _answers(url):
            advice = "" if is_given else "end that program, or give another --listen to the proxy"
            return Finding("port", "failed", error.message.partition(": start one")[0], advice)
        return _free_finding(settings.listen)
    if certificate is None:
        return _reverse_finding(url, settings)
    bundle = settings.state / BUNDLE_NAME
    try:
        is_ours = certificate in certificates(bundle.read_bytes())
    except OSError:
        is_ours = False
    if not is_ours:
        found = f"another bestbefore answers at {shown(url)}, not that of {settings.state}"
        return Finding("port", "failed", found, "give its --state or --config, or another --listen to one of them")
    return Finding("port", "ok", f"the proxy answers at {shown(url)}")


def _reverse_finding(url: SplitResult, settings: Settings) -> Finding:
    """Return the finding on the port of a reverse proxy, which has no page of its own."""
    if not _answers(url):
        return _free_finding(settings.listen)
    try:
        ours = _requested(url, Target.parse(f"{settings.mode}/"), settings, "only-if-cached").headers["Cache-Status"]
    except (OSError, HTTPException):
        ours = None
    if "bestbefore" not in (ours or ""):
        advice = "end that program, or give another --listen to the proxy"
        return Finding("port", "failed", f"another program answers at {shown(url)}", advice)
    return Finding("port", "ok", f"a proxy answers at {shown(url)}")


def _answers(url: SplitResult) -> bool:
    try:
        socket.create_connection((url.hostname or "", url.port or 0), timeout=PATIENCE_S).close()
    except OSError:
        return False
    return True


def _free_finding(listen: Address) -> Finding:
    """Return the finding on a port where nothing answers: whether a proxy could listen there."""
    try:
        _bind(listen)
    except OSError as error:
        advice = {
            errno.EACCES: "ports below 1024 need a privilege (AmbientCapabilities=CAP_NET_BIND_SERVICE under systemd)",
            errno.EADDRNOTAVAIL: "no interface of this machine has this address: change --listen",
        }.get(error.errno or 0, "change --listen")
        return Finding("port", "failed", f"a proxy cannot listen on {listen}: {error.strerror or error}", advice)
    return Finding("port", "warning", f"no proxy listens on {listen}; the port is free", "start one: bestbefore proxy")


def _bind(address: Address) -> None:
    """Listen on an address for a moment. Raises OSError."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((address.host, address.port))


def admin_findings(settings: Settings, port: Finding) -> Iterator[Finding]:
    """Yield what the proxy reports of its health; where none runs, whether it could listen on its admin address."""
    if port.state == "ok":
        yield _health_finding(settings)
        return
    admin = settings.admin
    # In place of the default the proxy takes the next free port.
    if port.state != "warning" or admin is None or admin in (DEFAULT_ADMIN, settings.listen):
        return
    try:
        _bind(admin)
    except OSError as error:
        found = f"a proxy cannot listen on {admin}: {error.strerror or error}"
        yield Finding("admin", "failed", found, "end the program that does, or give the proxy another --admin")


def _health_finding(settings: Settings) -> Finding:
    """Return the finding on the health that the proxy reports at its admin address."""
    admin = settings.admin
    if admin is None or admin.port == 0:
        return Finding("admin", "skipped", "it is off" if admin is None else "its port is chosen by the system")
    try:
        with closing(HTTPConnection(admin.host, admin.port, timeout=PATIENCE_S)) as connection:
            connection.request("GET", "/healthz")
            response = connection.getresponse()
            health = json.loads(response.read(1 << 20))
            state, store = health["status"], health["store"]
    except (OSError, HTTPException) as error:
        found = f"nothing answers at http://{admin}/healthz ({error})"
        return Finding("admin", "warning", found, "it may have taken the next free port: its first lines name it")
    except (ValueError, KeyError, TypeError):
        return Finding("admin", "warning", f"http://{admin}/ is another program", "give the proxy another --admin")
    if (state, store) != ("ok", "ok"):
        found = f"the proxy says: status {state}, store {store}, entries that wait: {health.get('pending', '?')}"
        return Finding("admin", "failed", found, "see its log for the reason; meanwhile it learns in memory")
    return Finding("admin", "ok", f"http://{admin}/healthz: ok")


def origin_findings(url: SplitResult, target: Target, settings: Settings, clock: Clock) -> Iterator[Finding]:
    """Yield the findings on one request to an origin through the proxy, which goes to the origin."""
    try:
        response, from_s = _requested(url, target, settings, "no-cache"), clock.now()
    except ssl.SSLError as error:
        yield Finding("origin", "failed", f"{target.url}: {error.reason or error}", "see the check of the authority")
        return
    except (OSError, HTTPException) as error:
        yield Finding("origin", "failed", f"{target.url}: the proxy does not answer: {error}", "see the proxy's log")
        return
    ours = response.headers.get("Cache-Status", "")
    if "origin-unreachable" in ours or (response.status == 502 and ours):
        yield Finding("origin", "failed", f"the proxy cannot reach {target.url}", _why_unreachable(target, settings))
        return
    if response.status in (403, 407) and "bestbefore" in ours:
        found = f"the proxy refuses this client: {response.status}"
        yield Finding("origin", "failed", found, "see allow_clients and credentials")
        return
    yield Finding("origin", "ok", f"{target.url} through the proxy: {response.status}")
    if (date := response.headers.get("Date")) is not None:
        yield from _clock_finding(date, from_s)


def _requested(url: SplitResult, target: Target, settings: Settings, directive: str) -> HTTPResponse:
    """Request an object through the proxy, with a directive of Cache-Control. Raises OSError, HTTPException."""
    assert url.hostname is not None
    connection: HTTPConnection
    fields, what, bundle = {"Cache-Control": directive}, target.url, settings.state / BUNDLE_NAME
    if settings.mode is not None:
        connection = HTTPConnection(url.hostname, url.port, timeout=ORIGIN_PATIENCE_S)
        what, fields["Host"] = target.path, str(Address(target.host, target.port))
    elif target.scheme == "https":
        context = ssl.create_default_context(cafile=str(bundle) if bundle.exists() else None)
        connection = HTTPSConnection(url.hostname, url.port, timeout=ORIGIN_PATIENCE_S, context=context)
        connection.set_tunnel(target.host, target.port, headers=credentials_in(url))
        what = target.path
    else:
        connection = HTTPConnection(url.hostname, url.port, timeout=ORIGIN_PATIENCE_S)
        fields |= credentials_in(url)
    with closing(connection):
        connection.request("GET", what, headers=fields)
        response = connection.getresponse()
        response.read(1 << 20)
        return response


def _why_unreachable(target: Target, settings: Settings) -> str:
    if settings.upstream is not None:
        return f"see whether the parent proxy {settings.upstream} answers, and reaches it"
    try:
        socket.create_connection((target.host, target.port), timeout=settings.connect_timeout).close()
    except socket.gaierror:
        return f"the name {target.host} does not resolve on this machine either: see its DNS, or give --origin URL"
    except OSError as error:
        return f"nor can this machine without it ({error.strerror or error}): see its network, or give --origin URL"
    return "this machine can without the proxy: see the proxy's log, and what its service may reach"


def _clock_finding(date: str, now_s: float) -> Iterator[Finding]:
    try:
        sent = parsedate_to_datetime(date)
    except ValueError:
        return
    apart_s = (sent if sent.tzinfo else sent.replace(tzinfo=UTC)).timestamp() - now_s
    if abs(apart_s) > APART_S:
        found = f"this clock is {span(abs(apart_s))} {'behind' if apart_s > 0 else 'ahead of'} that of the origin"
        advice = "see that NTP runs: ages and lifetimes are computed from both clocks"
        yield Finding("clock", "warning", found, advice)

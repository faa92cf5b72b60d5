"""A running proxy as a client sees it: its address, and the certificate that it says is its own."""

import base64
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from urllib.parse import SplitResult, unquote, urlsplit

import click

from bestbefore.addon.config.settings import Address, Settings
from bestbefore.addon.errors import InputError
from bestbefore.addon.proxy.pages.ca_bundle import certificates
from bestbefore.addon.proxy.pages.pages import HOST

PATIENCE_S = 10.0
"""How long the proxy may take to send its certificate, real seconds."""


def proxy_url(given: str | None, settings: Settings) -> SplitResult:
    """Return the URL of the proxy: the given one, or that of its configured address. Raises InputError."""
    listen = settings.listen
    if given is None:
        if listen.port == 0:
            raise InputError("the configuration lets the system choose the port: give --proxy URL")
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listen.host, listen.host)  # noqa: S104
        given = f"http://{Address(host, listen.port)}"
    try:
        url = urlsplit(given)
        if url.scheme == "http" and url.hostname and url.port and url.path in ("", "/"):
            return url._replace(path="")
    except ValueError:
        pass
    raise InputError(f"--proxy {given}: expected http://HOST:PORT")


def shown(url: SplitResult) -> str:
    """Return the URL without user and password."""
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"


def credentials_in(url: SplitResult) -> dict[str, str]:
    """Return the request field with the user and password of a proxy's URL, if it has any."""
    if url.username is None:
        return {}
    user = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}


def certificate_of(url: SplitResult) -> bytes:
    """Return the certificate that the proxy says is its own, PEM.

    It comes over http, so that it alone is not to be trusted: anyone could answer at the proxy's address. Raises
    ClickException if no proxy of ours answers.
    """
    assert url.hostname is not None
    try:
        with closing(HTTPConnection(url.hostname, url.port, timeout=PATIENCE_S)) as connection:
            connection.request("GET", f"http://{HOST}/ca.pem", headers=credentials_in(url))
            response = connection.getresponse()
            found = certificates(response.read(1 << 20))
    except (OSError, HTTPException) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise click.ClickException(
            f"no proxy answers at {shown(url)} ({why}): start one with `bestbefore proxy`, or name another with "
            "--proxy URL"
        ) from None
    if response.status != 200 or not found:
        raise click.ClickException(
            f"{shown(url)} gives no certificate (status {response.status}): it is no bestbefore, or does not admit "
            "this client"
        )
    return found[0]

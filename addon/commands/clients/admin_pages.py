"""The admin address of a running proxy, as a program reads it."""

import base64
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import unquote, urlsplit

import click

from bestbefore.addon.config.settings import Address, Settings
from bestbefore.addon.errors import InputError

PATIENCE_S = 10.0
"""How long an answer may take, real seconds."""


@dataclass(frozen=True, slots=True)
class AdminPages:
    """What a proxy shows at its admin address."""

    address: Address
    fields: Mapping[str, str]

    @classmethod
    def of(cls, given: str | None, settings: Settings) -> "AdminPages":
        """Return those at the given address, else at that of the configuration. Raises InputError."""
        if given is None:
            if settings.admin is None or settings.admin.port == 0:
                why = "is off" if settings.admin is None else "has a port that the system chose"
                raise InputError(f"the admin address of this configuration {why}: give --admin HOST:PORT")
            here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.admin.host, settings.admin.host)  # noqa: S104
            return cls(Address(here, settings.admin.port), {})
        host: str | None
        port: int | None
        try:
            url = urlsplit(given if "://" in given else f"http://{given}")
            host, port = url.hostname, url.port
        except ValueError:
            host = port = None
        if not host or not port or url.scheme != "http" or url.path not in ("", "/"):
            raise InputError(f"--admin {given}: expected HOST:PORT or http://USER:PASSWORD@HOST:PORT")
        password = f"{unquote(url.username or '')}:{unquote(url.password or '')}"
        authorization = {"Authorization": f"Basic {base64.b64encode(password.encode()).decode()}"}
        return cls(Address(host, port), authorization if url.username else {})

    def read(self, path: str) -> Mapping[str, Any]:
        """Return the JSON object at a path. Raises ClickException, which says what to do."""
        try:
            with closing(HTTPConnection(self.address.host, self.address.port, timeout=PATIENCE_S)) as connection:
                connection.request("GET", path, headers=dict(self.fields))
                response = connection.getresponse()
                content = response.read()
        except (OSError, HTTPException) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise click.ClickException(
                f"no proxy answers at http://{self.address}/ ({why}): the first lines of a proxy name its admin "
                "address; give it with --admin HOST:PORT"
            ) from None
        if response.status == 200:
            try:
                found = json.loads(content)
            except ValueError:
                found = None
            if isinstance(found, dict):
                return found
        elif response.status in (401, 403, 429, 503):
            said = content.decode("ascii", "replace").strip()[:200]
            raise click.ClickException(f"http://{self.address}/ refuses: {said.partition(': ')[2] or said}")
        raise click.ClickException(f"http://{self.address}/ is no such bestbefore (status {response.status})")

"""The requests of a running proxy, followed at its admin address."""

from collections.abc import Iterator

import click

from bestbefore.addon.commands.clients.admin_pages import AdminPages


class FollowedProxy:
    """The lines of the log's JSON format, as requests come. The first question makes the proxy keep the last ones."""

    def __init__(self, pages: AdminPages) -> None:
        """Ask for the first time. Raises ClickException."""
        self._pages = pages
        self._last = 0
        self._first = self._asked("/requests.json")

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that came since the last call. Raises ClickException."""
        yield from self._first
        self._first = []
        yield from self._asked(f"/requests.json?after={self._last}")

    def close(self) -> None:
        """Do nothing: the proxy itself ends to keep requests."""

    def _asked(self, path: str) -> list[bytes]:
        found = self._pages.read(path)
        self._last = found["last"]
        if found["lost"]:
            click.echo(f"bestbefore tail: {found['lost']:,} requests came too fast and are left out", err=True)
        return [line.encode() for line in found["lines"]]

"""`bestbefore doctor`: check the proxy, its store and its clients on this machine, and say what to do."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import click

from bestbefore.addon.clock import Clock, clock_from_environment
from bestbefore.addon.commands.clients.running_proxy import proxy_url
from bestbefore.addon.commands.completed_values import complete_words
from bestbefore.addon.commands.store_flags import store_options
from bestbefore.addon.commands.upkeep.client_checks import client_findings
from bestbefore.addon.commands.upkeep.finding import Finding
from bestbefore.addon.commands.upkeep.machine_checks import machine_findings
from bestbefore.addon.commands.upkeep.proxy_checks import admin_findings, origin_findings, port_finding
from bestbefore.addon.commands.upkeep.store_check import store_findings
from bestbefore.addon.config.load import Config, load_config
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.errors import InputError
from bestbefore.addon.rfc9111.message import Target

ORIGIN = "http://example.com/"
_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": None}


@click.command("doctor")
@store_options
@click.option("--proxy", metavar="URL", help="The proxy (default: at `listen` of --config, http://127.0.0.1:8080).")
@click.option("--origin", metavar="URL|off", default=ORIGIN, show_default=True, shell_complete=complete_words,
              help="What is requested through a forward proxy, to see whether it reaches origins.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per finding.")
def command(
    config_file: Path | None, proxy: str | None, origin: str, *, as_json: bool, **options: str | None
) -> None:
    """Check a proxy on this machine, whether it runs or not, and say what to do.

    Checked are the configuration, the state folder, the disk, the clock, the store, the port, the admin address, the
    certificate authority and whether curl, wget, git, Python, Node, Java and browsers trust it, and an origin
    through the proxy. Run it as the user of the proxy, with its --config.

    The exit status is 0 if nothing failed (there may be warnings), 1 if something did, and 2 if the configuration is
    wrong: then nothing else is checked.

    \b
      bestbefore doctor --config /etc/bestbefore/bestbefore.toml
      bestbefore run -- bestbefore doctor     # with the variables that make programs trust the proxy
      bestbefore doctor --json | jq 'select(.state == "failed")'
    """  # noqa: D301 - click keeps lines after a backspace
    target = _target(origin)
    clock = clock_from_environment(os.environ)
    try:
        config = load_config(config_file, options)
    except ConfigError as error:
        report = _Report(as_json=as_json)
        for problem in error.problems:
            report.add(Finding("configuration", "failed", problem))
        raise click.exceptions.Exit(2) from None
    url = None if proxy is None else proxy_url(proxy, config.settings).geturl()
    report = _Report(as_json=as_json)
    asyncio.run(_check(report, _findings(config, config_file, clock, url, target)))
    if not as_json:
        click.echo(f"{report.failed} of the checks failed" if report.failed else "nothing failed")
    raise click.exceptions.Exit(1 if report.failed else 0)


def _target(origin: str) -> Target | None:
    if origin == "off":
        return None
    try:
        return Target.parse(origin)
    except ValueError as error:
        raise InputError(f"--origin {origin}: {error}") from None


async def _check(report: "_Report", findings: AsyncIterator[Finding]) -> None:
    async for finding in findings:
        report.add(finding)


async def _findings(
    config: Config, config_file: Path | None, clock: Clock, given: str | None, target: Target | None
) -> AsyncIterator[Finding]:
    settings = config.settings
    yield Finding("configuration", "ok", "defaults, without --config" if config_file is None else str(config_file))
    for finding in machine_findings(settings, clock):
        yield finding
    async for found in store_findings(config, clock):
        yield found
    if given is None and settings.listen.port == 0:
        port = Finding("port", "skipped", "the configuration lets the system choose it", "give --proxy URL")
    else:
        url = proxy_url(given, settings)
        port = await asyncio.to_thread(port_finding, url, settings, is_given=given is not None)
    yield port
    runs = port.state == "ok"
    if given is None:
        for finding in await asyncio.to_thread(lambda: list(admin_findings(settings, port))):
            yield finding
    if settings.mode is None:
        for finding in await asyncio.to_thread(lambda: list(client_findings(settings.state, clock))):
            yield finding
    elif target is not None:
        target = Target.parse(f"{settings.mode}/")
    if runs and target is not None:
        for finding in await asyncio.to_thread(lambda: list(origin_findings(url, target, settings, clock))):
            yield finding
    elif target is not None:
        yield Finding("origin", "skipped", "no proxy of this state folder runs")


class _Report:
    """Prints each finding as it comes."""

    def __init__(self, *, as_json: bool) -> None:
        self.failed = 0
        """How many checks have failed."""
        self._as_json = as_json
        self._advice = ""
        self._is_plain = bool(os.environ.get("NO_COLOR"))

    def add(self, finding: Finding) -> None:
        """Print a finding; advice that was just given is not repeated."""
        self.failed += finding.state == "failed"
        if self._as_json:
            click.echo(finding.json_line(), nl=False)
        else:
            state = click.style(f"{finding.state:<8}", fg=None if self._is_plain else _COLOURS[finding.state])
            click.echo(f"{state} {finding.check:<14} {finding.found}")
            if finding.advice and finding.advice != self._advice:
                click.echo(f"{'':<23} -> {finding.advice}")
            self._advice = finding.advice
        sys.stdout.flush()

"""`bestbefore plan --live`: show the schedule of background fetches of the proxies on a store."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

import click

from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.store_flags import store_options
from bestbefore.addon.commands.store_options import config_and_clock, open_configured_store
from bestbefore.addon.config.load import Config
from bestbefore.addon.prefetcher.outlook import LISTED, outlook
from bestbefore.addon.reports.plan import plan_text


@click.command("plan")
@click.option("--live", is_flag=True, expose_value=False,
              help="Show the schedule of the proxies on a store. Without it: plan for the objects of a file.")
@store_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times are in Unix seconds.")
def command(config_file: Path | None, *, as_json: bool, **options: str | None) -> None:
    """Show the schedule of background fetches: what it expects, what was measured, and the next 20 with their reasons.

    The proxy may keep running.

    \b
      bestbefore plan --live --config proxy.toml
    """  # noqa: D301 - click keeps lines after a backspace
    config, clock = config_and_clock(config_file, options)
    asyncio.run(_show(config, clock, as_json=as_json))


async def _show(config: Config, clock: Clock, *, as_json: bool) -> None:
    async with open_configured_store(config, clock) as store:
        now_s = clock.now()
        plan = await outlook(store, now_s, LISTED, config.prefetch.watched)
    if plan is None:
        raise click.ClickException(
            "nothing is scheduled: no object was requested twice" if config.prefetch.enabled else
            "nothing is scheduled: prefetching is not enabled (--config should be that of the proxy)"
        )
    click.echo(json.dumps(asdict(plan), allow_nan=False) if as_json else plan_text(plan, now_s))

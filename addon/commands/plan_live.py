"""`bestbefore plan --live`: show the plan that the proxies on a store follow."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

import click

from bestbefore.addon.admin.sanitize import plain_text, plain_word
from bestbefore.addon.admin.units import span, utc
from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.store_options import config_and_clock, open_configured_store, store_options
from bestbefore.addon.config.load import Config
from bestbefore.addon.prefetcher.outlook import Outlook, outlook

LISTED = 20


@click.command("plan")
@click.option("--live", is_flag=True, expose_value=False,
              help="Show the plan of the proxy. Without it: plan for the objects of a file.")
@store_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times are in Unix seconds.")
def command(config_file: Path | None, *, as_json: bool, **options: str | None) -> None:
    """Show the current plan of prefetches: the next 20, with the reason and the expected gain of each.

    The proxy may keep running.
    """
    config, clock = config_and_clock(config_file, options)
    asyncio.run(_show(config, clock, as_json=as_json))


async def _show(config: Config, clock: Clock, *, as_json: bool) -> None:
    async with open_configured_store(config, clock) as store:
        now_s = clock.now()
        plan = await outlook(store, now_s, LISTED)
    if plan is None:
        raise click.ClickException(
            "there is no plan" if config.prefetch.enabled else
            "there is no plan: prefetching is not enabled (--config should be that of the proxy)"
        )
    click.echo(json.dumps(asdict(plan), allow_nan=False) if as_json else plan_text(plan, now_s))


def plan_text(plan: Outlook, now_s: float) -> str:
    """Return the plan in printable ASCII, without a final newline. The reason follows an object's first fetch."""
    lines = [
        f"made        {utc(plan.made_s)}, {span(now_s - plan.made_s)} ago, of {plan.objects} objects; "
        f"reaches to {utc(plan.until_s)}",
        f"budget      {plan.budget_per_day:g} fetches a day, {plan.spent_today} made in the last 24 hours; "
        f"for {plain_text(plan.objective)}",
        f"to come     {plan.planned} fetches{', the next ones:' if plan.next else ''}",
    ]
    if plan.next:
        lines += ["", "time (UTC)            in      spares  URL"]
    explained = set()
    for fetch in plan.next:
        lines.append(f"{utc(fetch.due_s)}  {span(fetch.due_s - now_s):<6}  {fetch.gain:>6.2g}  {plain_word(fetch.url)}")
        if fetch.url not in explained:
            lines.append(f"{'':>38}{plain_text(fetch.why)}")
            explained.add(fetch.url)
    return "\n".join(lines)

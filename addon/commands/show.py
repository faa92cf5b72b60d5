"""`bestbefore show [URL]`: show what was learnt about an object, or about those most requested."""

import asyncio
import difflib
import json
from dataclasses import asdict, replace
from pathlib import Path

import click

from bestbefore.addon.admin.report import (
    ListedObject,
    ObjectReport,
    PlannedFetch,
    PushReport,
    SignalReport,
    listed_object,
    object_report,
)
from bestbefore.addon.admin.sanitize import plain_word
from bestbefore.addon.admin.show import list_text, object_text
from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.store_options import config_and_clock, open_configured_store, store_options
from bestbefore.addon.config.load import Config
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.errors import InputError
from bestbefore.addon.hub.show import channel_text
from bestbefore.addon.hub.wire.channel import SiteChannel, sites
from bestbefore.addon.prefetcher.outlook import why
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator, controlled_group
from bestbefore.addon.proxy.pages.pages import HOST
from bestbefore.addon.rfc9111.conditional.parts import partition_of
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.rules import DomainRule, Rules
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import CommandError, StoreInputError, UnavailableError, UnwritableError
from bestbefore.addon.store.store import Store
from bestbefore.addon.websub.subscriptions import name_of, read_subscriptions
from bestbefore.policies.validation.machinery.control import ControlState, state_of
from bestbefore.policies.validation.machinery.features import Needs

LISTED = 20
NEAREST_SHOWN = 3
URLS_COMPARED = 5_000
"""How many known URLs are compared with an unknown one, to suggest the nearest (0.6 s)."""


@click.command("show")
@click.argument("url", required=False)
@store_options
@click.option("--hub", metavar="URL",
              help="Show what a hub sends and who waits for what, from its channel: rediss://USER:PASSWORD@HOST:PORT/DB.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line; times are in Unix seconds.")
def command(
    url: str | None, config_file: Path | None, hub: str | None, *, as_json: bool, **options: str | None
) -> None:
    """Show what was learnt about URL; without it, about the 20 most requested objects.

    The proxy may keep running. Give the same --config as to the proxy: its rules apply.
    """
    if hub is not None:
        asyncio.run(_show_hub(hub, as_json=as_json))
        return
    try:
        target = None if url is None else Target.parse(url)
    except ValueError as error:
        raise InputError(str(error)) from None
    config, clock = config_and_clock(config_file, options)
    asyncio.run(_show(target, config, clock, as_json=as_json))


async def _show(target: Target | None, config: Config, clock: Clock, *, as_json: bool) -> None:
    async with open_configured_store(config, clock) as store:
        view = _View(store, config.rules, clock.now(), config.websub.callback_url)
        if target is None:
            objects = await view.most_requested()
            text = "".join(map(_json_line, objects)) if as_json else list_text(objects, view.now_s)
        else:
            report = await view.object(target)
            text = _json_line(report) if as_json else object_text(report)
        click.echo(text, nl=False)


async def _show_hub(url: str, *, as_json: bool) -> None:
    connection = None
    try:
        connection = Connection(url)
        await connection.open()
        reports = {site: await SiteChannel(connection, site).status() for site in await sites(connection)}
    except StoreInputError as error:
        raise InputError(str(error).replace("store ", "channel ", 1)) from None
    except (UnavailableError, UnwritableError, CommandError) as error:
        raise click.ClickException(f"the channel does not answer: {error}") from None
    finally:
        if connection is not None:
            await connection.close()
    click.echo(json.dumps(reports) + "\n" if as_json else channel_text(reports), nl=False)


class _View:
    """Reports on the store at one moment, by the configured rules."""

    def __init__(self, store: Store, rules: Rules, now_s: float, callback_url: str | None) -> None:
        self.now_s = now_s
        self._callback_url = callback_url
        self._store = store
        self._rules = rules
        self._evaluator = ExpiryEvaluator(store, lambda: rules)

    async def most_requested(self) -> list[ListedObject]:
        """Return the most requested objects."""
        listed = []
        for url, requests in await self._store.top(LISTED):
            target = Target.parse(url)
            rule = self._rule(target)
            record, copies = await self._store.record(url), await self._copies(url, rule)
            if record is None and not copies and target.host == HOST:
                continue  # the proxy's own page, which `bestbefore run` asks for each time
            listed.append(listed_object(url, requests, record, copies, rule, self.now_s))
        return listed

    async def object(self, target: Target) -> ObjectReport:
        """Return the report on an object. Raises ClickException, with the nearest known URLs, if it is unknown."""
        rule, url = self._rule(target), target.url
        record, copies = await self._store.record(url), await self._copies(url, rule)
        parts = (await self._store.copies(url, partition_of(""))).copies
        if record is None and not copies and not parts and url not in await self._store.planning.troubles():
            raise click.ClickException(await self._unknown(target))
        planned, needs = await self._planned(url), rule.policy.needs
        cache_group = "" if record is None else record.cache_group
        group = await self._evaluator.group(target.host, rule, cache_group) if Needs.GROUP in needs else None
        demands = [(await self._store.demand.of(copy)).demand for copy in copies] if rule.counts_demand else ()
        report = object_report(url, record, copies, rule, self.now_s, planned, parts, group, demands)
        controlled = None if record is None else await self._controlled(rule, record)
        signals, push = await self._signals(target), await self._push(url)
        trouble = (await self._store.planning.troubles()).get(url)
        return replace(report, signals=signals, push=push, controlled=controlled, trouble=trouble)

    async def _controlled(self, rule: DomainRule, record: Record) -> ControlState | None:
        target = rule.policy.stale_rate
        if not target:
            return None
        return state_of(await self._store.stale.of(controlled_group(rule, record), self.now_s), target)

    async def _push(self, url: str) -> PushReport | None:
        """Return the subscription of an object, if the configured proxy subscribes to hubs."""
        if self._callback_url is None:
            return None
        subscribed = await read_subscriptions(self._store.positions, name_of(self._callback_url))
        one = next((one for one in subscribed if one.url == url), None)
        return None if one is None else PushReport(one.hub, one.state, one.until_s, one.pushes, one.pushed_s)

    async def _signals(self, target: Target) -> tuple[SignalReport, ...]:
        site, known = registrable_domain(target.host), await self._store.signal_counts.read()
        return tuple(
            SignalReport(
                source.kind, seen.precision, seen.recall, round(seen.right + seen.wrong + seen.missed), seen.is_dropped
            )
            for source, seen in sorted(known.items())
            if source.site == site
        )

    async def _planned(self, url: str) -> PlannedFetch | None:
        candidate = await self._store.planning.candidate(url)
        if candidate is None or candidate.due_s is None:
            return None
        return PlannedFetch(candidate.due_s, why(candidate.rate_per_hour, candidate.requests))

    def _rule(self, target: Target) -> DomainRule:
        return self._rules.rule_for(target.host, target.path)

    async def _copies(self, url: str, rule: DomainRule) -> list[Copy]:
        """Return the copies with the verdicts of the current rule."""
        copies = (await self._store.copies(url)).copies
        record = await self._store.record(url)
        return [
            copy if copy.rule == rule.key else await self._evaluator.evaluated(copy, record, rule)
            for copy in copies
        ]

    async def _unknown(self, target: Target) -> str:
        known = await self._urls(f"*://{target.host}*") or await self._urls("*")
        lines = [f"{plain_word(target.url)}: nothing is known of it"]
        if not known:
            lines.append("nothing was learnt of any object yet")
        elif nearest := difflib.get_close_matches(target.url, known, n=NEAREST_SHOWN):
            lines.append(f"known are {' '.join(map(plain_word, nearest))}")
        return "\n".join(lines)

    async def _urls(self, pattern: str) -> list[str]:
        urls: list[str] = []
        async for url in self._store.urls(pattern):
            urls.append(url)
            if len(urls) == URLS_COMPARED:
                break
        return urls


def _json_line(report: ObjectReport | ListedObject) -> str:
    return json.dumps(asdict(report), allow_nan=False) + "\n"

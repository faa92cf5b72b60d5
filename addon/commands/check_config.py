"""`bestbefore check-config FILE`: check a configuration and summarise it."""

import json
import math
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from bestbefore.addon.admin.units import span
from bestbefore.addon.config.hub_section import HubSettings
from bestbefore.addon.config.load import Config, load_config
from bestbefore.addon.config.prefetch_section import PrefetchSettings, PrefetchTarget
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.config.value_text import limit_text, value_text
from bestbefore.addon.config.websub_section import WebSubSettings
from bestbefore.addon.proxy.access.passthrough_cleanup import REMOVED_FILE, not_removed
from bestbefore.addon.rules import DomainRule, Rules
from bestbefore.policies.prefetch.online.estimate import SHORTEST_S
from bestbefore.policies.validation.machinery.spec import params, spec_text

_OWN_LINES = ("match", "policy", "obey", "stale_if_down_s", "prefetch_limits", "key")
"""Fields of a rule that are printed on a line of their own or not at all; others if they differ from the default."""


@click.command("check-config")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True,
              help="Print a JSON object: ok, and the values in force, durations in seconds, or the errors.")
@click.pass_context
def command(ctx: click.Context, file: Path, *, as_json: bool) -> None:
    """Check a configuration FILE and summarise it.

    Each error is printed with its line; the exit status is then 2.

    \b
      bestbefore check-config proxy.toml
      bestbefore check-config proxy.toml --json | jq .rules
    """  # noqa: D301 - click keeps lines after a backspace
    try:
        config = load_config(file)
    except ConfigError as error:
        if not as_json:
            raise
        click.echo(json.dumps({"file": str(file), "ok": False, "errors": error.format_message().split("\n")}))
        ctx.exit(2)
    if as_json:
        click.echo(json.dumps({"file": str(file), "ok": True, **_object(config)}, allow_nan=False))
        return
    click.echo(f"{file}: ok")
    prefetch = _format_prefetch(config.prefetch)
    hub = (*_format_section("websub", config.websub), *_format_section("hub", config.hub))
    for line in (*_format_settings(config.settings), *_format_rules(config.rules), *prefetch, *hub):
        click.echo(line)


def _object(config: Config) -> dict[str, object]:
    return {
        "proxy": _values(config.settings),
        "rules": [_rule(rule) for rule in (*config.rules.domains, config.rules.default)],
        **{name: _values(getattr(config, name)) for name in ("prefetch", "websub", "hub")},
    }


def _rule(rule: DomainRule) -> dict[str, object]:
    """Return a rule as JSON has it; that of [default] has the pattern `*`."""
    policy = {"name": rule.policy.name, "params": params(rule.policy)}
    return {**_values(rule), "policy": policy, "prefetch_limits": _values(rule.prefetch_limits)}


def _values(record: Any) -> dict[str, object]:
    return {field.name: _json_value(getattr(record, field.name)) for field in fields(record) if field.init}


def _json_value(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case frozenset():
            return sorted(map(str, value))
        case tuple() | list():
            return [_json_value(one) for one in value]
        case _:
            return str(value)


def _format_settings(settings: Settings) -> Iterator[str]:
    yield "proxy"
    for field in fields(settings):
        yield f"  {field.name:<20} {value_text(field.name, getattr(settings, field.name))}"
        if field.name == "passthrough":
            yield from _format_removals(settings)


def _format_removals(settings: Settings) -> Iterator[str]:
    hosts = not_removed(settings.state / REMOVED_FILE, settings.store, settings.passthrough)
    if hosts:
        named = ", ".join(hosts)
        yield f"    a proxy that starts with this, or reloads it, removes all copies and histories of {named}"


def _format_prefetch(settings: PrefetchSettings) -> Iterator[str]:
    if not settings.enabled:
        yield "prefetch: off"
        return
    yield "prefetch"
    for field in fields(settings):
        if not field.init:
            continue
        value = getattr(settings, field.name)
        yield f"  {field.name:<20} {value_text(field.name, value)}"
        if isinstance(value, PrefetchTarget) and value.measure == "delay" and value.value < SHORTEST_S / 2:
            yield (
                f"    out of reach: no object is fetched more often than every {span(SHORTEST_S)}, a mean delay of "
                f"{span(SHORTEST_S / 2)}, unless it changes like clockwork"
            )


def _format_section(name: str, settings: HubSettings | WebSubSettings) -> Iterator[str]:
    if settings == type(settings)():
        return
    yield name
    for field in fields(settings):
        yield f"  {field.name:<20} {value_text(field.name, getattr(settings, field.name))}"


def _format_rules(rules: Rules) -> Iterator[str]:
    yield "rules, of which the first that matches wins"
    for number, rule in enumerate(rules.domains, 1):
        yield f"  {number}. {rule.match}"
        before = (f"{n}" for n, other in enumerate(rules.domains[: number - 1], 1) if other.match.covers(rule.match))
        if covering := next(before, None):
            yield f"     never used: rule {covering} matches all that it does"
        yield from _format_rule(rule)
    yield f"  {len(rules.domains) + 1}. everything else"
    yield from _format_rule(rules.default)


def _format_rule(rule: DomainRule) -> Iterator[str]:
    yield f"     policy = {spec_text(rule.policy.name, params(rule.policy))}"
    yield f"     obey = {rule.obey}"
    for field in fields(rule):
        value = getattr(rule, field.name)
        if field.init and field.name not in _OWN_LINES and value != field.default:
            yield f"     {field.name} = {value_text(field.name, value)}"
    for field in fields(rule.prefetch_limits):
        value = getattr(rule.prefetch_limits, field.name)
        if value != field.default:
            yield f"     {field.name} = {limit_text(field.name, value)}"

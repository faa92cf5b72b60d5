"""`bestbefore replay`: what a recorded trace would have met under policies."""

import json
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from bestbefore.addon.errors import InputError
from bestbefore.policies.validation.policy import Policy
from bestbefore.policies.validation.spec import params, parse_spec
from bestbefore.replay import plain
from bestbefore.replay.commands.trace_options import read_given, trace_options
from bestbefore.replay.complete import Grouping
from bestbefore.replay.counts import Counts
from bestbefore.replay.scenario import Cache, Scenario


def _unix_time(_ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        time_s = float(value)
    except ValueError:
        time_s = math.nan
    if not 0.0 <= time_s < math.inf:
        raise InputError(f"{param.opts[0]} {value}: expected a number of Unix seconds, finite and 0 or more")
    return time_s


@click.command("replay", short_help="Replay recorded updates and requests under policies.")
@trace_options
@click.option("--test-start", "test_start_s", callback=_unix_time, metavar="T",
              help="Replay the requests from T on; updates before are history. Default: the origin.")
@click.option("--origin", "origin_s", callback=_unix_time, metavar="T0",
              help="When observation starts. Default: the earliest event.")
@click.option("--cache", type=click.Choice([c.value for c in Cache]), default=Cache.CLIENT.value,
              show_default=True, help="One cache for each client, or one for all.")
@click.option("--group", "grouping", type=click.Choice([g.value for g in Grouping]), default=Grouping.ALL.value,
              show_default=True,
              help="The group of AggHist: the whole trace, or the part of the object's name before the first /.")
@click.option("--policy", "specs", multiple=True, required=True, metavar="SPEC",
              help="name or name:key=value,key=value, e.g. indttl:theta=0.1,window=1d. May be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per policy, one a line.")
def command(
    updates_path: Path | None,
    requests_path: Path | None,
    log_path: Path | None,
    format_name: str | None,
    test_start_s: float | None,
    origin_s: float | None,
    cache: str,
    grouping: str,
    specs: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Replay recorded updates and requests under policies, and count hits, stale hits and validations."""
    policies = [_policy(spec) for spec in specs]
    updates, requests = read_given(updates_path, requests_path, log_path, format_name, warn=_warn, say=_say)
    if requests is None:
        raise InputError("the trace has no requests: expected --requests FILE, or a log of requests")
    try:
        scenario = Scenario.of(
            updates,
            requests,
            origin_s=origin_s,
            test_start_s=test_start_s,
            cache=Cache(cache),
            grouping=Grouping(grouping),
            warn=_warn,
        )
    except ValueError as error:
        raise InputError(str(error)) from None
    rows: list[tuple[str, Counts]] = []
    for spec, policy in zip(specs, policies, strict=True):
        with _progress(spec, len(scenario.requests)) as watch:
            counts = plain.replay(scenario, policy, watch)
        if as_json:
            click.echo(_json_line(policy, scenario, counts))
        else:
            rows.append((spec, counts))
    if rows:
        click.echo(_table(rows))


def _policy(spec: str) -> Policy:
    try:
        return parse_spec(spec)
    except ValueError as error:
        raise InputError(f"--policy {spec}: {error}") from None


def _warn(message: str) -> None:
    _say(f"warning: {message}")


def _say(message: str) -> None:
    click.echo(f"bestbefore replay: {message}", err=True)


@contextmanager
def _progress(spec: str, requests: int) -> Iterator[plain.Watch]:
    """A bar on stderr while the requests of one policy are replayed, if a person can see it."""
    if not sys.stderr.isatty():
        yield iter
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:

        def watch(rows: Iterator[plain.Row]) -> Iterable[plain.Row]:
            return progress.track(rows, total=requests, description=spec)

        yield watch


def _json_line(policy: Policy, scenario: Scenario, counts: Counts) -> str:
    return json.dumps(
        {
            "policy": policy.name,
            "params": params(policy),
            "cache": scenario.cache,
            "history": "complete",
            "through": "plain",
            **counts.by_name(),
        }
    )


def _table(rows: list[tuple[str, Counts]]) -> str:
    """Counts in columns, a policy a line."""
    lines = [["policy", *(name.replace("_", " ") for name in rows[0][1].by_name())]]
    lines += [[spec, *(f"{n:,}" for n in counts.by_name().values())] for spec, counts in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    )

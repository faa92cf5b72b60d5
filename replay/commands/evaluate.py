"""`bestbefore evaluate`: compare the validations of policies at equal stale rates."""

import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import click

from bestbefore.addon.admin.units import counted
from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.clusters.on_option import on_option
from bestbefore.replay.commands.clusters.parted_evaluate import EvaluatedParts
from bestbefore.replay.commands.messages import say, warn
from bestbefore.replay.commands.number_option import number
from bestbefore.replay.commands.papers import TRACES_VARIABLE, made
from bestbefore.replay.commands.progress import bar
from bestbefore.replay.commands.recommend import parse_share
from bestbefore.replay.commands.scenario_options import (
    group_option,
    jobs_option,
    origin_option,
    test_start_option,
)
from bestbefore.replay.commands.trace_options import TraceOptions, read_given, trace_options
from bestbefore.replay.evaluation import report, tables, targets
from bestbefore.replay.evaluation.case import Case, Known
from bestbefore.replay.evaluation.compared import FIXED, POINTS, Compared, all_compared
from bestbefore.replay.evaluation.comparison import Comparison
from bestbefore.replay.evaluation.evaluation import Evaluation, Setting
from bestbefore.replay.evaluation.halves import Half
from bestbefore.replay.evaluation.pairings import permuted
from bestbefore.replay.evaluation.recorded import recorded_cases
from bestbefore.replay.report.formatting import aligned
from bestbefore.replay.report.page import Page
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.traces.columns.selection import requests_of, updates_of
from bestbefore.replay.traces.errors import TraceError

STALE_RATES = ("1%", "2%", "5%", "10%")
NAME = "evaluation"
"""The name of the page."""
PAIRINGS = 5
"""The default of --pairings."""
OWN = "the given trace"
"""The family of the cases of a user's trace."""


def _shares(_ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> list[float]:
    parse = number("a share above 0, at most 1 or 100%", lambda share: 0.0 < share <= 1.0, parse_share)
    return sorted({share for value in values if (share := parse(_ctx, param, value)) is not None})


@click.command("evaluate", short_help="Compare policies at equal stale rates.")
@trace_options
@click.option("--traces", type=click.Path(path_type=Path, file_okay=False), envvar=TRACES_VARIABLE, metavar="DIR",
              help="Without --updates and --log: folder of recorded traces, as for bestbefore papers (default "
              f"${TRACES_VARIABLE}).")
@test_start_option
@origin_option
@group_option(Grouping.ALL)
@click.option("--cache", "caches", type=click.Choice([cache.value for cache in Cache]), multiple=True,
              default=[Cache.SHARED.value, Cache.CLIENT.value], help="One shared cache, or one per client. Repeatable; "
              "default: both.")
@click.option("--history", "histories", type=click.Choice([known.value for known in Known]), multiple=True,
              default=[known.value for known in Known], help="What policies know, as for bestbefore replay; first-day: "
              "the first 24 hours, without anything known before. Repeatable; default: all.")
@click.option("--stale-rate", "stale_rates", multiple=True, default=STALE_RATES, callback=_shares, metavar="SHARE",
              help="Stale hits among the requests that find a copy, at which policies are compared. Repeatable; "
              f"default: {', '.join(STALE_RATES)}.")
@click.option("--policy", "specs", multiple=True, metavar="SPEC",
              help="Policy to compare with the five of the paper and fixed, as NAME:KEY=VALUE,..., with a range of one "
              "parameter, such as squid:percent=1..80/12. Repeatable; the first one is shown in detail. Default: all.")
@click.option("--points", type=click.IntRange(2, 1000), default=POINTS, show_default=True, metavar="N",
              help="Number of values of the parameter of each policy that is not given with --policy.")
@click.option("--pairings", type=click.IntRange(0, 1000), metavar="N",
              help="Number of further traces in which the updates belong to other requests, drawn with seeds 1 to N "
              f"(default: {PAIRINGS}; with --trace none).")
@click.option("--half", type=click.Choice([half.value for half in Half]), default=Half.ALL.value, show_default=True,
              callback=lambda _ctx, _param, value: Half(value),
              help="Objects to use: all, or one half by a digest of their names, so that a policy can be tuned on one "
              "and reported on the other.")
@click.option("--trace", "parts_path", type=click.Path(path_type=Path), metavar="DIR",
              help="Instead of --updates and --requests: folder of a trace in parts (bestbefore convert --parts N), "
              "divided by its --group.")
@jobs_option
@on_option
@click.option("--out", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help=f"Write the page {NAME}.md to this folder. An interrupted run continues there.")
def command(
    trace: TraceOptions,
    traces: Path | None,
    test_start_s: float | None,
    origin_s: float | None,
    grouping: Grouping,
    caches: Sequence[str],
    histories: Sequence[str],
    stale_rates: Sequence[float],
    specs: Sequence[str],
    points: int,
    pairings: int | None,
    half: Half,
    parts_path: Path | None,
    jobs: int,
    on: str | None,
    folder: Path | None,
) -> None:
    """Compare the validations that policies need at equal stale rates, as multiples of those of the best known policy.

    Each policy is replayed over a range of its parameter on a trace, and on others with the same requests and updates
    but other pairs of them, so that differences that are chance are seen as such. The fewest validations that are
    possible at all are shown beside.

    \b
      bestbefore evaluate --updates updates.csv --requests requests.csv --test-start 1706918400
    """  # noqa: D301 - click keeps lines after a backspace
    policies = _policies(specs, points)
    conditions = [(Cache(cache), Known(known)) for cache in dict.fromkeys(caches) for known in dict.fromkeys(histories)]
    _refuse_what_does_not_fit(trace, parts_path, on, pairings)
    finished = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        finished = folder / f"{NAME}.jsonl"
    try:
        if parts_path is not None:
            parts = EvaluatedParts(
                parts_path, OWN, origin_s, test_start_s, grouping, half, conditions, policies, stale_rates
            )
            totals, outcomes = parts.results(on, jobs, finished)
            words = f"From a trace in parts, of {_counts(totals.requests, totals.updates)}. {_of_half(half)}"
        else:
            pairings = PAIRINGS if pairings is None else pairings
            cases, words = (
                _own(trace, test_start_s, origin_s, grouping, pairings, half)
                if traces is None or (trace.updates_path or trace.log_path)
                else _recorded(traces, pairings, half)
            )
            settings = [Setting(case, *condition) for case in cases for condition in conditions]
            outcomes = list(Evaluation(policies, settings, stale_rates).outcomes(jobs, finished, bar))
    except TraceError as error:
        raise InputError(str(error)) from None
    except BrokenProcessPool:
        raise click.ClickException("a process ended early: is memory short? (see --jobs)") from None
    except KeyboardInterrupt:
        if folder is not None:
            say(f"interrupted; what was finished is kept in {folder}, where the same command goes on")
        raise
    compared = Comparison(policies, outcomes, stale_rates)
    _print_tables(compared)
    if folder is not None:
        page = Page(NAME, made())
        spent = _spent(compared) if parts_path is None else _spent_in_parts(compared, on)
        report.write(page, compared, words, spent)
        click.echo(page.write(folder))


def _refuse_what_does_not_fit(
    trace: TraceOptions, parts_path: Path | None, on: str | None, pairings: int | None
) -> None:
    """Raise InputError for options that do not fit each other."""
    if parts_path is None:
        if on is not None:
            raise InputError("--on needs --trace DIR, a trace in parts (bestbefore convert --parts N)")
        return
    if trace != TraceOptions():
        raise InputError("--trace DIR replaces --updates, --requests and --log: give one or the others")
    if pairings:
        raise InputError(
            f"--pairings {pairings}: histories are exchanged between all objects, which no part of a trace holds: "
            "leave it out with --trace"
        )


def _print_tables(compared: Comparison) -> None:
    for family in compared.families:
        for place in compared.places:
            table = tables.of_policies(compared, family, place, ends=False)
            _print(f"{family}, {place}: validations as multiples of the best of the five", table)
        if tables.has_first_day(compared):
            table = tables.of_first_day(compared, family, ends=False)
            _print(f"{family}, first day: stale hits with the validations of ttl, as multiples of its own", table)
        held = targets.of_held(compared, family)
        if held[1]:
            _print(f"{family}, stale rates that are to be held", held)
        if compared.subject is not None:
            criteria = targets.criteria(compared, family)
            _print(f"{family}, criteria for the default", targets.of_criteria(criteria))
            click.echo(f"{targets.verdict(compared.subject.name, criteria)}\n")


def _print(title: str, table: tables.Table) -> None:
    heads, rows = table
    for line in (title, *aligned([heads, *rows], words=1), ""):
        click.echo(line)


def _spent(compared: Comparison) -> str:
    """Say how much was replayed, and the processor time."""
    minutes = sum(os.times()[:4]) / 60.0
    points = len(compared.outcomes) * (sum(len(one.points) for one in compared.policies) + 1)
    replayed = sum(outcome.replayed for outcome in compared.outcomes)
    before = f"; {points - replayed:,} others were finished in earlier runs" if replayed < points else ""
    most = max(len(one.points) for one in compared.policies)
    return (
        f"Parameters have up to {most} values. This run took {minutes:.1f} minutes of processor time for "
        f"{counted(replayed, 'replay')}{before}."
    )


def _spent_in_parts(compared: Comparison, on: str | None) -> str:
    """Say how much was replayed, and the processor time unless other machines spent it."""
    replayed = sum(outcome.replayed for outcome in compared.outcomes)
    most = max(len(one.points) for one in compared.policies)
    time = f" in {sum(os.times()[:4]) / 60.0:.1f} minutes of processor time" if on is None else ""
    return f"Parameters have up to {most} values. This run made {counted(replayed, 'replay')} of parts{time}."


def _policies(specs: Sequence[str], points: int) -> list[Compared]:
    """Return the policies to compare: all by default, else the five, `fixed` and the given ones. Raises InputError."""
    every = all_compared(points)
    if not specs:
        return every
    given = []
    for spec in specs:
        try:
            given.append(Compared.of(spec))
        except ValueError as error:
            raise InputError(f"--policy {spec}: {error}") from None
        if len(given[-1].points) == 1:
            warn(f"--policy {spec}: without a range of values it has a single stale rate")
    found = [one for one in every if one.is_of_paper or one.points[0].policy.name == FIXED]
    found += [one for one in given if one.name not in {other.name for other in found}]
    twice = next((name for name, n in Counter(one.name for one in given).items() if n > 1), None)
    if twice is not None:
        raise InputError(f"--policy: {twice} is given twice")
    return found


def _own(
    trace: TraceOptions, test_start_s: float | None, origin_s: float | None, grouping: Grouping, pairings: int,
    half: Half,
) -> tuple[list[Case], str]:
    """Return the cases of the given trace, and their description. Raises TraceError and InputError."""
    updates, requests = read_given(trace)
    if requests is None:
        raise InputError("the trace has no requests: expected --requests FILE, or a log of requests")
    names = {name for name in (*updates.objects, *requests.objects) if half.has(name)}
    updates, requests = updates_of(updates, names), requests_of(requests, names)
    if not len(requests):
        raise InputError(f"the {half} half of the objects has no requests")
    start_s = min(float(column.times_s[0]) for column in (updates, requests) if len(column))
    origin_s = start_s if origin_s is None else origin_s
    test_start_s = origin_s if test_start_s is None else test_start_s
    if test_start_s < origin_s:
        raise InputError(f"--test-start {test_start_s:.17g} lies before --origin {origin_s:.17g}")
    updates, requests = updates.since(origin_s), requests.since(origin_s)
    if not len(requests.since(test_start_s)):
        raise InputError(f"no request at or after the test start, {test_start_s:.17g}")
    own = Case(OWN, "as given", updates, requests, origin_s, test_start_s, grouping)
    others = [permuted(own, f"pairing {seed}", seed) for seed in range(1, pairings + 1)]
    words = f"""From a trace of {_counts(len(requests), len(updates))}, and
        {counted(pairings, "other")} in which the histories of the objects are exchanged at random. {_of_half(half)}"""
    return [own, *others], words


def _recorded(traces: Path, pairings: int, half: Half) -> tuple[list[Case], str]:
    """Return the cases of the folder of traces, and their description. Raises TraceError."""
    cases = recorded_cases(traces, half, pairings, warn)
    families = Counter(case.family for case in cases)
    generated = len(cases) - 1 - pairings
    words = f"""From {len(cases)} traces: {len(cases[0].requests):,} recorded requests with recorded updates of other
        sites (`paired`), {counted(pairings, "other")} of the same requests with updates of other objects and weeks,
        drawn from the same groups of sources, and for each of {generated} groups its updates with {list(families)[-1]}.
        {_of_half(half)}"""
    return cases, words


def _counts(requests: int, updates: int) -> str:
    return f"{requests:,} requests and {updates:,} updates"


def _of_half(half: Half) -> str:
    return "" if half is Half.ALL else f"Only the {half} half of the objects is used, by a digest of their names."



"""`bestbefore recommend`: choose the policies for the domains of a trace, as a configuration of the proxy.

Without a trace it reads the proxy's own traffic, and shows a change of the proxy's configuration.
"""

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from bestbefore.addon.admin.units import utc
from bestbefore.addon.commands.store_flags import store_options
from bestbefore.addon.config.domain_sections import DEFAULT_POLICY, LIVE_POLICIES
from bestbefore.addon.config.problems import printable
from bestbefore.addon.errors import InputError
from bestbefore.policies.validation.baselines.oracle import Oracle
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import params
from bestbefore.replay.candidates import CANDIDATES, bounded_candidates, controlled_candidates
from bestbefore.replay.commands.clusters.on_option import on_option
from bestbefore.replay.commands.clusters.parted_recommend import replays_in_parts
from bestbefore.replay.commands.messages import say, warn
from bestbefore.replay.commands.number_option import number
from bestbefore.replay.commands.own.changes import NoChangeError, changed, diff
from bestbefore.replay.commands.own.traffic import OwnTraffic, read_own
from bestbefore.replay.commands.progress import bar, in_order, spinner
from bestbefore.replay.commands.scenario_options import ScenarioOptions, jobs_option, scenario_options
from bestbefore.replay.commands.trace_options import TraceOptions, read_given, trace_options
from bestbefore.replay.parts import Parts
from bestbefore.replay.present import Present
from bestbefore.replay.recommend import PartCounts, Recommendation, WholeReplays, recommend, replayed
from bestbefore.replay.report.configuration import WRITTEN, summary, toml, unfounded
from bestbefore.replay.report.facts import condition_facts
from bestbefore.replay.report.formatting import percent
from bestbefore.replay.report.forms import json_rows, table
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.sweeps.grid import Point, points_of
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.whole_file import whole_file

NOTHING_TO_CHANGE = "nothing to change: none of the policies is better than those in use"
IMPLAUSIBLE = 0.5
"""The least stale rate for which a warning says that it may have been meant in percent."""


def parse_share(text: str) -> float:
    """Parse a share, perhaps in percent. Raises ValueError."""
    text = text.strip()
    return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


@click.command("recommend", short_help="Find the best policy for each domain.")
@trace_options
@scenario_options(Cache.SHARED, Grouping.DOMAIN)
@click.option("--history", type=click.Choice(["complete", "observed"]), default="observed", show_default=True,
              help="What policies know: all updates so far, or only what the contacts of a proxy would have shown.")
@click.option("--stale-rate", "largest_stale_rate", required=True, metavar="SHARE",
              callback=number(
                  "a share from 0 to 1, or from 0% to 100%", lambda share: 0.0 <= share <= 1.0, parse_share
              ),
              help="Largest share of stale hits among the requests that find a copy, such as 0.01 or 1%.")
@click.option("--policy", "specs", multiple=True, metavar="SPEC",
              help="Policy to choose from: NAME or NAME:KEY=VALUE,...; a value may be a range A..B/N of N values. "
              f"Repeatable. Default: several of each kind. Names: {', '.join(LIVE_POLICIES)}.")
@click.option("--present", metavar="SPEC",
              help="Policy in use now, NAME or NAME:KEY=VALUE,..., which is compared with those to choose from "
              f"(default: {DEFAULT_POLICY}; with the proxy's own traffic, what its configuration says).")
@store_options
@jobs_option
@on_option
@click.option("--trace", "parts_path", type=click.Path(path_type=Path), metavar="DIR",
              help="Instead of --updates and --requests: folder of a trace in parts, divided by its groups (bestbefore "
              "convert --parts N --by domain).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON objects, one per line: the choice for each "
              "domain, the policy in use now, and each candidate.")
@click.option("--out", "out_path", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the configuration to this TOML file, which must be another than --config, and print a table "
              "instead.")
def command(
    trace: TraceOptions,
    scenario: ScenarioOptions,
    history: str,
    largest_stale_rate: float,
    specs: tuple[str, ...],
    present: str | None,
    config_file: Path | None,
    jobs: int,
    on: str | None,
    parts_path: Path | None,
    as_json: bool,
    out_path: Path | None,
    **options: str | None,
) -> None:
    """Find, for each domain, the policy with the fewest validations at a given stale rate.

    Without a trace, it reads what the proxy of --config has logged and learnt (traffic_log = true), while that runs or
    not, and prints the change of its configuration as a diff. No file is changed.

    The policy is chosen on the first two thirds of the time and tested on the rest. From a trace, the output is a
    configuration for bestbefore proxy --config FILE.

    \b
      bestbefore recommend --stale-rate 1% --config proxy.toml
      bestbefore recommend --stale-rate 1% --config proxy.toml --out new.toml
      bestbefore recommend --stale-rate 1% --log access.log --out proxy.toml
    """  # noqa: D301 - click keeps lines after a backspace
    # With complete histories a controlled price has no fast engine.
    controlled = controlled_candidates(largest_stale_rate) if history == "observed" else ()
    candidates = _candidates(specs or (*CANDIDATES, *bounded_candidates(largest_stale_rate), *controlled), "--policy")
    if largest_stale_rate >= IMPLAUSIBLE:
        warn(f"{percent(largest_stale_rate)} stale hits are asked for; 1 % is written 1% or 0.01")
    _check_out(out_path, config_file)
    warm = Warm.CONTACTS if history == "observed" else None
    own = None if _is_parted(parts_path, on, trace, config_file, options) else _own(
        trace, present, config_file, options
    )
    if own is None:
        in_use = Present(_candidates([present or DEFAULT_POLICY], "--present")[0])
    else:
        in_use = Present.configured(own.config.rules, own.toml, {*own.updates.objects, *own.requests.objects})
        # What is in use comes first, so that only what is better takes its place.
        candidates = [*{point.spec: point for point in (in_use.default, *in_use.rules.values(), *candidates)}.values()]
    if parts_path is not None:
        tried = [replayed(point, in_use.bounds) for point in (in_use.default, *candidates)]
        with replays_in_parts(parts_path, scenario, warm, tried, on, jobs) as (first, then, times):
            found = recommend(first, then, candidates, largest_stale_rate, in_use)
    else:
        found, times = _recommended(trace, own, scenario, warm, candidates, largest_stale_rate, in_use, jobs)
    remarks = list(_remarks(found))
    files = (trace.updates_path, trace.requests_path, trace.log_path, parts_path)
    if own is None:
        known = condition_facts(scenario.cache, scenario.grouping, is_complete=warm is None, tells_times=True)
        text, difference = toml(found, _facts(known, times, [path for path in files if path is not None])), None
    else:
        text = _changed(found, own, config_file)
        difference = diff(own.toml, text, config_file)
    for remark in remarks:
        warn(remark)
    if as_json:
        last = [] if difference is None else [{"diff": "".join(f"{e}\n" for e in difference), "warnings": remarks}]
        lines: Iterable[str] = map(json.dumps, (*json_rows(found), *last))
    else:
        lines = _printed(found, difference, None if out_path is not None else text)
    for line in lines:
        click.echo(line)
    if out_path is not None:
        _write(out_path, text if WRITTEN in text else f"{WRITTEN}\n{text}")


def _is_parted(
    parts_path: Path | None, on: str | None, trace: TraceOptions, config_file: Path | None,
    options: Mapping[str, str | None],
) -> bool:
    """Whether a trace in parts is given. Raises InputError for options that do not fit."""
    if parts_path is None:
        if on is not None:
            raise InputError("--on needs --trace DIR, a trace in parts (bestbefore convert --parts N)")
        return False
    if trace != TraceOptions():
        raise InputError("--trace DIR replaces --updates, --requests and --log: give one or the others")
    _refuse_proxy(config_file, options)
    return True


def _recommended(
    trace: TraceOptions, own: OwnTraffic | None, scenario: ScenarioOptions, warm: Warm | None,
    candidates: Sequence[Point], largest_stale_rate: float, in_use: Present, jobs: int,
) -> tuple[Recommendation, tuple[float, float, float]]:
    """Return the recommendation from a trace in memory, and the times of start, split and end. Raises InputError."""
    updates, requests = (own.updates, own.requests) if own is not None else read_given(trace)
    if requests is None:
        raise InputError("the trace has no requests: expected --requests FILE, or a log of requests")
    if own is not None and scenario.test_start_s is None:
        scenario = replace(scenario, test_start_s=float(requests.times_s[0]))
    try:
        parts = Parts.of(scenario.made(updates, requests, warm), requests)
    except ValueError as error:
        raise InputError(str(error)) from None

    def evaluate(count: Callable[[Policy], PartCounts], policies: Sequence[Policy]) -> list[PartCounts]:
        return in_order(parallel_map(count, policies, jobs), len(policies), "policies")

    first, then = Engines(parts.first, bar=bar), Engines(parts.then, bar=bar)
    _compile(first, [Oracle(), *(replayed(point, in_use.bounds) for point in candidates)])
    replays = WholeReplays(first, evaluate), WholeReplays(then, evaluate)
    found = recommend(*replays, candidates, largest_stale_rate, in_use)
    return found, (parts.start_s, parts.split_s, parts.end_s)


def _compile(engines: Engines, policies: Sequence[Policy]) -> None:
    """Compile the policies, as the first question after each does, while this is shown."""
    with spinner("compiling"):
        for policy in policies:
            engines.obstacle(policy)


def _printed(found: Recommendation, difference: Sequence[str] | None, text: str | None) -> Iterable[str]:
    """Return the lines to print: tables, the difference or the configuration; neither if `text` goes to a file."""
    if difference is None and text is not None:
        return text.splitlines()
    shown = [] if text is None else ["", *(map(_coloured, difference) if difference else [NOTHING_TO_CHANGE])]
    return (*summary(found), "", *table(found), *shown)


def _changed(found: Recommendation, own: OwnTraffic, config_file: Path | None) -> str:
    try:
        return changed(found, own.toml, own.config.rules, config_file)
    except NoChangeError as error:
        raise InputError(str(error)) from None


def _own(
    trace: TraceOptions, present: str | None, config_file: Path | None, options: Mapping[str, str | None]
) -> OwnTraffic | None:
    """Return the traffic of the proxy, if no trace is given. Raises InputError."""
    if trace != TraceOptions():
        _refuse_proxy(config_file, options)
        return None
    if present is not None:
        raise InputError("--present is for a trace: a proxy's policies in use are those of its configuration")
    return read_own(config_file, options)


def _refuse_proxy(config_file: Path | None, options: Mapping[str, str | None]) -> None:
    if config_file is not None or any(value is not None for value in options.values()):
        raise InputError("--config, --state and --store name a proxy, whose traffic is read in place of a trace")


def _coloured(line: str) -> str:
    """Return a line of a diff in its colour, which click leaves out where there is no terminal."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return click.style(line, fg=colours[line[0]]) if line[:1] in colours else line


def _write(path: Path, text: str) -> None:
    try:
        with whole_file(path) as file:
            file.write(text.encode())
    except OSError:
        click.echo(f"\n{text}", nl=False)  # so that minutes of work are not lost
        raise
    say(f"{path} is written; the proxy takes it: bestbefore proxy --config {shlex.quote(str(path))}")


def _check_out(path: Path | None, config_file: Path | None) -> None:
    """Refuse an unwritable file before the replays, and a configuration that was not written by this command."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise InputError(f"--out {path}: the folder does not exist")
    if config_file is not None and path.exists() and config_file.exists() and path.samefile(config_file):
        raise InputError(f"--out {path}: this is the configuration in force: give another file")
    if path.is_file() and path.stat().st_size and WRITTEN not in path.read_text(errors="replace").splitlines():
        raise InputError(f"--out {path}: exists and was not written by bestbefore recommend: give another file")


def _candidates(specs: Sequence[str], option: str) -> list[Point]:
    points = []
    for spec in specs:
        try:
            points += points_of(spec)
        except ValueError as error:
            raise InputError(f"{option} {spec}: {error}") from None
        policy = points[-1].policy
        if policy.name not in LIVE_POLICIES:
            raise InputError(f"{option} {spec}: it can only be replayed; expected one of {', '.join(LIVE_POLICIES)}")
        if "max_ttl" in points[-1].written and params(policy)["max_ttl"] == "inf":
            raise InputError(f"{option} {spec}: max_ttl=inf can only be replayed; expected a duration")
    return points


def _remarks(found: Recommendation) -> Iterator[str]:
    """Yield what is to be warned of."""
    if not found.is_founded:
        yield unfounded(found)
    missed = [domain for domain, choice in found.domains.items() if not choice.reached]
    missed += [] if found.default.reached else ["all domains together"]
    if missed:
        more = f" and {len(missed) - 3:,} more" if len(missed) > 3 else ""
        asked = percent(found.largest_stale_rate)
        yield f"no candidate keeps to {asked} stale hits for {', '.join(missed[:3])}{more}: the nearest is chosen"


def _facts(known: Mapping[str, str], times: tuple[float, float, float], files: Sequence[Path]) -> list[str]:
    start, split, end = map(utc, times)
    return [
        f"From {', '.join(printable(path.name) for path in files)}. Chosen on the first part, {start} to "
        f"{split}, and tried on the second, to {end}.",
        *(f"{thing.capitalize()}: {known[thing]}." for thing in ("caches", "histories", "groups")),
        "What is not set here (max_ttl, fallback and so on) was as the proxy has it by default.",
    ]

"""`bestbefore recommend`: choose the policies for the domains of a trace, as a configuration of the proxy."""

import json
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from bestbefore.addon.admin.units import utc
from bestbefore.addon.config.domain_sections import DEFAULT_POLICY, LIVE_POLICIES
from bestbefore.addon.config.problems import printable
from bestbefore.addon.errors import InputError
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import params
from bestbefore.replay.candidates import CANDIDATES, bounded_candidates, controlled_candidates
from bestbefore.replay.commands.messages import say, warn
from bestbefore.replay.commands.number_option import number
from bestbefore.replay.commands.progress import bar, in_order
from bestbefore.replay.commands.scenario_options import ScenarioOptions, jobs_option, scenario_options
from bestbefore.replay.commands.trace_options import TraceOptions, read_given, trace_options
from bestbefore.replay.parts import Parts
from bestbefore.replay.recommend import PartCounts, Recommendation, recommend
from bestbefore.replay.report.configuration import WRITTEN, summary, toml, unfounded
from bestbefore.replay.report.facts import facts
from bestbefore.replay.report.formatting import percent
from bestbefore.replay.report.forms import json_rows, table
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.sweeps.grid import Point, points_of
from bestbefore.replay.sweeps.parallel import parallel_map
from bestbefore.replay.whole_file import whole_file

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
@click.option("--present", default=DEFAULT_POLICY, show_default=True, metavar="SPEC",
              help="Policy in use now, NAME or NAME:KEY=VALUE,..., which is compared with those to choose from.")
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON objects, one per line: the choice for each "
              "domain, the policy in use now, and each candidate.")
@click.option("--out", "out_path", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the configuration to this TOML file, and print a table instead.")
def command(
    trace: TraceOptions,
    scenario: ScenarioOptions,
    history: str,
    largest_stale_rate: float,
    specs: tuple[str, ...],
    present: str,
    jobs: int,
    as_json: bool,
    out_path: Path | None,
) -> None:
    """Find, for each domain of a trace, the policy with the fewest validations at a given stale rate.

    The policy is chosen on the first two thirds of the time and tested on the rest. The output is a configuration for
    bestbefore proxy --config FILE.

    \b
      bestbefore recommend --log access.log --stale-rate 1% --out proxy.toml
    """  # noqa: D301 - click keeps lines after a backspace
    # With complete histories a controlled price has no fast engine.
    controlled = controlled_candidates(largest_stale_rate) if history == "observed" else ()
    candidates = _candidates(specs or (*CANDIDATES, *bounded_candidates(largest_stale_rate), *controlled), "--policy")
    if largest_stale_rate >= IMPLAUSIBLE:
        warn(f"{percent(largest_stale_rate)} stale hits are asked for; 1 % is written 1% or 0.01")
    if out_path is not None:
        _check_out(out_path)
    updates, requests = read_given(trace)
    if requests is None:
        raise InputError("the trace has no requests: expected --requests FILE, or a log of requests")
    try:
        whole = scenario.made(updates, requests, Warm.CONTACTS if history == "observed" else None)
        parts = Parts.of(whole, requests)
    except ValueError as error:
        raise InputError(str(error)) from None

    def evaluate(count: Callable[[Policy], PartCounts], policies: Sequence[Policy]) -> list[PartCounts]:
        return in_order(parallel_map(count, policies, jobs), len(policies), "policies")

    found = recommend(
        Engines(parts.first, bar=bar), Engines(parts.then, bar=bar), candidates, largest_stale_rate, evaluate,
        _candidates([present], "--present")[0],
    )
    _tell_what_is_not_reached(found)
    files = (trace.updates_path, trace.requests_path, trace.log_path)
    text = toml(found, _facts(parts, [path for path in files if path is not None]))
    for line in _printed(found, None if out_path is not None else text, as_json=as_json):
        click.echo(line)
    if out_path is None:
        return
    try:
        with whole_file(out_path) as file:
            file.write(text.encode())
    except OSError:
        click.echo(f"\n{text}", nl=False)  # so that minutes of work are not lost
        raise
    say(f"{out_path} is written; the proxy takes it: bestbefore proxy --config {shlex.quote(str(out_path))}")


def _printed(found: Recommendation, text: str | None, *, as_json: bool) -> Iterable[str]:
    """Return the lines to print: JSON, the configuration, or, if `text` is None as it goes to a file, tables."""
    if as_json:
        return map(json.dumps, json_rows(found))
    return (*summary(found), "", *table(found)) if text is None else text.splitlines()


def _check_out(path: Path) -> None:
    """Refuse an unwritable file before the replays, and a configuration that was not written by this command."""
    if not path.parent.is_dir():
        raise InputError(f"--out {path}: the folder does not exist")
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


def _tell_what_is_not_reached(found: Recommendation) -> None:
    if not found.is_founded:
        warn(unfounded(found))
    missed = [domain for domain, choice in found.domains.items() if not choice.reached]
    missed += [] if found.default.reached else ["all domains together"]
    if missed:
        more = f" and {len(missed) - 3:,} more" if len(missed) > 3 else ""
        asked = percent(found.largest_stale_rate)
        warn(f"no candidate keeps to {asked} stale hits for {', '.join(missed[:3])}{more}: the nearest is chosen")


def _facts(parts: Parts, files: Sequence[Path]) -> list[str]:
    known = facts(parts.then)
    return [
        f"From {', '.join(printable(path.name) for path in files)}. Chosen on the first part, {utc(parts.start_s)} to "
        f"{utc(parts.split_s)}, and tried on the second, to {utc(parts.end_s)}.",
        *(f"{thing.capitalize()}: {known[thing]}." for thing in ("caches", "histories", "groups")),
        "What is not set here (max_ttl, fallback and so on) was as the proxy has it by default.",
    ]

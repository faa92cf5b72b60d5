"""The options of a replay for histories, engine, refreshes and breakdowns."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import click

from bestbefore.addon.errors import InputError
from bestbefore.policies.validation.machinery.spec import parse_duration
from bestbefore.replay.commands.file_option import file_option
from bestbefore.replay.commands.messages import warn
from bestbefore.replay.commands.option_groups import Command, passed_as
from bestbefore.replay.commands.progress import bar
from bestbefore.replay.commands.scenario_options import ScenarioOptions
from bestbefore.replay.simulate.breakdown import DOMAIN, Breakdown
from bestbefore.replay.simulate.counts import Counts, RefreshCounts
from bestbefore.replay.simulate.engines import Engines, Through
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.refresh import RefreshScenario
from bestbefore.replay.simulate.runs import RefreshRun, RequestRun, Run
from bestbefore.replay.sweeps.progress import Bar
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.objects import read_labels
from bestbefore.replay.traces.errors import TraceError

CLASS = "class"
DEFAULT_MIN_INTERVAL_S = 1.0
HISTORIES = ("complete", "observed", "changed", "both")
TAKEN = {
    "policy", "params", "cache", "history", "warm", "through",
    *Counts.total([]).by_name(), *RefreshCounts.total([]).by_name(),
}
"""The names of reported values, which the column of --by must not have."""


def _interval(_ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        interval_s = parse_duration(value)
    except ValueError as error:
        raise InputError(f"{param.opts[0]}: {error}") from None
    if not 0.0 < interval_s < math.inf:
        raise InputError(f"{param.opts[0]} {value}: expected a duration of more than 0")
    return interval_s


def run_options(command: Command) -> Command:
    """Add the options of a run, passed as a `RunOptions` named `options`.

    --history, --warm, --through, --refresh, --min-interval, --per-domain, --objects and --by.
    """
    command = passed_as(RunOptions, "options")(command)
    for option in (
        click.option("--by", "column", metavar="COLUMN",
                     help=f"Column of --objects to group by (default {CLASS})."),
        file_option("--objects", "objects_path",
                    "Report per part of the trace: CSV file with the columns object and that of --by, or a list of "
                    "feeds (OPML), by its folders."),
        click.option("--per-domain", is_flag=True, help="Report per domain."),
        click.option("--min-interval", "min_interval_s", callback=_interval, metavar="DURATION",
                     help="With --refresh: shortest time between two refreshes of an object, in seconds or with s, "
                     "m, h or d (default 1s)."),
        click.option("--refresh", is_flag=True,
                     help="Refresh each object when its policy says, without requests, and measure delays."),
        click.option("--through", type=click.Choice([through.value for through in Through]),
                     help="Engine, all with the same counts: fast (the default, compiled), plain (interpreted) or "
                     "addon (the code of the proxy, a thousand times slower)."),
        click.option("--warm", type=click.Choice([warm.value for warm in Warm]),
                     help="With --history observed or changed, what is known at the test start: what the contacts "
                     "before it showed (the default), nothing, or everything."),
        click.option("--history", type=click.Choice(HISTORIES), default=HISTORIES[0], show_default=True,
                     help="What policies know: all updates so far; only what the contacts of a proxy would have "
                     "shown; the same from origins that send no Last-Modified, so that a contact shows only whether "
                     "the object changed; or both of the first two, one after the other."),
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The values of `run_options`."""

    history: str
    warm: str | None
    through: str | None
    refresh: bool
    min_interval_s: float | None
    per_domain: bool
    objects_path: Path | None
    column: str | None

    def check(self) -> None:
        """Raise InputError for options that exclude each other."""
        if self.warm is not None and self.history == HISTORIES[0]:
            raise InputError("--warm needs --history observed, changed or both")
        if self.refresh and self.through not in (None, Through.PLAIN):
            raise InputError(f"--through {self.through}: --refresh always uses the plain engine")
        if self.min_interval_s is not None and not self.refresh:
            raise InputError("--min-interval needs --refresh")
        if self.column is not None and self.objects_path is None:
            raise InputError("--by needs --objects FILE")
        if self.column in TAKEN:
            raise InputError(f"--by {self.column}: this is the name of a reported value; rename the column")
        if self.column == DOMAIN and self.per_domain:
            raise InputError("--by domain and --per-domain exclude each other")

    def replaying(
        self,
        updates: Updates,
        requests: Requests,
        given: ScenarioOptions,
        warn: Callable[[str], None] = warn,
        bar: Bar = bar,
    ) -> list[Run]:
        """Make the replays of these requests, one for each kind of history. Raises ValueError and InputError."""
        warms = self.warms
        scenario = given.made(updates, requests, warms[-1], tells_times=self.tells_times, warn=warn)
        parted = self._breakdowns(lambda: scenario.objects, warn)
        complete = replace(scenario, warmup=None)
        return [
            RequestRun(Engines(complete if warm is None else scenario, self.engine, bar), warm, parted)
            for warm in warms
        ]

    def with_whole_path(self) -> "RunOptions":
        """Return the same options, for a process in another folder."""
        return replace(self, objects_path=None if self.objects_path is None else self.objects_path.resolve())

    @property
    def engine(self) -> Through:
        """The preferred engine."""
        return Through.FAST if self.through is None else Through(self.through)

    def refreshing(self, updates: Updates, given: ScenarioOptions) -> list[Run]:
        """Make the replays of refreshes, one for each kind of history. Raises ValueError and InputError."""
        interval_s = DEFAULT_MIN_INTERVAL_S if self.min_interval_s is None else self.min_interval_s
        scenario = RefreshScenario.of(
            updates,
            origin_s=given.origin_s,
            test_start_s=given.test_start_s,
            grouping=given.grouping,
            warn=warn,
        )
        parted = self._breakdowns(lambda: scenario.known.histories, warn)
        scenario = replace(scenario, tells_times=self.tells_times)
        return [RefreshRun(replace(scenario, warm=warm), interval_s, parted) for warm in self.warms]

    @property
    def tells_times(self) -> bool:
        """Whether contacts show when an object last changed."""
        return self.history != "changed"

    @property
    def warms(self) -> list[Warm | None]:
        """Return the observed histories at the test start of each replay; None for complete histories."""
        observed = Warm.CONTACTS if self.warm is None else Warm(self.warm)
        choices: dict[str, list[Warm | None]] = {"complete": [None], "both": [None, observed]}
        return choices.get(self.history, [observed])

    @property
    def breakdown_keys(self) -> list[str]:
        """The kinds of the parts that are reported, such as `domain`."""
        return [DOMAIN] * self.per_domain + [self.column or CLASS] * (self.objects_path is not None)

    def _breakdowns(
        self, all_objects: Callable[[], Iterable[str]], warn: Callable[[str], None]
    ) -> list[Breakdown]:
        """Return the breakdowns of these objects, with a warning if the file of objects lacks some."""
        if not self.per_domain and self.objects_path is None:
            return []
        objects = list(all_objects())
        found = [Breakdown.by_domain(objects)] if self.per_domain else []
        if self.objects_path is not None:
            column = CLASS if self.column is None else self.column
            try:
                labels = read_labels(self.objects_path, column)
            except TraceError as error:
                raise InputError(str(error)) from None
            missing = [object_ for object_ in objects if object_ not in labels]
            if missing:
                warn(f"{self.objects_path}: {len(missing):,} objects are missing, such as {missing[0]!r}")
            found.append(Breakdown.by_label(column, labels, objects))
        return found

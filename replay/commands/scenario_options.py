"""The options of a replay for its times, cache and groups, and for the number of processes."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import click

from bestbefore.replay.commands.messages import warn
from bestbefore.replay.commands.number_option import number
from bestbefore.replay.commands.option_groups import Command, passed_as
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

_unix_time = number("a number of Unix seconds, finite and 0 or more", lambda time_s: 0.0 <= time_s < math.inf)


@dataclass(frozen=True, slots=True)
class ScenarioOptions:
    """The values of `scenario_options`."""

    origin_s: float | None
    test_start_s: float | None
    cache: Cache
    grouping: Grouping

    def from_(self, origin_s: float) -> "ScenarioOptions":
        """Return the same options with this origin."""
        return replace(self, origin_s=origin_s)

    def made(
        self,
        updates: Updates,
        requests: Requests,
        warm: Warm | None,
        *,
        tells_times: bool = True,
        warn: Callable[[str], None] = warn,
    ) -> Scenario:
        """Make the scenario of a trace; see `Scenario.of`. Raises ValueError."""
        return Scenario.of(
            updates,
            requests,
            origin_s=self.origin_s,
            test_start_s=self.test_start_s,
            cache=self.cache,
            grouping=self.grouping,
            warm=warm,
            tells_times=tells_times,
            warn=warn,
        )


def group_option(grouping: Grouping) -> Callable[[Command], Command]:
    """Make the option --group with this default."""
    return click.option("--group", "grouping", type=click.Choice([g.value for g in Grouping]), default=grouping.value,
                        show_default=True, callback=lambda _ctx, _param, value: Grouping(value),
                        help="Group of an object, whose pattern agghist uses: the whole trace; the part of its name "
                        "before the first /; or, as in the proxy, the registrable domain of its host.")


origin_option = click.option("--origin", "origin_s", callback=_unix_time, metavar="UNIX_SECONDS",
                             help="Time at which observation starts (default: the earliest event).")
test_start_option = click.option("--test-start", "test_start_s", callback=_unix_time, metavar="UNIX_SECONDS",
                                 help="Time from which requests are replayed; updates before it are history (default: "
                                 "that of --origin).")


def scenario_options(cache: Cache, grouping: Grouping) -> Callable[[Command], Command]:
    """Add --test-start, --origin, --cache and --group with these defaults, passed as the argument `scenario`."""

    def add(command: Command) -> Command:
        command = passed_as(ScenarioOptions, "scenario")(command)
        for option in (
            group_option(grouping),
            click.option("--cache", type=click.Choice([c.value for c in Cache]), default=cache.value,
                         show_default=True, callback=lambda _ctx, _param, value: Cache(value),
                         help="One cache per client, or one shared cache."),
            origin_option,
            test_start_option,
        ):
            command = option(command)
        return command

    return add


jobs_option = click.option("--jobs", type=click.IntRange(min=1), default=os.cpu_count() or 1, metavar="N",
                           help="Number of processes (default: one per core).")

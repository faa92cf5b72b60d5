"""A comparison of policies on the traffic of the last days: at most one at a time, its result kept for a day."""

import asyncio
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from bestbefore.addon.config.load import Config, load_config
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.dashboard.comparison.command import CommandFailedError, Row, run_command
from bestbefore.addon.dashboard.comparison.result import ComparisonResult, compared_specs, result_of
from bestbefore.policies.units import DAY_S

FOLDER = "comparison"
"""The folder in the state folder that has the exported trace while a comparison runs."""
KEPT_S = DAY_S
LONGEST_S = 7_200.0
"""After which a comparison is ended."""
CANCELLED = "it was cancelled"
STEPS = ("export", "replay", "recommend")


@dataclass(slots=True)
class Step:
    """A command of a comparison."""

    name: str
    began_s: float | None = None
    """By the monotonic clock; None: it waits."""
    ended_s: float | None = None
    done: float | None = None
    """The part that is done; None: unknown."""


@dataclass(slots=True)
class Run:
    """A comparison that runs or has ended."""

    days: float
    largest_stale_rate: float
    began_s: float
    """Policy time."""
    steps: tuple[Step, ...] = field(default_factory=lambda: tuple(map(Step, STEPS)))
    result: ComparisonResult | None = None
    failure: str = ""
    """Why it has no result, for the user."""
    ended_s: float | None = None
    """Policy time."""


class PolicyComparison:
    """Runs comparisons. Must be closed."""

    def __init__(self, state: Path, now: Callable[[], float], monotonic: Callable[[], float]) -> None:
        """`now` returns policy time. `state`: the state folder."""
        self._folder = state / FOLDER
        shutil.rmtree(self._folder, ignore_errors=True)  # which a proxy has left that was killed
        self._now = now
        self._monotonic = monotonic
        self._run: Run | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def last(self) -> Run | None:
        """The one that runs, or the last one if it ended less than `KEPT_S` ago."""
        run = self._run
        if run is not None and run.ended_s is not None and self._now() > run.ended_s + KEPT_S:
            self._run = run = None
        return run

    @property
    def is_running(self) -> bool:
        return self._run is not None and self._run.ended_s is None

    def start(self, config: Config, config_file: Path | None, days: float, largest_stale_rate: float) -> None:
        """Begin, unless one runs already. Raises ValueError for what cannot be compared."""
        if not 0.0 < largest_stale_rate < 1.0:
            raise ValueError("the share of stale hits must be between 0 and 100 %")
        if not 0.0 < days <= 3660.0:
            raise ValueError("the number of days must be positive")
        if not config.settings.traffic_log:
            raise ValueError("no requests are logged: set traffic_log = true in [proxy]")
        if self.is_running:
            return
        self._run = run = Run(days, largest_stale_rate, self._now())
        self._task = asyncio.create_task(self._compare(run, config, config_file, self._task))

    def cancel(self) -> None:
        """End the one that runs. Its processes end soon after: at the lowest priority that may take seconds."""
        if self._task is not None and self.is_running:
            self._task.cancel()
            assert self._run is not None
            self._run.failure, self._run.ended_s = CANCELLED, self._now()

    async def close(self) -> None:
        """End the one that runs, and wait until its processes have ended."""
        self.cancel()
        await _ended(self._task)

    def steps(self) -> list[tuple[Step, float]]:
        """Return the steps of the last one as they are now, and for how long each has run."""
        now_s, steps = self._monotonic(), () if self.last is None else self.last.steps
        return [(replace(one), (one.ended_s or now_s) - (one.began_s or now_s)) for one in steps]

    async def _compare(
        self, run: Run, config: Config, config_file: Path | None, before: asyncio.Task[None] | None
    ) -> None:
        try:
            await _ended(before)  # it may not have ended its processes and removed its folder
            async with asyncio.timeout(LONGEST_S):
                run.result = await self._result(run, config, config_file)
        except CommandFailedError as error:
            run.failure = str(error)
        except TimeoutError:
            run.failure = f"it was ended, as it took longer than {LONGEST_S / 60:g} minutes"
        except (OSError, KeyError, TypeError, ValueError, IndexError) as error:
            run.failure = f"the result cannot be used: {type(error).__name__}: {error}"
        except asyncio.CancelledError:
            run.failure = CANCELLED
            raise
        finally:
            await _ended(before)  # also where this one was cancelled meanwhile
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
            run.ended_s = run.ended_s or self._now()

    async def _result(self, run: Run, config: Config, config_file: Path | None) -> ComparisonResult:
        store = await asyncio.to_thread(_store_options, config, config_file)
        of_export, of_replay, of_recommend = run.steps
        exported = (await self._step(of_export, ["export", "--out", str(self._folder), "--json", *store]))[0]
        if not exported["requests"]:
            raise CommandFailedError("no request was logged yet")
        trace = _trace_options(exported["replay"], run.began_s - run.days * DAY_S)
        specs = compared_specs(config.rules.default.policy)
        policies = [part for spec in specs for part in ("--policy", spec)]
        as_json = ("--json", "--jobs", "1")
        replayed = await self._step(of_replay, ["replay", *trace, *policies, *as_json])
        start = trace.index("--test-start")
        asked = ("--stale-rate", str(run.largest_stale_rate), *trace[start : start + 2])
        try:
            recommended = await self._step(of_recommend, ["recommend", *asked, *as_json, *store])
        except CommandFailedError as error:  # there may be too little traffic for it
            run.failure, recommended = str(error), []
        return result_of(exported, replayed, recommended, run.largest_stale_rate, specs[-1])

    async def _step(self, step: Step, arguments: Sequence[str]) -> list[Row]:
        def progressed(done: float) -> None:
            step.done = done

        step.began_s = self._monotonic()
        rows = await run_command(arguments, progressed)
        step.ended_s = self._monotonic()
        return rows


async def _ended(task: asyncio.Task[None] | None) -> None:
    """Wait until a task has ended."""
    if task is not None:
        await asyncio.wait([task])


def _store_options(config: Config, config_file: Path | None) -> list[str]:
    """Return the options with which a command finds the store of this proxy.

    The store's URL, which may have a password, is given only if the file has another: then it is already an option of
    the proxy.
    """
    settings = config.settings
    options = ["--state", str(settings.state)]
    of_file = None
    if config_file is not None:
        options += ["--config", str(config_file)]
        with suppress(ConfigError):
            of_file = load_config(config_file).settings.store
    return options if settings.store == (of_file or "embedded") else [*options, "--store", settings.store]


def _trace_options(replay: str, since_s: float) -> list[str]:
    """Return the options of the command that replays an export, for the requests from a moment on.

    >>> _trace_options("bestbefore replay --requests 'r 1.csv' --test-start 5 --cache shared --policy ttl", 7.0)
    ['--requests', 'r 1.csv', '--test-start', '7.000', '--cache', 'shared']
    """

    def given() -> Iterator[str]:
        words = iter(shlex.split(replay)[2:])
        for option, value in zip(words, words, strict=True):
            if option == "--test-start":
                yield from (option, value if float(value) >= since_s else f"{since_s:.3f}")
            elif option != "--policy":
                yield from (option, value)

    return list(given())

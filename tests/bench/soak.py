"""Whether the proxy endures: an hour of requests while origins fail, and store and workers are killed.

    python tests/bench/soak.py --minutes 60 --out docs/results/soak.md

Linux only, since it reads /proc. `soak_origin.py` is the origin, `soak_clients.py` asks and judges.
"""

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from results_page import write_page
from soak_clients import Clients, Events
from soak_origin import SoakOrigin

SAMPLE_S = 5.0
ROWS = 12
ROLES = ("supervisor", "forker", "worker 1", "worker 2", "store")
KILL_PERCENT = 15
"""Of the time; until then the first worker is killed, too."""
WARM_PERCENT = 60
"""Of the time; afterwards memory must not grow: what is held on purpose has its size."""
SHOWN = tuple(
    f"bestbefore_{name}"
    for name in ("worker", "config_reload", "store_corrupt", "store_write_errors", "dropped", "store_b", "in_flight")
)
"""Metrics that are shown at the end."""
CONFIG = """[proxy]
workers = 2
hot_max = "16MiB"
store_max = "48MiB"
stale_if_down = "1d"
read_timeout = "3s"

[[domain]]
match = "127.0.0.1/page"
max_ttl = "{max_ttl}"
"""
PAGE = f"""Clients ask at random moments, on connections that they keep for some fifty requests, for objects of which
each changes every 20 seconds: pages that live a minute or a second, private ones of three users, large ones, others
that are new at each request. Ranges and conditional requests are among them. Three in ten answers for one kind
fail, and all for another: the origin closes, resets or stalls before or within the content, answers 500 or 503,
sends invalid HTTP or wrong framing. Twice a minute or more often, in turn, the embedded Valkey or a worker is
killed (SIGKILL), or the configuration is replaced, also by an invalid one. After {KILL_PERCENT} % of the time only
the second worker is killed, so that the first shows whether memory grows. The proxy keeps 16 MiB of copies in the
memory of each worker and 48 MiB in the store, so that both are soon full.

Each content is compared, byte by byte, with the only one that is right for its URL, user and entity tag. A *fault*
is any other content, and an error although the origin did not fail, or failed before any content while a copy was
stored; requests that a killed worker was answering are lost. A copy counts as stored a second after its answer, or,
on a machine with too little processor time, three times as long as the slowest hit of the last 20 seconds has
taken. Origin and clients are one process: where other work takes the processors, it accepts connections late, and
the proxy's 504 after 10 s (`connect_timeout`) is a fault *without a cause* here. *Latency* is that of requests for
objects whose origin has never failed; *load* is that of the machine, which others may use, too. A slope is fitted
to the memory (VmRSS) of one process after {WARM_PERCENT} % of the time, in means of minutes; its error is the
standard error of the fit."""
printed: list[str] = []


def say(line: str) -> None:
    """Print a line, and keep it for the page."""
    print(line, flush=True)
    printed.append(line)


@dataclass(frozen=True)
class Sample:
    """The resources of a process at a moment."""

    role: str
    pid: int
    t_s: float
    resident_mib: float
    descriptors: int


class Processes:
    """The processes of a proxy with two workers, by their role."""

    def __init__(self, supervisor: int) -> None:
        self._supervisor = supervisor
        self._workers: list[int] = []
        self.samples: list[Sample] = []
        self.loads: list[tuple[float, float]] = []
        """The load of the machine, by time."""

    def found(self) -> dict[str, int]:
        """The processes that run now."""
        roles, forkers = {"supervisor": self._supervisor}, list[int]()
        for child in _children(self._supervisor):
            if "valkey" in Path(f"/proc/{child}/comm").read_text():
                roles["store"] = child
            else:
                forkers.append(child)
        roles["forker"] = min(forkers)  # the other one waits, and has no children
        running = sorted(worker for forker in forkers for worker in _children(forker))
        places = self._workers if self._workers else running
        new = [one for one in running if one not in places]
        self._workers = [one if one in running or not new else new.pop(0) for one in places]
        roles |= {f"worker {n}": one for n, one in enumerate(self._workers, 1) if one in running}
        return roles

    def sample(self) -> None:
        """Note the resources of each."""
        now_s = time.monotonic()
        self.loads.append((now_s, os.getloadavg()[0]))
        try:
            for role, pid in self.found().items():
                status = Path(f"/proc/{pid}/status").read_text()
                kib = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
                count = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
                self.samples.append(Sample(role, pid, now_s, kib / 1024.0, count))
        except (FileNotFoundError, ProcessLookupError, StopIteration, KeyError):
            pass  # it has just been killed


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def replace(config: Path, text: str) -> None:
    """Change the configuration in one step."""
    new = config.with_suffix(".new")
    new.write_text(text)
    new.replace(config)


class Disturbance:
    """Kills and reloads, in turn."""

    def __init__(self, processes: Processes, config: Path, events: Events) -> None:
        self._processes, self._config, self._events = processes, config, events
        self._reloads = 0
        self.counts: dict[str, int] = {}

    async def run(self, seconds: float) -> None:
        """Disturb until the end, less than a minute apart."""
        every_s = min(30.0, seconds / 20.0)
        start_s, n = time.monotonic(), 0
        while time.monotonic() - start_s + every_s < seconds:
            await asyncio.sleep(every_s)
            is_warming = time.monotonic() - start_s < KILL_PERCENT / 100 * seconds
            n += 1
            match n % 4:
                case 0:
                    self._kill("store", self._events.store_kills)
                case 1 if is_warming and n % 8 == 1:
                    self._kill("worker 1", self._events.worker_kills)
                case 1:
                    self._kill("worker 2", self._events.worker_kills)
                case 2:
                    self._change(CONFIG.format(max_ttl=f"{1 + self._reloads % 50}m"), "change of the configuration")
                case _:
                    self._change('[default]\nalpha = "much"\n', "invalid configuration")

    def _kill(self, role: str, times_s: list[float]) -> None:
        pid = self._processes.found().get(role)
        if pid is not None:
            times_s.append(time.monotonic())
            os.kill(pid, signal.SIGKILL)
            self._count(f"{role} killed")

    def _change(self, text: str, what: str) -> None:
        self._reloads += 1
        replace(self._config, text)
        self._count(what)

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


def slope(samples: list[Sample]) -> str:
    """The growth of one process in MiB an hour, with its standard error, from means of minutes."""
    t_s = np.array([one.t_s for one in samples])
    minutes = ((t_s - t_s[0]) // 60.0).astype(int)
    mib = np.array([one.resident_mib for one in samples])
    means = np.array([(n, mib[minutes == n].mean()) for n in np.unique(minutes)])
    if len(means) < 5:
        return "too short"
    (per_minute, _), covariance = np.polyfit(means[:, 0], means[:, 1], 1, cov=True)
    return f"{60.0 * per_minute:+7.2f} ± {60.0 * float(covariance[0, 0]) ** 0.5:.2f} MiB/h"


def percentile_ms(took_s: np.ndarray, q: float) -> float:
    """Return a percentile of latencies, ms; NaN if there are none, as on a machine that computes other things."""
    return 1000.0 * float(np.percentile(took_s, q)) if took_s.size else np.nan


def report(processes: Processes, clients: Clients, start_s: float, seconds: float) -> None:
    """Print the tables."""
    outcomes = clients.outcomes
    t_s, took_s, hit = (np.array(column) for column in zip(*outcomes.latencies, strict=True))
    asked_s = np.array(outcomes.asked_s)
    say(f"{'':12}{'':>18}{'hits, ms':>16}{'others, ms':>16}   memory in MiB (descriptors)")
    columns = f"{'minutes':12}{'requests/s':>12}{'load':>6}" + 2 * f"{'p50':>8}{'p99':>8}"
    say(columns + "".join(f"{one:>13}" for one in ROLES))
    for n in range(ROWS):
        from_s, until_s = start_s + n * seconds / ROWS, start_s + (n + 1) * seconds / ROWS
        within = (t_s >= from_s) & (t_s < until_s)
        parts = [percentile_ms(took_s[within & of], q) for of in (hit, ~hit) for q in (50, 99)]
        cells = ""
        for role in ROLES:
            last = [one for one in processes.samples if one.role == role and from_s <= one.t_s < until_s]
            cells += f"{f'{last[-1].resident_mib:.1f} ({last[-1].descriptors})' if last else '-':>13}"
        minutes = f"{n * seconds / ROWS / 60.0:4.1f} - {(n + 1) * seconds / ROWS / 60.0:4.1f}"
        rate = ((asked_s >= from_s) & (asked_s < until_s)).sum() * ROWS / seconds
        load = np.mean([one for at_s, one in processes.loads if from_s <= at_s < until_s])
        say(f"{minutes:12}{rate:12.0f}{load:6.1f}" + "".join(f"{one:8.1f}" for one in parts) + cells)
    say("")
    for q in (50, 90, 99, 99.9, 100):
        parts = [percentile_ms(took_s[of], q) for of in (hit, ~hit)]
        say(f"latency, percentile {q:5g}: hits {parts[0]:8.1f} ms, others {parts[1]:8.1f} ms")
    say("")
    for role in ROLES:
        lives: dict[int, list[Sample]] = {}
        for one in processes.samples:
            if one.role == role and one.t_s >= start_s + WARM_PERCENT / 100 * seconds:
                lives.setdefault(one.pid, []).append(one)
        peaks = [max(one.resident_mib for one in life) for life in lives.values()]
        of_each = f"peaks of {len(lives)} processes, one after the other: " + " ".join(f"{one:.0f}" for one in peaks)
        say(f"memory of {role:10}: {slope(*lives.values()) if len(lives) == 1 else of_each}")


async def follow(log: Path, events: Events) -> None:
    """Note what the proxy logs of its store."""
    with log.open() as lines:
        while True:
            events.logged.extend((time.monotonic(), line.strip()[:100]) for line in lines if "store" in line)
            await asyncio.sleep(0.2)


def _metrics(admin: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics") as answer:
        text: str = answer.read().decode()
    return text


async def soak(
    proxy: subprocess.Popen[str], admin: int, port: int, config: Path, log: Path, seconds: float, rate: float
) -> int:
    """Run, and print; return the number of faults."""
    origin, events = SoakOrigin(), Events()
    clients = Clients(port, origin, await origin.start(), events, rate)
    processes = Processes(proxy.pid)
    disturbance = Disturbance(processes, config, events)

    async def sample() -> None:
        while True:
            processes.sample()
            await asyncio.sleep(SAMPLE_S)

    start_s = time.monotonic()
    sampling = asyncio.create_task(sample())
    following = asyncio.create_task(follow(log, events))
    disturbing = asyncio.create_task(disturbance.run(seconds))
    await clients.run(seconds)
    await disturbing
    sampling.cancel()
    following.cancel()
    report(processes, clients, start_s, seconds)
    say("")
    for what, n in sorted(disturbance.counts.items()):
        say(f"{n:8d} {what}")
    for what, n in sorted(origin.failures.items()):
        say(f"{n:8d} {what} at the origin, of {origin.contacts} contacts")
    say("")
    for (kind, outcome), n in sorted(clients.outcomes.counts.items()):
        say(f"{n:8d} {kind:9} {outcome}")
    await asyncio.sleep(2.0)
    for line in (await asyncio.to_thread(_metrics, admin)).splitlines():
        if line.startswith(SHOWN) and "_created" not in line:
            say(f"    {line}")
    say("")
    for line in clients.outcomes.faults[:20]:
        say(f"fault: {line}")
    return len(clients.outcomes.faults)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=60.0, help="requests a second (default: %(default)g)")
    parser.add_argument("--out", type=Path, help="write a page with what is printed")
    parser.add_argument("--log", type=Path, help="keep what the proxy writes to standard error")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        config, log = Path(folder) / "proxy.toml", asked.log or Path(folder) / "log"
        config.write_text(CONFIG.format(max_ttl="1h"))
        with log.open("w") as standard_error:
            proxy = subprocess.Popen(
                [Path(sys.executable).parent / "bestbefore", "proxy", "--quiet", "--admin", "127.0.0.1:0", "--state",
                 Path(folder) / "state", "--config", config, "--listen", "127.0.0.1:0"],
                stdout=subprocess.PIPE, stderr=standard_error, text=True,
            )  # fmt: skip
        try:
            assert proxy.stdout is not None
            greeting = ""
            while "bestbefore show" not in greeting:
                line = proxy.stdout.readline()
                if not line:
                    sys.exit(f"the proxy did not start: {log.read_text()}")
                greeting += line
            port, admin = (int(one) for one in re.findall(r"http://127.0.0.1:(\d+)", greeting)[:2])
            faults = asyncio.run(soak(proxy, admin, port, config, log, 60.0 * asked.minutes, asked.rate))
        finally:
            proxy.terminate()
            status = proxy.wait()
        written = log.read_text()
    say(f"{faults} faults, {written.count('Traceback')} tracebacks; the proxy ended with status {status}")
    if asked.out is not None:
        write_page(asked.out, "Soak", PAGE, "\n".join(printed))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

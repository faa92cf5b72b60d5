"""Replays of a trace in parts by one and by two workers of Dask: `python tests/bench/dask_replay.py DIR --out FILE`.

A trace of so many requests is generated in a folder part by part, unless it is there, and replayed by
`bestbefore replay --on`, with a scheduler and workers that `dask` starts on ports of this machine.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from distributed import Client
from generated_trace import DAY_S, START_S, Shape, write_generated_part
from results_page import write_page

from bestbefore.replay.cluster.opening import start_cluster
from bestbefore.replay.parted.manifest import BY_OBJECT, MANIFEST, PartedTrace

PARTS = 64
RUNS = (
    ("complete", ("ttl:alpha=0.2", "indhist:theta=0.1"), (1, 2)),
    ("observed", ("indttl:max_ttl=1d,fallback=ttl,history_window=28d",), (2,)),
)
"""Kinds of histories, policies and numbers of workers."""
EXPLANATION = """Requests are generated part by part, and each part is read and replayed by one worker, a process of one
thread. *Seconds* are those of the clock for the whole command; where two policies are named, it replays both on each
part that it reads. Compiled code was there before. *Memory* is the most that a worker held. The part with the most
popular object is much larger than the others, and begins first."""


def generated(folder: Path, shape: Shape, parts: int) -> PartedTrace:
    """The trace in this folder, made by two processes if it is not there."""
    if (folder / MANIFEST).exists():
        return PartedTrace.read(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        start_cluster(2, print) as cluster,
        cluster.map(partial(write_generated_part, folder.resolve(), shape, parts), range(parts)) as values,
    ):
        made = dict(values)
    ends = float(START_S), float(START_S + shape.days * DAY_S)
    trace = PartedTrace(folder, BY_OBJECT, *ends, tuple(made[part] for part in range(parts)))
    trace.write()
    return trace


class Memory(threading.Thread):
    """The most memory that any of the children of some processes held, as a worker is the child of its nanny."""

    def __init__(self, parents: Sequence[int]) -> None:
        super().__init__(daemon=True)
        self.parents = parents
        self.most_bytes = 0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            for parent in self.parents:
                with suppress(OSError):  # a process may end while it is looked at
                    for started in Path(f"/proc/{parent}/task").glob("*/children"):
                        for process in started.read_text().split():
                            self._look(Path(f"/proc/{process}/status"))

    def _look(self, status: Path) -> None:
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                self.most_bytes = max(self.most_bytes, int(line.split()[1]) * 1024)


@contextmanager
def workers(n: int) -> Iterator[tuple[str, list[int]]]:
    """A scheduler with this many workers: its address, and their process ids."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "dask"]
    worker = [*dask, "worker", address, "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
    commands = [[*dask, "scheduler", "--host", address, "--no-dashboard"], *([worker] * n)]
    started = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for command in commands]
    try:
        with Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(n)
        yield address, [process.pid for process in started[1:]]
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait()


def replayed(folder: Path, history: str, specs: Sequence[str], n: int) -> tuple[float, int, list[dict[str, int]]]:
    """Seconds, the most memory of a worker, and the counts under each policy."""
    given = [word for spec in specs for word in ("--policy", spec)]
    with workers(n) as (address, processes):
        memory = Memory(processes)
        memory.start()
        conditions = ["--history", history, "--cache", "shared", "--json"]
        command = ["replay", "--on", address, "--trace", str(folder), *conditions]
        main = "from bestbefore.addon.cli import main; main()"
        began_s = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", main, *command, *given], check=True, stdout=subprocess.PIPE)
        took_s = time.perf_counter() - began_s
        memory.ended.set()
    return took_s, memory.most_bytes, [json.loads(line) for line in done.stdout.splitlines()]


def measured(folder: Path, shape: Shape, parts: int) -> Iterator[str]:
    """The lines of the page."""
    there = (folder / f"{shape.requests}" / MANIFEST).exists()
    began_s = time.perf_counter()
    trace = generated(folder / f"{shape.requests}", shape, parts)
    made_s = time.perf_counter() - began_s
    sizes = sorted(part.request_rows for part in trace.parts)
    stored = sum(path.stat().st_size for path in trace.folder.iterdir())
    made = "generated before" if there else f"generated in {made_s:.0f} s by two processes"
    yield f"`{shape}`, {stored / 1e9:.1f} GB, {made}.\n"
    yield f"{parts} parts by object, of {sizes[0]:,} to {sizes[-1]:,} requests; the median is {sizes[parts // 2]:,}.\n"
    compiled = generated(folder / "compiled", Shape(2_000_000), 2)
    for history, specs, _ in RUNS:
        replayed(compiled.folder, history, specs, 1)
    yield "| policies | history | contacts | workers | seconds | requests a second | memory of a worker, MB |"
    yield "|---|---|---|---|---|---|---|"
    for history, specs, numbers in RUNS:
        took = {}
        counts = []
        for n in numbers:
            took[n], memory, now = replayed(trace.folder, history, specs, n)
            assert not counts or counts == now
            counts = now
            contacts = ", ".join(f"{(c['misses'] + c['validations']) / c['requests']:.1%}" for c in now)
            rate = shape.requests * len(specs) / took[n] / 1e6
            named = ", ".join(f"`{spec}`" for spec in specs)
            cost = f"{took[n]:.0f} | {rate:.1f} million | {memory / 1e6:,.0f}"
            yield f"| {named} | {history} | {contacts} | {n} | {cost} |"
        if len(took) > 1:
            yield f"| | | | 2 over 1 | {took[1] / took[2]:.2f} times as fast | | |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--requests", type=int, default=1_000_000_000)
    parser.add_argument("--parts", type=int, default=PARTS)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    lines = []
    for line in measured(given.folder, Shape(given.requests), given.parts):
        print(line, flush=True)
        lines.append(line)
    lines.append(f"\nThe load of the machine was {load:.1f} before and {os.getloadavg()[0]:.1f} after.")
    if given.out is not None:
        write_page(given.out, "Replays on Dask", EXPLANATION, "\n".join(lines), preformatted=False)


if __name__ == "__main__":
    main()

"""What a fleet of proxies on shared stores needs, from measured costs: a model, and what it says where it was measured.

    python tests/bench/scale.py --out docs/results/scale.md

Starts one process, several workers and several proxies on one server in turn, sends each hits, misses and validations,
and counts processor time (`/proc`) and the commands, processor time and bytes of the server (`INFO`). Bytes an object
come from docs/results/memory.md, the time of a plan from docs/results/allocation.md, the memory of a candidate from
docs/prefetching.md. Loopback and Linux only; takes two minutes. docs/scale.md says how to read it.
"""

import argparse
import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import redis as redis_py
from results_page import write_page
from workers import processor_s, proxy, redis

from bestbefore.addon.store.backend import keys

DOCS = Path(__file__).parents[2] / "docs"
PORT = 19_610
SIZE = 10 * 1024
CONNECTIONS = 8
"""Of each proxy: its workers share them."""
IDLE_S, SETTLE_S = 4.0, 1.5
HITS, MISSES, VALIDATIONS = 2000, 250, 250
SWEPT = 10_000, 60_000
"""The keys of a store that a proxy sweeps at its start: the first are all measured."""
KEYS_AN_OBJECT = 3
"""Of one with a copy: record, copy and content."""
URLS = {"hit": 100, "validation": 20}
FLEETS = ((1, 1), (1, 2), (1, 4), (2, 1), (3, 1), (4, 1))
"""Proxies on one server, and the workers of each."""
BUSY = 0.6
"""The share of a core or of a server that may be used, so that bursts do not wait."""
NODE_BYTES = 32 * 2**30
"""The memory of a server that objects may take."""
SWEEPS_PER_HOUR = 1.0
EXPLANATION = f"""\
What a fleet of proxies on shared stores needs, computed from what was measured; [the page on scale](../scale.md) says
how. Responses of {SIZE // 1024} KB. *Processor time* is of all processes of the proxies, without the store; *store*
is the processor time of the server. *Commands* are those of `INFO commandstats`, also those that a script makes. What
idle proxies do in the same time is subtracted. The machine has fewer cores than a fleet needs, so a fleet is compared
by processor time and commands a request, never by requests a second."""


class Cost(NamedTuple):
    """What one request costs."""

    proxy_us: float
    store_us: float
    commands: float
    store_bytes: float
    """Sent and received by the server."""


@dataclass(frozen=True)
class Costs:
    """What the model is computed from."""

    hit: Cost
    miss: Cost
    validation: Cost
    idle_commands_per_s: float
    """Of one proxy."""
    sweep_commands: float
    """Of one sweep of one proxy, for each object."""
    sweep_store_us: float
    record_bytes: float
    copy_bytes: float
    """With its content of 1 KB."""
    process_bytes: float
    candidate_bytes: float
    plan_ns: float


class Load(NamedTuple):
    """What is asked of a fleet."""

    name: str
    clients: float
    objects: float
    contacts_per_s: float
    requests_per_client_s: float = 0.5
    validated: float = 0.8
    """The share of contacts that find the object unchanged."""
    copied: float = 0.1
    """The share of the objects that have a copy; all have a record."""


def needs(costs: Costs, load: Load) -> dict[str, float]:
    """Compute processors, memory, commands, network and plan of a fleet. Rates are per second, sizes in bytes."""
    requests = load.clients * load.requests_per_client_s
    amounts = (
        (costs.hit, max(0.0, requests - load.contacts_per_s)),
        (costs.miss, load.contacts_per_s * (1.0 - load.validated)),
        (costs.validation, load.contacts_per_s * load.validated),
    )
    proxy_cores = sum(cost.proxy_us * rate for cost, rate in amounts) / 1e6 / BUSY
    proxies = max(1.0, np.ceil(proxy_cores))
    commands = sum(cost.commands * rate for cost, rate in amounts) + proxies * costs.idle_commands_per_s
    store_cores = sum(cost.store_us * rate for cost, rate in amounts) / 1e6 / BUSY
    store_bytes = load.objects * (costs.record_bytes + load.copied * costs.copy_bytes)
    sweeps_per_s = SWEEPS_PER_HOUR / 3600.0 * load.objects
    return {
        "requests/s": requests,
        "processes of proxies": proxies,
        "their memory, GB": proxies * costs.process_bytes / 1e9,
        "commands on stores/s": commands,
        "servers by processor time": max(1.0, np.ceil(store_cores)),
        "store, GB": store_bytes / 1e9,
        f"servers of {NODE_BYTES // 2**30} GB": max(1.0, np.ceil(store_bytes / NODE_BYTES)),
        "clients' network, Gbit/s": requests * SIZE * 8 / 1e9,
        "origins' network, Gbit/s": load.contacts_per_s * (1.0 - load.validated) * SIZE * 8 / 1e9,
        "stores' network, Gbit/s": sum(cost.store_bytes * rate for cost, rate in amounts) * 8 / 1e9,
        "candidates, GB": load.objects * costs.candidate_bytes / 1e9,
        "one plan, s": load.objects * costs.plan_ns / 1e9,
        "commands of sweeps/s, by one proxy for all": sweeps_per_s * costs.sweep_commands,
        "cores of stores for these": sweeps_per_s * costs.sweep_store_us / 1e6,
    }


# What is measured


class Origin:
    """Answers each request at once: /validated is to be validated, and has not changed."""

    def __init__(self) -> None:
        self.port = 0
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True).start()
        self._ready.wait()

    async def _run(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                lifetime = b"no-cache" if b" /validated" in head else b"max-age=3600"
                fields = b'ETag: "1"\r\nCache-Control: ' + lifetime + b"\r\n"
                if b'if-none-match: "1"' in head.lower():
                    writer.write(b"HTTP/1.1 304 Not Modified\r\n" + fields + b"\r\n")
                else:
                    length = f"Content-Length: {SIZE}\r\n\r\n".encode()
                    writer.write(b"HTTP/1.1 200 OK\r\n" + fields + length + bytes(SIZE))
                await writer.drain()
        writer.close()


class Spent(NamedTuple):
    """What was spent until a moment."""

    at_s: float
    proxy_s: float
    store_s: float
    commands: float
    store_bytes: float

    @classmethod
    def now(cls, server: "redis_py.Redis", processes: list[int]) -> "Spent":
        stats, cpu = server.info("stats"), server.info("cpu")
        commands = sum(of["calls"] for name, of in server.info("commandstats").items() if name != "cmdstat_info")
        return cls(
            time.monotonic(), sum(map(processor_s, processes)), cpu["used_cpu_user"] + cpu["used_cpu_sys"], commands,
            stats["total_net_input_bytes"] + stats["total_net_output_bytes"],
        )

    def since(self, before: "Spent") -> "Spent":
        return Spent(*(b - a for a, b in zip(before, self, strict=True)))


class Measured(NamedTuple):
    """What a fleet was measured to need."""

    costs: Mapping[str, Cost]
    idle_commands_per_s: float
    """Of one proxy."""


def fetch(connection: socket.socket, url: str) -> None:
    """Ask a proxy for a URL. Raises RuntimeError for an unexpected answer."""
    host = url.split("/")[2]
    connection.sendall(f"GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"{url}: {head.decode()}")
    missing = SIZE - len(body)
    while missing > 0:
        missing -= len(connection.recv(65536))


@contextmanager
def fleet(proxies: int, workers: int, url: str) -> Iterator[tuple[list[int], list[socket.socket]]]:
    """The processes of proxies on a store, and connections to them in turn."""
    with ExitStack() as stack:
        started = [stack.enter_context(proxy("--workers", str(workers), "--store", url)) for _ in range(proxies)]
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60.0))
            for _ in range(CONNECTIONS) for _, port in started
        ]  # fmt: skip
        yield [process for process, _ in started], connections


def measure_sweep(port: int) -> tuple[float, float]:
    """Measure the commands, and µs of the server, for each further object that a store has when a proxy starts."""
    found = []
    with redis(port) as url, redis_py.Redis(port=port) as server:
        for number in SWEPT:
            server.flushall()
            server.mset({f"bb1:x:{n}": bytes(1000) for n in range(number)})
            before = Spent.now(server, [])
            with fleet(1, 1, url):
                while server.hget(keys.SWEEP, "size_bytes") is None:
                    time.sleep(0.1)
                time.sleep(SETTLE_S)
                found.append(Spent.now(server, []).since(before))
    objects = (SWEPT[1] - SWEPT[0]) / KEYS_AN_OBJECT
    return (found[1].commands - found[0].commands) / objects, 1e6 * (found[1].store_s - found[0].store_s) / objects


def measure(proxies: int, workers: int, port: int, origin: int) -> Measured:
    """Measure one fleet on a server of its own."""
    with (
        redis(port) as url, redis_py.Redis(port=port) as server,
        fleet(proxies, workers, url) as (processes, connections),
    ):
        time.sleep(SETTLE_S)
        before = Spent.now(server, processes)
        time.sleep(IDLE_S)
        idle = Spent.now(server, processes).since(before)
        per_s = [spent / idle.at_s for spent in idle]

        def run(kind: str, number: int) -> Cost:
            before = Spent.now(server, processes)
            for i in range(number):
                name = i % URLS[kind] if kind in URLS else i
                # Each object is asked for at all proxies in turn, on all connections.
                one = connections[(i // URLS.get(kind, 1) + i) % len(connections)]
                fetch(one, f"http://127.0.0.1:{origin}/{'validated' if kind == 'validation' else kind}/{name}")
            time.sleep(SETTLE_S)
            spent = Spent.now(server, processes).since(before)
            own = Spent(*(max(0.0, s - at * spent.at_s) for s, at in zip(spent, per_s, strict=True)))
            return Cost(
                1e6 * own.proxy_s / number, 1e6 * own.store_s / number, own.commands / number,
                own.store_bytes / number,
            )

        for kind in URLS:  # so that all have a copy, and each process has it in memory
            run(kind, URLS[kind] * len(connections))
        costs = {"hit": run("hit", HITS), "miss": run("miss", MISSES), "validation": run("validation", VALIDATIONS)}
    return Measured(costs, per_s[3] / proxies)


def found(page: str, pattern: str) -> tuple[float, ...]:
    """Read numbers of a page of docs. Raises ValueError if it does not have them."""
    numbers = re.search(pattern, (DOCS / page).read_text(), re.MULTILINE)
    if numbers is None:
        raise ValueError(f"docs/{page}: nothing of the form {pattern}")
    return tuple(float(number.replace(',', '')) for number in numbers.groups())


def hits_per_processor_s() -> tuple[float, ...]:
    """The hits of one process and of two under `wrk`; one client at a time, as here, makes each five times as dear."""
    return found("results/workers.md", r"one process (\d+,\d+), two (\d+,\d+)")


def costs_of(one: Measured, sweep: tuple[float, float]) -> Costs:
    """Complete what was measured of one process by what other pages say."""
    record, copy, content, index = found(
        "results/memory.md", r"^record (\d+)  copy (\d+)  content (\d+)  index (\d+)"
    )
    (process,) = found("results/memory.md", r"1 worker, [1-9]\d* objects asked for[^\n]*\n  bestbefore +(\d+)")
    by_wrk, _ = hits_per_processor_s()
    hit = one.costs["hit"]._replace(proxy_us=1e6 / by_wrk)
    (plan,) = found("results/allocation.md", r"^ +10000000 +freshness +[\d.]+ +([\d.]+)")
    (candidate,) = found("prefetching.md", r"million take (\d+) bytes each")
    return Costs(
        hit, one.costs["miss"], one.costs["validation"], one.idle_commands_per_s, *sweep,
        record + index / 2, copy + content + index / 2, 1e6 * process, candidate, plan,
    )


# A server near its limit


def waits(utilisation: float, rng: np.random.Generator, number: int = 400_000) -> np.ndarray:
    """The times that commands wait, in service times, where they arrive at random and each takes the same time.

    Lindley's recursion, W' = max(0, W + S - A), computed from the running minimum of its free sums.
    """
    steps = 1.0 - rng.exponential(1.0 / utilisation, number)
    sums = np.concatenate([[0.0], np.cumsum(steps)])
    return (sums - np.minimum.accumulate(sums))[number // 10 :]


# The page


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def page(measured: Mapping[tuple[int, int], Measured], sweep: tuple[float, float], loads: list[Load]) -> str:
    costs = costs_of(measured[1, 1], sweep)
    rows = [
        [
            f"{proxies} × {workers}", kind, f"{cost.proxy_us:.0f}", f"{cost.store_us:.0f}", f"{cost.commands:.2f}",
            f"{cost.store_bytes:,.0f}", *(
                f"{a / b:.2f}" if b > 0.05 else "-"
                for a, b in zip(cost[:3], measured[1, 1].costs[kind][:3], strict=True)
            ),
        ]
        for (proxies, workers), one in measured.items() for kind, cost in one.costs.items()
    ]  # fmt: skip
    header = ["proxies × workers", "request", "processor time, µs", "store, µs", "commands", "bytes to and from it"]
    parts = ["## Costs, and the model where it was measured", ""]
    parts += [
        "The model takes one process for all. The last columns are what it is off by: measured, over one process.", "",
        table([*header, "time, ratio", "store, ratio", "commands, ratio"], rows), "",
        "Hits under `wrk`, which the model takes (docs/results/workers.md): {:.1f} µs with one process, {:.1f} with "
        "two.".format(*(1e6 / rate for rate in hits_per_processor_s())), "",
        "A proxy that does nothing makes "
        + ", ".join(f"{one.idle_commands_per_s:.1f} ({p} × {w})" for (p, w), one in measured.items())
        + " commands a second. One that starts makes, for each further object of a large store, "
        f"{sweep[0]:.3f} commands ({sweep[1]:.1f} µs of the server), and as many each hour, one for all.", "",
        "## What fleets need", "",
        ", ".join(f"{load.name}: {load.clients:.0e} clients, {load.objects:.0e} objects, {load.contacts_per_s:.0e} "
                  "contacts/s" for load in loads)
        + f"; {loads[0].requests_per_client_s} requests/s of a client, {loads[0].validated:.0%} of the contacts "
        f"confirm a copy, {loads[0].copied:.0%} of the objects have one of 1 KB; processors and servers at "
        f"{BUSY:.0%}.", "",
    ]  # fmt: skip
    needed = [needs(costs, load) for load in loads]
    parts += [
        table(["", *(load.name for load in loads)], [[name, *(shown(n[name]) for n in needed)] for name in needed[0]]),
        "", "## A server near its limit", "",
        "How long a command waits for others, as multiples of what one takes: simulated, and by the formula of "
        "Pollaczek and Khinchine, u / 2(1 - u).", "",
    ]
    rng = np.random.default_rng(20_261_123)
    rows = []
    for utilisation in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98):
        waited = waits(utilisation, rng)
        formula = utilisation / 2 / (1 - utilisation)
        values = waited.mean(), formula, *np.quantile(waited, [0.99, 0.999])
        rows.append([f"{utilisation:.0%}", *(f"{value:.2f}" for value in values)])
    parts.append(table(["used", "mean", "formula", "99 percent", "99.9 percent"], rows))
    return "\n".join(parts)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    origin = Origin()
    measured = {}
    for n, (proxies, workers) in enumerate(FLEETS):
        measured[proxies, workers] = measure(proxies, workers, PORT + n, origin.port)
        print(proxies, workers, measured[proxies, workers], flush=True)
    loads = [Load("lab", 1e2, 1e5, 1e1), Load("campus", 1e4, 1e7, 1e3), Load("world", 1e6, 1e9, 1e5)]
    text = page(measured, measure_sweep(PORT + len(FLEETS)), loads)
    print(text)
    if options.out:
        write_page(options.out, "What a fleet needs", EXPLANATION, text, preformatted=False)


if __name__ == "__main__":
    main()

"""What proxies behind HAProxy cost a request: processor time and commands on the store; 1, 2 and 4 of them.

    python tests/bench/fleet.py [--requests 3000] [--rounds 3] [--out docs/results/fleet.md]

Needs HAProxy (Debian's package). Loopback only; Linux only, since processor time is
read from /proc.
"""

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from redis import Redis
from results_page import write_page
from workers import Origin, get, processor_s, proxy

from bestbefore.addon.store.server.embedded import server_binary

PORT = 18410
"""Of HAProxy; those of the stores follow."""
CONNECTIONS = 16
NUMBERS = (1, 2, 4)
HAPROXY = Path(__file__).parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
EXPLANATION = """\
Proxies of one process each behind HAProxy with the configuration that is printed (`deploy/haproxy/haproxy.cfg`), on one
Valkey or on a cluster of three primaries. Objects of 10 KB; 16 clients, each request on a connection of its own to
HAProxy. *Misses*: a new URL each. *Hits*: of at most 500 URLs. The processor time of a request is that of all proxies
together, of the store and of HAProxy, in microseconds; commands are what the store counted, those in scripts too,
without what idle proxies send, which is measured before and subtracted. *Round robin*: in place of `balance uri`, so
that each proxy has a part of all requests for an object. The median of the rounds. All share the cores of this machine
with the clients and the origin, so that the requests a second say little: in a fleet with cores of its own each proxy
adds as many as its processor time allows."""


class Cost(NamedTuple):
    """What a request costs."""

    proxies_us: float
    store_us: float
    haproxy_us: float
    commands: float
    per_s: float


@contextmanager
def stores(number: int) -> Iterator[tuple[str, list[int], list[int]]]:
    """A store of one server, or a cluster of several: its URL, processes and ports."""
    ports = [PORT + 1 + 2 * i for i in range(number)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        processes = []
        for port in ports:
            own = Path(folder) / str(port)
            own.mkdir()
            command = [server_binary(), "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
            if number > 1:
                command += ["--cluster-enabled", "yes", "--cluster-port", str(port + 1)]
            process = subprocess.Popen(command, cwd=own, stdout=subprocess.DEVNULL)
            opened.callback(process.wait)
            opened.callback(process.kill)
            processes.append(process.pid)
        time.sleep(1.0)
        if number > 1:
            clients = [Redis(port=port) for port in ports]
            for i, client in enumerate(clients):
                first, last = (16384 * n // number for n in (i, i + 1))
                client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last - 1)
                clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", ports[i], ports[i] + 1)
            while not all(b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO") for client in clients):
                time.sleep(0.1)
        kind = "redis" if number == 1 else "redis+cluster"
        yield f"{kind}://" + ",".join(f"127.0.0.1:{port}" for port in ports), processes, ports


@contextmanager
def haproxy(ports: Sequence[int], balance: str) -> Iterator[int]:
    """HAProxy with the configuration that is printed; its process."""
    text = HAPROXY.read_text().replace(":3128", f":{PORT}").replace("balance uri", f"balance {balance}")
    text = text.replace("    option httpchk\n", "").replace("default-server init-addr last,libc,none check", "#")
    text = re.sub(r"    (http-check|default-server send-proxy).*\n", "", text)
    for i in range(1, 5):
        server = f"127.0.0.1:{ports[i - 1]}" if i <= len(ports) else None
        line = f"    server proxy{i} proxy{i}.example:8080\n"
        text = text.replace(line, line.replace(f"proxy{i}.example:8080", server) if server else "")
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
        file.write(text)
        file.flush()
        process = subprocess.Popen(["haproxy", "-db", "-q", "-f", file.name], stderr=subprocess.DEVNULL)
        time.sleep(1.0)
        try:
            yield process.pid
        finally:
            process.kill()
            process.wait()


def commands(ports: Sequence[int]) -> int:
    """How many commands the servers of a store have executed."""
    found = 0
    for port in ports:
        with Redis(port=port) as client:
            found += int(client.info("stats")["total_commands_processed"])
    return found


async def ask(urls: Sequence[str]) -> None:
    """Ask for these URLs, some at once."""
    left = iter(urls)

    async def client() -> None:
        for url in left:
            answer = await get(PORT, url)
            if b" 200 " not in answer[:15]:
                raise RuntimeError(answer[:200])

    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))


async def cost(
    urls: Sequence[str], proxies: Sequence[int], store: Sequence[int], ports: Sequence[int], balancer: int
) -> Cost:
    """Ask for these URLs; `ports`: those of the store's servers."""
    idle = commands(ports)
    await asyncio.sleep(2.0)
    idle_per_s = (commands(ports) - idle) / 2.0
    groups = (proxies, store, [balancer])
    before, sent, began_s = [sum(map(processor_s, group)) for group in groups], commands(ports), time.monotonic()
    await ask(urls)
    took_s = time.monotonic() - began_s
    await asyncio.sleep(1.0)  # what is written behind
    sent = commands(ports) - sent - round(idle_per_s * (took_s + 1.0))
    used = [1e6 * (sum(map(processor_s, group)) - at) / len(urls) for group, at in zip(groups, before, strict=True)]
    return Cost(used[0], used[1], used[2], sent / len(urls), len(urls) / took_s)


async def measure(requests: int, rounds: int) -> list[str]:
    lines = [
        "| store | proxies | divided | requests | proxies, us | store, us | HAProxy, us | commands | requests/s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    async with Origin().running() as origin:
        url = f"http://127.0.0.1:{origin.port}"
        for servers in (1, 3):
            for number, balance in ((1, "uri"), (2, "uri"), (4, "uri"), (4, "roundrobin")):
                with ExitStack() as opened:
                    address, store, ports = opened.enter_context(stores(servers))
                    run = [opened.enter_context(proxy("--workers", "1", "--store", address)) for _ in range(number)]
                    balancer = opened.enter_context(haproxy([port for _, port in run], balance))
                    own = [process for process, _ in run]
                    hits = [f"{url}/hit/{n % 500}" for n in range(requests)]
                    await ask(hits[:2000])
                    costs = {"misses": list[Cost](), "hits": list[Cost]()}
                    for n in range(rounds):
                        new = [f"{url}/{servers}/{number}/{balance}/{n}/{i}" for i in range(requests // 2)]
                        costs["misses"].append(await cost(new, own, store, ports, balancer))
                        costs["hits"].append(await cost(hits, own, store, ports, balancer))
                    for kind, found in costs.items():
                        a, b, c, d, e = (statistics.median(column) for column in zip(*found, strict=True))
                        name = "one Valkey" if servers == 1 else "cluster of 3"
                        divided = "by URL" if balance == "uri" else "round robin"
                        figures = (f"{a:,.0f}", f"{b:,.0f}", f"{c:,.0f}", f"{d:.1f}", f"{e:,.0f}")
                        row = (name, number, divided, kind, *figures)
                        lines.append(f"| {' | '.join(map(str, row))} |")
                        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=3000, help="hits in a round; half as many misses")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write a page with what is printed")
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    lines = asyncio.run(measure(asked.requests, asked.rounds))
    text = "\n".join([*lines, "", f"Load of the machine when it began: {load:.1f}."])
    if asked.out is not None:
        write_page(asked.out, "Proxies behind HAProxy", EXPLANATION, text, preformatted=False)


if __name__ == "__main__":
    main()

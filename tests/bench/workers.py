"""What several processes on one address cost and share: hits, new copies and purges, one contact for many, a kill.

    python tests/bench/workers.py [--rounds 7] [--seconds 2] [--samples 20] [--out docs/results/workers.md]

Needs `wrk` (Debian's package). Loopback only; Linux only, since processor time and connections are read from /proc.
"""

import argparse
import asyncio
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

from results_page import write_page

from bestbefore.addon.store.server.embedded import server_binary

SIZE = 10 * 1024
CLIENTS = 200
SLOW_S = 3.0
"""How long the origin takes for an object that many ask for."""
EXPLANATION = """\
Hits of 10 KB over 16 connections (`wrk`), in a second of processor time of all processes of the proxy, the
supervisor and the store among them: one process and two in turn, and the median ratio of the pairs. What a miss
takes one client, the median of 300, and its processor time: two workers take a lease in the store for each
contact, one does not. How many of the connections that `wrk` opens at once each worker has. How long after a
response a copy is a hit at the other worker, and after a purge is none any more, asked every 5 ms by requests with
`only-if-cached`; "load": while `wrk` asks for hits. Contacts when 200 clients ask for an object at once for which
the origin takes 3 s; and when the worker that contacts the origin is killed by SIGKILL one second after they
asked: who is answered, and when after the kill, less the origin's 3 s. Requests that six clients lose which each
open a connection for each request, when one of two workers is killed under their load."""


class Origin:
    """Answers after a while, and counts its contacts."""

    def __init__(self) -> None:
        self.contacts = 0
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Origin"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        yield self
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.contacts += 1
                if b"/slow" in head:
                    await asyncio.sleep(SLOW_S)
                fields = f"Cache-Control: max-age=3600\r\nContent-Length: {SIZE}\r\n\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n" + fields.encode() + bytes(SIZE))
                await writer.drain()
        writer.close()


@contextmanager
def proxy(*options: str) -> Iterator[tuple[int, int]]:
    """A proxy's process and port."""
    with tempfile.TemporaryDirectory(prefix="bb-") as state:
        process = subprocess.Popen(
            [Path(sys.executable).parent / "bestbefore", "proxy", "--quiet", "--admin", "off", "--state", state,
             "--listen", "127.0.0.1:0", *options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        said = ""
        while "bestbefore show" not in said:
            said += process.stdout.readline()
        found = re.search(r"listens on http://\S+:(\d+)", said)
        assert found is not None
        try:
            yield process.pid, int(found[1])
        finally:
            process.terminate()
            process.wait()


@contextmanager
def redis(port: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([server_binary(), "--port", str(port), "--save", "", "--bind", "127.0.0.1"],
                                   cwd=folder, stdout=subprocess.DEVNULL)  # fmt: skip
        time.sleep(1.0)
        yield f"redis://127.0.0.1:{port}"
        process.terminate()
        process.wait()


def tree(process: int) -> list[int]:
    """A process and all below it."""
    found = [process]
    with suppress(OSError):
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            found += tree(int(child))
    return found


def processor_s(process: int) -> float:
    ticks = 0
    for one in tree(process):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def sockets_with(process: int, peer_port: int) -> bool:
    """Whether a process has a connection whose other end has this port."""
    table = [line.split() for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()]
    wanted = {f"socket:[{line[9]}]" for line in table if line[2] == f"0100007F:{peer_port:04X}"}
    links = set()
    for fd in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            links.add(str(fd.readlink()))
    return not wanted.isdisjoint(links)


def connections_at(process: int, port: int) -> int:
    """How many connections a process has at its port."""
    table = [line.split() for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()]
    wanted = {f"socket:[{line[9]}]" for line in table if line[1] == f"0100007F:{port:04X}" and line[3] == "01"}
    found = 0
    for fd in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            found += str(fd.readlink()) in wanted
    return found


def spread(process: int, port: int, url: str) -> str:
    """How the connections that come at once are spread over the workers."""
    found = []
    for number in (16, 64, 256):
        load = wrk(port, url, 600, number)
        time.sleep(3.0)
        at = [connections_at(worker, port) for worker in tree(process)[1:]]
        found.append("/".join(str(one) for one in at if one))
        load.terminate()
        load.wait()
    return ", ".join(found)


def wrk(port: int, url: str, seconds: float, connections: int = 16) -> subprocess.Popen[str]:
    script = Path(tempfile.gettempdir()) / f"bb-{os.getpid()}.lua"
    script.write_text(
        f'request = function() return "GET {url} HTTP/1.1\\r\\nHost: {url.split("/")[2]}\\r\\n\\r\\n" end\n'
    )
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}", "-s", script, f"http://127.0.0.1:{port}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def hits_of_processor_second(process: int, port: int, url: str, seconds: float) -> float:
    before_s = processor_s(process)
    said = wrk(port, url, seconds).communicate()[0]
    found = re.search(r"(\d+) requests in", said)
    assert found is not None, said
    return int(found[1]) / (processor_s(process) - before_s)


async def get(port: int, url: str, *lines: str, method: str = "GET") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (f"{method} {url} HTTP/1.1", f"Host: {url.split('/')[2]}", "Connection: close", *lines, "", "")
    writer.write("\r\n".join(head).encode())
    answer = await reader.read()
    writer.close()
    return answer


class Pinned:
    """A connection to one of the workers."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=30)
        self._connection.connect()
        self.port = self._connection.sock.getsockname()[1]

    def ask(self, url: str, method: str = "GET", **fields: str) -> bool:
        """Whether it was answered with a 200."""
        self._connection.request(method, url, headers={name.replace("_", "-"): text for name, text in fields.items()})
        response = self._connection.getresponse()
        response.read()
        return response.status == 200

    def has(self, url: str) -> bool:
        return self.ask(url, Cache_Control="only-if-cached")


def two_workers(process: int, port: int, url: str) -> tuple[Pinned, Pinned]:
    """A connection to each of two workers."""
    found: dict[int, Pinned] = {}
    workers = tree(process)[1:]
    while len(found) < 2:
        one = Pinned(port)
        one.ask(url)
        found |= {worker: one for worker in workers if sockets_with(worker, one.port)}
    first, second = found.values()
    return first, second


def waited_ms(condition: Callable[[], bool]) -> float:
    began_s = time.monotonic()
    while not condition():
        time.sleep(0.005)
    return 1000 * (time.monotonic() - began_s)


def miss_ms(process: int, port: int, url: str, count: int) -> tuple[float, float]:
    """What a miss takes, the median, and its processor time, both ms; of one client."""
    connection, times = Pinned(port), list[float]()
    before_s = processor_s(process)
    for n in range(count):
        began_s = time.monotonic()
        connection.ask(f"{url}/{port}/{n}")
        times.append(1000 * (time.monotonic() - began_s))
    return statistics.median(times), 1000 * (processor_s(process) - before_s) / count


def spreading(process: int, port: int, url: str, samples: int) -> tuple[list[float], list[float]]:
    """How long new copies, and purges, take to reach the other worker, ms."""
    first, second = two_workers(process, port, url)
    copies, purges = [], []
    for n in range(samples):
        page = f"{url}/{time.time_ns()}/{n}"
        first.ask(page)
        copies.append(waited_ms(lambda page=page: second.has(page)))
        first.ask(page, "PURGE")
        purges.append(waited_ms(lambda page=page: not second.has(page)))
    return copies, purges


def in_words(times_ms: list[float]) -> str:
    return f"median {statistics.median(times_ms):.0f} ms, longest {max(times_ms):.0f} ms"


async def crowd(origin: Origin, ports: list[int], path: str) -> list[asyncio.Task[bytes]]:
    origin.contacts = 0
    url = f"http://127.0.0.1:{origin.port}{path}"
    return [asyncio.create_task(get(ports[n % len(ports)], url)) for n in range(CLIENTS)]


async def killed_in_the_middle(workers: list[int], ports: list[int]) -> str:
    async with Origin().running() as origin:
        return await _killed_in_the_middle(origin, workers, ports)


async def _killed_in_the_middle(origin: Origin, workers: list[int], ports: list[int]) -> str:
    tasks = await crowd(origin, ports, "/slow/killed")
    while not origin.contacts:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await asyncio.sleep(1.0)
    (holder,) = (worker for worker in workers if sockets_with(worker, origin.port))
    os.kill(holder, signal.SIGKILL)
    killed_s, ends_s = time.monotonic(), []
    for task in tasks:
        task.add_done_callback(lambda _: ends_s.append(time.monotonic()))
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    answered = sum(isinstance(one, bytes) and len(one) > SIZE for one in answers)
    delay_s = max(ends_s) - killed_s - SLOW_S
    late = f"the last {delay_s:.1f} s later than the origin takes"
    return f"{answered} of {CLIENTS} are answered, {late}; {origin.contacts} contacts"


async def lost_at_a_kill(process: int, port: int, url: str) -> str:
    answered, lost, stopped = 0, 0, asyncio.Event()

    async def client() -> None:
        nonlocal answered, lost
        while not stopped.is_set():
            try:
                ok = b" 200 " in (await get(port, url))[:20]
            except OSError:
                ok = False
            answered, lost = answered + ok, lost + (not ok)

    clients = [asyncio.create_task(client()) for _ in range(6)]
    await asyncio.sleep(2.0)
    os.kill(tree(process)[-1], signal.SIGKILL)
    await asyncio.sleep(3.0)
    stopped.set()
    await asyncio.gather(*clients)
    return f"{lost} of {answered + lost}"


async def measure(rounds: int, seconds: float, samples: int) -> Iterator[str]:
    lines = []
    async with Origin().running() as origin:
        url = f"http://127.0.0.1:{origin.port}"
        with proxy("--workers", "1") as one, proxy("--workers", "2") as two:
            for _, port in (one, two):
                for _ in range(8):
                    await get(port, url + "/hit")
            figures = []
            for _ in range(rounds):
                both = [
                    await asyncio.to_thread(hits_of_processor_second, *own, url + "/hit", seconds) for own in (one, two)
                ]
                figures.append(both)
            of_one, of_two = (statistics.median(column) for column in zip(*figures, strict=True))
            ratio = statistics.median(two / one for one, two in figures)
            lines.append(
                f"hits in a processor second: one process {of_one:,.0f}, two {of_two:,.0f}; median ratio {ratio:.2f}"
                f" ({rounds} pairs)"
            )
            for name, own in (("one process", one), ("two", two)):
                took_ms, computed_ms = await asyncio.to_thread(miss_ms, *own, f"{url}/{time.time_ns()}", 300)
                lines.append(f"a miss, {name}: {took_ms:.1f} ms, of processor time {computed_ms:.1f} ms")
            shares = await asyncio.to_thread(spread, *two, url + "/hit")
            lines.append(f"16, 64 and 256 connections over two workers: {shares}")
            for words in ("idle", "load"):
                load = wrk(two[1], url + "/hit", 600) if words == "load" else None
                copies, purges = await asyncio.to_thread(spreading, *two, url, samples)
                if load is not None:
                    load.terminate()
                    load.wait()
                lines.append(
                    f"{words}: a new copy at the other worker: {in_words(copies)}; a purge: {in_words(purges)}"
                    f" ({samples} samples)"
                )
        with proxy("--workers", "2") as (process, port):
            await asyncio.gather(*await crowd(origin, [port], "/slow/workers"))
            lines.append(f"contacts for {CLIENTS} clients over two workers: {origin.contacts}")
            lost = await lost_at_a_kill(process, port, url + "/hit")
            lines.append(f"requests lost when one of two workers is killed under load: {lost}")
        with proxy("--workers", "2") as (process, port):
            lines.append("the worker killed: " + await killed_in_the_middle(tree(process)[1:], [port]))
        with (
            redis(18499) as store,
            proxy("--store", store, "--workers", "1") as one,
            proxy("--store", store, "--workers", "1") as two,
        ):
            ports = [one[1], two[1]]
            await asyncio.gather(*await crowd(origin, ports, "/slow/proxies"))
            lines.append(f"contacts for {CLIENTS} clients over two proxies on one store: {origin.contacts}")
            lines.append("the proxy killed: " + await killed_in_the_middle([one[0], two[0]], ports))
    return iter(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--out", type=Path, help="write a page with what is printed")
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    lines = list(asyncio.run(measure(asked.rounds, asked.seconds, asked.samples)))
    text = "\n".join([*lines, f"load of the machine when it began: {load:.1f}"])
    print(text)
    if asked.out is not None:
        write_page(asked.out, "Several processes", EXPLANATION, text)


if __name__ == "__main__":
    main()

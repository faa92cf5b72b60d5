"""What misses, validations and a large body cost, side by side in one run: direct, a bare lean mitmproxy, ours, Squid.

    python tests/bench/misses.py [--rounds 7] [--requests 300] [--large-mb 1024] [--out docs/results/misses.md]

The origin is nginx (Debian's package). One client with one connection asks each in turn. Squid is left out where it is
not installed; it intercepts no TLS here. Loopback only; Linux only, since processor time and memory are read from
/proc.
"""

import argparse
import os
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from constant_origin import certificate
from proxy_clients import Http2Client, tunnel
from proxy_kinds import SQUID, await_port, processor_s, require_free
from results_page import write_page

FOLDER = Path(__file__).parent
SIZE = 10 * 1024
VALIDATED = 20
"""How many objects are validated in turn."""
PAUSE_S = 0.01
"""Between a response and the next request, where there are pauses."""
PORTS = {"direct": 18491, "bare lean": 18492, "bestbefore": 18493, "Squid": 18494, "mitmdump": 18495}
SECURE_PORT = 18496
"""nginx's, over TLS."""
NGINX = """
worker_processes 1;
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/a;
  proxy_temp_path {folder}/b;
  fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d;
  scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{port};
    listen 127.0.0.1:{secure_port} ssl;
    ssl_certificate {leaf};
    ssl_certificate_key {leaf};
    root {folder};
    location /miss {{ add_header Cache-Control max-age=3600; try_files /small.bin =404; }}
    location /validated {{ add_header Cache-Control no-cache; try_files /small.bin =404; }}
    location /large {{ add_header Cache-Control no-store; try_files /large.bin =404; }}
  }}
}}
"""
EXPLANATION = f"""Responses of {SIZE // 1024} KB from nginx on the same machine, one process each, all running at once
and asked in turn by one client on one connection. *Misses* are for a new URL each, and are stored; *validations* are
for {VALIDATED} objects with `no-cache`, which nginx confirms with 304 to a proxy that has a copy ("bare lean" and
"direct" fetch them). *Within TLS*, the client's connection is a tunnel that the proxy intercepts, and nginx is asked
over TLS; its certificate is not verified. *With pauses*, the client waits {1e3 * PAUSE_S:.0f} ms after each response,
as one does that has other work; without them, its next request waits for what a proxy does after a response. *Over
HTTP/2*, the client's side is HTTP/2, and nginx's HTTP/1.1 ("direct" is HTTP/1.1 within TLS). *Bare lean* is mitmproxy
with the six addons that a proxy needs, which forwards and does nothing else. Processor time is the proxy's own, with
that of its store; times are medians of the rounds. Ratios are medians of the ratios within one round, with the
smallest and the largest: on a machine with other work, those of processor time hold best, and times are those of a
busy machine.

*A large body* may not be stored; mitmdump is set to stream it (`stream_large_bodies`), and memory is the peak of
resident memory above that before the request."""


@dataclass
class Measured:
    """What the rounds brought for one proxy."""

    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)


@contextmanager
def running(large_bytes: int) -> Iterator[dict[str, int]]:
    """The origin and the proxies, each with its process id."""
    with tempfile.TemporaryDirectory() as made, ExitStack() as stopping:
        folder = Path(made)
        folder.chmod(0o777)
        (folder / "small.bin").write_bytes(os.urandom(SIZE))
        with (folder / "large.bin").open("wb") as large:
            large.truncate(large_bytes)
        user = "proxy" if os.getuid() == 0 else os.environ.get("USER", "nobody")
        (folder / "nginx.conf").write_text(NGINX.format(
            folder=folder, port=PORTS["direct"], secure_port=SECURE_PORT, leaf=certificate(folder)
        ))
        (folder / "proxy.toml").write_text('[[domain]]\nmatch = "localhost"\nverify = false\n')
        (folder / "squid.conf").write_text(SQUID.format(port=PORTS["Squid"], folder=folder, user=user))
        scripts = Path(sys.executable).parent
        started: dict[str, list[str | Path]] = {
            "direct": ["nginx", "-c", folder / "nginx.conf", "-p", folder],
            "bare lean": [sys.executable, FOLDER / "bare_proxy.py", str(PORTS["bare lean"])],
            "bestbefore": [scripts / "bestbefore", "proxy", "--quiet", "--admin", "off", "--workers", "1",
                           "--config", folder / "proxy.toml", "--state", folder / "state",
                           "--listen", f"127.0.0.1:{PORTS['bestbefore']}"],
            "Squid": ["squid", "-N", "-f", folder / "squid.conf"],
            "mitmdump": [scripts / "mitmdump", "-q", "--listen-port", str(PORTS["mitmdump"]),
                         "--set", "stream_large_bodies=1m", "--set", f"confdir={folder / 'ca'}"],
        }
        require_free(PORTS[kind] for kind in started)
        pids = {}
        for kind, command in started.items():
            if kind == "Squid" and shutil.which("squid") is None:
                continue
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stopping.callback(process.wait)
            stopping.callback(process.terminate)
            pids[kind] = process.pid
        for kind in pids:
            await_port(PORTS[kind])
        yield pids


def fetched(connection: socket.socket, kind: str, path: str) -> int:
    """The size of the content that answers a request."""
    is_secure = isinstance(connection, ssl.SSLSocket)
    authority = f"localhost:{SECURE_PORT}" if is_secure else f"127.0.0.1:{PORTS['direct']}"
    target = path if kind == "direct" or is_secure else f"http://{authority}{path}"
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: bench\r\n\r\n".encode())
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536) or sys.exit(f"{kind} closed the connection")
    head, _, rest = received.partition(b"\r\n\r\n")
    lengths = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    if b" 200 " not in head[:16] or not lengths:
        sys.exit(f"{kind} answered {head!r}")
    size, buffer = len(rest), bytearray(1 << 20)
    while size < lengths[0]:
        size += connection.recv_into(buffer) or sys.exit(f"{kind} closed the connection")
    return size


def connected(kind: str, *, is_secure: bool = False) -> socket.socket:
    """A connection to a proxy, or to the origin; in a tunnel, or over TLS, if `is_secure`."""
    if is_secure:
        direct = SECURE_PORT if kind == "direct" else None
        return tunnel(direct or PORTS[kind], f"localhost:{SECURE_PORT}", is_direct=direct is not None)
    connection = socket.create_connection(("127.0.0.1", PORTS[kind]), timeout=120)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


@contextmanager
def asking(kind: str, protocol: str) -> Iterator[Callable[[str], object]]:
    """What asks a proxy, or the origin, for a path on one connection."""
    if protocol == "HTTP/2" and kind != "direct":
        host = f"localhost:{SECURE_PORT}"
        with tunnel(PORTS[kind], host, http2=True) as tls:
            yield Http2Client(host, tls, SIZE // 1024).ask
    else:
        with closing(connected(kind, is_secure=protocol != "HTTP")) as connection:
            yield partial(fetched, connection, kind)


def small(
    pids: dict[str, int], rounds: int, requests: int, *, validated: bool, protocol: str, pause_s: float = 0.0
) -> dict[str, Measured]:
    """Misses, or validations, each `pause_s` after the response to the one before."""
    results: dict[str, Measured] = defaultdict(Measured)
    missing = ("mitmdump",) if protocol == "HTTP" else ("mitmdump", "Squid")
    for nth in range(rounds + 1):  # the first round warms up
        for kind, pid in pids.items():
            if kind in missing:
                continue
            before_s, took = processor_s(pid), []
            with asking(kind, protocol) as ask:
                for number in range(requests):
                    new = f"/miss?{protocol}-{pause_s}-{kind[:4]}-{nth}-{number}"
                    if pause_s:
                        time.sleep(pause_s)
                    began = time.perf_counter()
                    ask(f"/validated?{number % VALIDATED}" if validated else new)
                    took.append(time.perf_counter() - began)
            took.sort()
            if nth:
                found = results[kind]
                found.cpu_ms.append(1e3 * (processor_s(pid) - before_s) / requests)
                found.p50_ms.append(1e3 * took[requests // 2])
                found.p99_ms.append(1e3 * took[requests * 99 // 100])
    return results


def memory_mb(pid: int, *, name: str) -> float:
    """A field of the memory of a process, MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1e3


def large(pids: dict[str, int], rounds: int) -> dict[str, Measured]:
    """The large body."""
    results: dict[str, Measured] = defaultdict(Measured)
    for nth in range(rounds):
        for kind, pid in pids.items():
            if kind == "bare lean":  # it holds the whole body
                continue
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins now
            before_s, before_mb, began = processor_s(pid), memory_mb(pid, name="VmRSS"), time.perf_counter()
            with closing(connected(kind)) as connection:
                fetched(connection, kind, f"/large?{nth}")
            found = results[kind]
            found.p50_ms.append(1e3 * (time.perf_counter() - began))
            found.cpu_ms.append(1e3 * (processor_s(pid) - before_s))
            found.memory_mb.append(memory_mb(pid, name="VmHWM") - before_mb)
    return results


def times(found: list[float], of: list[float]) -> str:
    """The ratio of two series: the median of the rounds, the smallest and the largest."""
    ratios = sorted(one / max(other, 1e-3) for one, other in zip(found, of, strict=True))
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def per_processor_s(amount: float, cpu_ms: list[float]) -> str:
    """How much was done in a second of processor time; of all rounds, as the clock of processor time is coarse."""
    return f"{1e3 * amount / statistics.mean(cpu_ms):.0f}" if any(cpu_ms) else "not measurable"


def small_table(title: str, results: dict[str, Measured]) -> str:
    """A Markdown table of misses or validations."""
    lean, direct = results["bare lean"], results["direct"]
    lines = [
        f"## {title}", "",
        "| proxy | p50, ms | p99, ms | p50 over direct, ms | p50, times bare lean | per processor second |"
        " processor time, times bare lean |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, found in results.items():
        over = statistics.median(one - other for one, other in zip(found.p50_ms, direct.p50_ms, strict=True))
        p50_ms, p99_ms = statistics.median(found.p50_ms), statistics.median(found.p99_ms)
        cells = [kind, f"{p50_ms:.2f}", f"{p99_ms:.2f}", f"{over:.2f}",
                 times(found.p50_ms, lean.p50_ms), per_processor_s(1.0, found.cpu_ms),
                 times(found.cpu_ms, lean.cpu_ms)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def large_table(size_mb: int, results: dict[str, Measured]) -> str:
    """A Markdown table of the large body."""
    base = results.get("Squid", results["direct"])
    lines = [
        f"## A body of {size_mb} MB", "",
        "| proxy | MB/s | time, times the first of Squid and direct | MB per processor second | peak memory, MB |",
        "|---|---|---|---|---|",
    ]
    for kind, found in results.items():
        cells = [kind, f"{1e3 * size_mb / statistics.median(found.p50_ms):.0f}", times(found.p50_ms, base.p50_ms),
                 per_processor_s(size_mb, found.cpu_ms), f"{max(found.memory_mb):.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Start all, measure, stop all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=300, help="in each round")
    parser.add_argument("--large-mb", type=int, default=1024)
    parser.add_argument("--out", type=Path, help="the page")
    given = parser.parse_args()
    printed = []
    with running(given.large_mb << 20) as pids:
        for protocol, where in (("HTTP", ""), ("TLS", " within TLS"), ("HTTP/2", " over HTTP/2")):
            for title, validated in (("Misses", False), ("Validations", True)):
                found = small(pids, given.rounds, given.requests, validated=validated, protocol=protocol)
                printed.append(small_table(title + where, found))
                print(printed[-1], flush=True)
            if protocol != "HTTP/2":
                rounds, requests = given.rounds, given.requests
                found = small(pids, rounds, requests, validated=False, protocol=protocol, pause_s=PAUSE_S)
                printed.append(small_table(f"Misses with pauses{where}", found))
                print(printed[-1], flush=True)
        printed.append(large_table(given.large_mb, large(pids, max(1, given.rounds // 2))))
        print(printed[-1], flush=True)
    printed.append(f"Load average at the end, by this and by other work: {os.getloadavg()[1]:.1f}.\n")
    print(printed[-1])
    if given.out is not None:
        write_page(given.out, "Misses side by side", EXPLANATION, "\n".join(printed), preformatted=False)


if __name__ == "__main__":
    main()

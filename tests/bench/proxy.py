"""What hits cost, side by side in one run: stock mitmdump, a bare lean one, ours by streams and at the bytes, Squid.

    python tests/bench/proxy.py [--rounds 7] [--seconds 2] [--out docs/results/proxy.md]

All run at once and are loaded in turn: over HTTP by `wrk` (Debian's package), over intercepted HTTPS by one client of
our own, with HTTP/1.1 and HTTP/2. Squid is left out where it is not installed. Loopback only; Linux only, since
processor time is read from /proc.
"""

import argparse
import os
import re
import shutil
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hit import Constant
from hpack import Encoder
from mitmproxy.certs import CertStore
from results_page import write_page

FOLDER = Path(__file__).parent
SIZE = 10 * 1024
URLS = 200
WINDOW = 1 << 30
WIDEN = struct.pack("!I", WINDOW)
PORTS = {"mitmdump": 18481, "bare lean": 18482, "by streams": 18483, "at the bytes": 18484, "Squid": 18485}
STOCK = """
import mitmproxy.http
def request(flow):
    flow.response = mitmproxy.http.Response.make(200, b"x" * {size}, {{"Content-Type": "text/plain", "ETag": '"1"',
        "Cache-Control": "max-age=3600", "Age": "1", "Date": "Fri, 20 Nov 2026 12:00:00 GMT"}})
"""
BY_STREAMS = """
from bestbefore.addon.proxy.mitm.wire import internals
internals.KNOWN_VERSIONS = frozenset()
from bestbefore.addon.cli import main
main()
"""
SQUID = """
http_port 127.0.0.1:{port}
acl all_of_them src 127.0.0.1
http_access allow all_of_them
cache_mem 64 MB
access_log stdio:{folder}/access.log
cache_log {folder}/cache.log
pid_filename {folder}/squid.pid
coredump_dir {folder}
cache_effective_user {user}
pinger_enable off
shutdown_lifetime 1 second
"""
EXPLANATION = f"""Hits of {SIZE // 1024} KB, one process each, all running at once and loaded in turn, so that a ratio
compares what was measured in the same seconds. `requests/s` is what a client gets; where other work ran beside it, hits
per second of the proxy's processor time are steadier. Times are multiples of stock mitmdump with an addon that answers
in `request`; each is the median of the rounds, with the smallest and the largest. *By streams* is bestbefore with
every request through mitmproxy's events, *at the bytes* as it is installed ([layer](../decisions/layer.md)). Where
one URL is asked for, its answer is sent again as it was for up to a second; with {URLS} URLs in turn each answer is
made for its request. The client of HTTPS is in Python, with requests made before: it takes a part of the time, and
processor time tells more there."""


@dataclass
class Measured:
    """What the rounds brought for one proxy."""

    per_s: list[float] = field(default_factory=list)
    per_cpu_s: list[float] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)


def processor_s(pid: int) -> float:
    """Processor time of a process and its children, s."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK") + sum(map(processor_s, map(int, children)))


def resident_mb(pid: int) -> float:
    """Memory of a process and its children, MB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6 + sum(map(resident_mb, map(int, children)))


def commands(folder: Path, kinds: list[str]) -> Iterator[tuple[str, list[str | Path]]]:
    """How each proxy is started."""
    scripts = Path(sys.executable).parent
    (folder / "stock.py").write_text(STOCK.format(size=SIZE))
    (folder / "streams.py").write_text(BY_STREAMS)
    user = "proxy" if os.getuid() == 0 else os.environ.get("USER", "nobody")
    folder.chmod(0o777)
    (folder / "squid.conf").write_text(SQUID.format(port=PORTS["Squid"], folder=folder, user=user))
    (folder / "proxy.toml").write_text('[[domain]]\nmatch = "localhost"\nverify = false\n')
    ours = ["proxy", "--quiet", "--admin", "off", "--config", str(folder / "proxy.toml")]
    for kind in kinds:
        port = str(PORTS[kind])
        own = ["--state", folder / kind, "--listen", f"127.0.0.1:{port}"]
        yield kind, {
            "mitmdump": [scripts / "mitmdump", "-q", "-s", folder / "stock.py", "--listen-port", port,
                         "--set", f"confdir={folder / 'ca'}", "--set", "connection_strategy=lazy",
                         "--set", "upstream_cert=false"],
            "bare lean": [sys.executable, FOLDER / "bare_proxy.py", port, str(SIZE)],
            "by streams": [sys.executable, folder / "streams.py", *ours, *own],
            "at the bytes": [scripts / "bestbefore", *ours, *own],
            "Squid": ["squid", "-N", "-f", folder / "squid.conf"],
        }[kind]


@contextmanager
def running(kinds: list[str]) -> Iterator[dict[str, int]]:
    """The proxies, each with its process id."""
    with tempfile.TemporaryDirectory() as made, ExitStack() as closing:
        pids = {}
        for kind, command in commands(Path(made), kinds):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            closing.callback(process.wait)
            closing.callback(process.terminate)
            pids[kind] = process.pid
        for kind in kinds:
            await_port(PORTS[kind])
        yield pids


def await_port(port: int, patience_s: float = 60.0) -> None:
    """Wait until a proxy listens."""
    until = time.monotonic() + patience_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return


def certificate(folder: Path) -> Path:
    """A certificate for localhost with its key, in one file."""
    entry = CertStore.from_store(folder, "origin", 2048).get_cert("localhost", [x509.DNSName("localhost")], None)
    leaf = folder / "leaf.pem"
    key = entry.privatekey.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    leaf.write_bytes(entry.cert.to_pem() + key)
    return leaf


def started_origin(leaf: Path | None = None) -> int:
    """The port of an origin, over TLS with a certificate."""
    origin = ThreadingHTTPServer(("127.0.0.1", 0), Constant)
    if leaf is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(leaf)
        origin.socket = context.wrap_socket(origin.socket, server_side=True)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    return origin.server_port


def wrk(
    port: int, url: str, *, connections: int, seconds: float, folder: Path, urls: int = 1
) -> tuple[float, float, float]:
    """Requests a second, and the milliseconds that half of them and 99 of 100 took at most."""
    script = folder / "ask.lua"
    host = url.split("/", 3)[2]
    script.write_text(f'n = 0\nwrk.path = "{url}"\nwrk.headers["Host"] = "{host}"\n' + (
        f'request = function() n = n + 1; return wrk.format(nil, "{url}" .. n % {urls}) end\n' if urls > 1 else ""
    ))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--latency", "-s", script,
               f"http://127.0.0.1:{port}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 30).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        raise RuntimeError(said)
    per_s = float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
    times = [float(t) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]
             for t, unit in re.findall(r"(?:50|99)%\s+([\d.]+)(us|ms|s)", said)]
    return per_s, times[0], times[1]


def tunnelled(port: int, host: str, *, seconds: float, http2: bool) -> tuple[float, float, float]:
    """The same for one client that asks for one URL again and again within one intercepted tunnel."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2" if http2 else "http/1.1"])
    plain = socket.create_connection(("127.0.0.1", port))
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    plain.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    opened = b""
    while b"\r\n\r\n" not in opened:
        opened += plain.recv(4096)
    with context.wrap_socket(plain, server_hostname="localhost") as tls:
        ask = Http2Client(host, tls).ask if http2 else partial(ask_http1, host, tls)
        took, until = [], time.perf_counter() + seconds
        while (began := time.perf_counter()) < until:
            ask()
            took.append(time.perf_counter() - began)
    took.sort()
    return len(took) / seconds, 1e3 * took[len(took) // 2], 1e3 * took[len(took) * 99 // 100]


def ask_http1(host: str, tls: ssl.SSLSocket) -> None:
    """One request over HTTP/1.1."""
    tls.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    got = b""
    while (end := got.find(b"\r\n\r\n")) < 0 or len(got) < end + 4 + SIZE:
        if not (part := tls.recv(65536)):
            raise RuntimeError(f"the proxy answered {got[:200]!r}")
        got += part
    if b" 200 " not in got[:16]:
        raise RuntimeError(f"the proxy answered {got[:200]!r}")


class Http2Client:
    """One request after the other over HTTP/2, in frames made before, so that the client takes little time."""

    def __init__(self, host: str, tls: ssl.SSLSocket) -> None:
        self._tls = tls
        self._stream, self._got, self._taken = -1, b"", 0
        encoder = Encoder()
        fields = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", "/")]
        self._blocks = [encoder.encode(fields), encoder.encode(fields)]
        settings = struct.pack("!HI", 4, WINDOW)  # SETTINGS_INITIAL_WINDOW_SIZE
        tls.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, settings) + frame(8, 0, 0, WIDEN))

    def ask(self) -> None:
        """One request."""
        self._stream += 2
        self._tls.sendall(frame(1, 5, self._stream, self._blocks[self._stream > 1]))
        size, is_over = 0, False
        while not is_over:
            kind, flags, content = self._read_frame()
            if kind == 4 and not flags:
                self._tls.sendall(frame(4, 1, 0, b""))
            elif kind in (3, 7):
                raise RuntimeError(f"the proxy ended it: {content!r}")
            size += len(content) if kind == 0 else 0
            is_over = kind in (0, 1) and bool(flags & 1)
        if size != SIZE:
            raise RuntimeError(f"the proxy answered {size} bytes")
        self._taken += size
        if self._taken > WINDOW // 2:
            self._tls.sendall(frame(8, 0, 0, struct.pack("!I", self._taken)))
            self._taken = 0

    def _read_frame(self) -> tuple[int, int, bytes]:
        while len(self._got) < 9 or len(self._got) < 9 + int.from_bytes(self._got[:3]):
            if not (part := self._tls.recv(65536)):
                raise RuntimeError("the proxy closed the connection")
            self._got += part
        end = 9 + int.from_bytes(self._got[:3])
        kind, flags, content, self._got = self._got[3], self._got[4], self._got[9:end], self._got[end:]
        return kind, flags, content


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    """A frame of HTTP/2."""
    return struct.pack("!I", len(content))[1:] + bytes((kind, flags)) + struct.pack("!I", stream) + content


def rounds(pids: dict[str, int], number: int, load: Callable[[int], tuple[float, float, float]]) -> dict[str, Measured]:
    """Load each proxy in turn, several times."""
    results: dict[str, Measured] = defaultdict(Measured)
    for nth in range(number + 1):
        for kind, pid in pids.items():
            before_s, began_s = processor_s(pid), time.perf_counter()
            per_s, p50_ms, p99_ms = load(PORTS[kind])
            took_s = time.perf_counter() - began_s
            if nth:  # the first round fills the caches
                found = results[kind]
                found.per_s.append(per_s)
                found.per_cpu_s.append(per_s * took_s / max(processor_s(pid) - before_s, 0.01))
                found.p50_ms.append(p50_ms)
                found.p99_ms.append(p99_ms)
    return results


def table(title: str, results: dict[str, Measured], pids: dict[str, int]) -> str:
    """A Markdown table of one way."""
    base = results["mitmdump"]

    def times(found: list[float], of: list[float]) -> str:
        ratios = sorted(one / other for one, other in zip(found, of, strict=True))
        return f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"

    lines = [
        f"## {title}", "",
        "| proxy | requests/s | times mitmdump | per processor second, times mitmdump | p50, ms | p99, ms | MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, found in results.items():
        cells = [kind, f"{statistics.median(found.per_s):.0f}", times(found.per_s, base.per_s),
                 times(found.per_cpu_s, base.per_cpu_s), f"{statistics.median(found.p50_ms):.2f}",
                 f"{statistics.median(found.p99_ms):.2f}", f"{resident_mb(pids[kind]):.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    if "Squid" in results:
        ours, squid = results["at the bytes"], results["Squid"]
        of_squid = statistics.median(a / b for a, b in zip(ours.per_s, squid.per_s, strict=True))
        by_cpu = statistics.median(a / b for a, b in zip(ours.per_cpu_s, squid.per_cpu_s, strict=True))
        lines += ["", f"At the bytes: {of_squid:.2f} of Squid's requests a second, {by_cpu:.2f} of those per second of"
                      " processor time (medians of the rounds)."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Start all, measure, stop all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each load")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--only", nargs="*", choices=PORTS, help="these proxies beside mitmdump")
    parser.add_argument("--out", type=Path, help="the page")
    given = parser.parse_args()
    kinds = [kind for kind in PORTS if given.only is None or kind in ("mitmdump", *given.only)]
    if shutil.which("squid") is None and "Squid" in kinds:
        kinds.remove("Squid")
    printed = []
    with running(kinds) as pids, tempfile.TemporaryDirectory() as folder:
        plain_port, secure_port = started_origin(), started_origin(certificate(Path(folder)))
        url = f"http://127.0.0.1:{plain_port}/"
        for urls, of in ((1, ""), (URLS, f", {URLS} URLs in turn")):
            load = partial(
                wrk, url=url, connections=given.connections, seconds=given.seconds, folder=Path(folder), urls=urls
            )
            title = f"HTTP, `wrk`, {given.connections} connections{of}"
            printed.append(table(title, rounds(pids, given.rounds, load), pids))
            print(printed[-1], flush=True)
        intercepting = {kind: pid for kind, pid in pids.items() if kind != "Squid"}
        for title, http2 in (("HTTP/1.1", False), ("HTTP/2", True)):
            load = partial(tunnelled, host=f"localhost:{secure_port}", seconds=given.seconds, http2=http2)
            secure = rounds(intercepting, given.rounds, load)
            printed.append(table(f"Intercepted HTTPS, {title}, one client, one connection", secure, pids))
            print(printed[-1], flush=True)
    printed.append(f"Load average at the end, by this and by other work: {os.getloadavg()[1]:.1f}.\n")
    print(printed[-1])
    if given.out is not None:
        write_page(given.out, "Proxies side by side", EXPLANATION, "\n".join(printed), preformatted=False)


if __name__ == "__main__":
    main()

"""What hits cost, side by side in one run: stock mitmdump, a bare lean one, ours in three ways, and other caches.

    python tests/bench/proxy.py [--rounds 5] [--seconds 2] [--out docs/results/proxy.md]

All run at once and are loaded in turn: over HTTP by `wrk` (Debian's package), over intercepted HTTPS by one client of
our own, with HTTP/1.1 and HTTP/2. Squid, nginx and Apache Traffic Server are left out where they are not installed.
Loopback only; Linux only, since processor time is read from /proc.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

from constant_origin import certificate, started_origin
from proxy_clients import tunnelled, wrk
from proxy_kinds import PORTS, PROGRAMS, installed_kinds, processor_s, resident_mb, running
from results_page import write_page

URLS = 200
LOADS = ((10, 16, 1), (10, 16, URLS), (10, 256, 1), (1, 16, 1), (100, 16, 1))
"""KB, connections and URLs of each load over HTTP."""
SECURE_KB = (10, 1, 100)
EXPLANATION = f"""Hits, all proxies running at once and loaded in turn, so that a ratio compares what was measured in
the same seconds. `requests/s` is what a client gets; where other work ran beside it, hits per second of the proxy's
processor time are steadier. Times are multiples of stock mitmdump with an addon that answers in `request`; each is
the median of the rounds, with the smallest and the largest. *By streams* is bestbefore with one process and every
request through mitmproxy's events, *at the bytes* with one process as it is installed
([layer](../decisions/layer.md)), *2 workers* with two; each of its processes has 16 MiB of memory for copies, as it
is installed (`hot_max`). The others have one process or thread that serves, 64 MB of memory for copies and a log of
requests (nginx keeps copies in files). What is asked for, at most {URLS} URLs of 10 KB, fits into each. An answer is
sent again as it was for up to a second to the same request from the same address; with {URLS} URLs in turn more
answers are made. `wrk` takes a core of its own, so that with 2 workers on two cores processor time is what to
compare. The client of HTTPS is in Python, with requests made before: it takes a part of the time, so that processor
time is what to compare there, too."""


@dataclass
class Measured:
    """What the rounds brought for one proxy."""

    per_s: list[float] = field(default_factory=list)
    per_cpu_s: list[float] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)


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
    ours = results.get("at the bytes")
    for other in PROGRAMS if ours else ():
        if other in results:
            theirs = results[other]
            share = statistics.median(a / b for a, b in zip(ours.per_s, theirs.per_s, strict=True))
            by_cpu = statistics.median(a / b for a, b in zip(ours.per_cpu_s, theirs.per_cpu_s, strict=True))
            lines += ["", f"At the bytes: {share:.2f} of {other}'s requests a second, {by_cpu:.2f} of those per second"
                          " of processor time (medians of the rounds)."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Start all, measure, stop all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each load")
    parser.add_argument("--only", nargs="*", choices=PORTS, help="these proxies beside mitmdump")
    parser.add_argument("--out", type=Path, help="the page")
    given = parser.parse_args()
    kinds = [kind for kind in installed_kinds() if given.only is None or kind in ("mitmdump", *given.only)]
    printed = []
    with running(kinds) as pids, tempfile.TemporaryDirectory() as folder:
        plain_port, secure_port = started_origin(), started_origin(certificate(Path(folder)))
        for size, connections, urls in LOADS:
            load = partial(
                wrk, url=f"http://127.0.0.1:{plain_port}/{size}/page", connections=connections, seconds=given.seconds,
                folder=Path(folder), urls=urls,
            )
            title = f"HTTP, {size} KB, {connections} connections" + (f", {urls} URLs in turn" if urls > 1 else "")
            printed.append(table(title, rounds(pids, given.rounds, load), pids))
            print(printed[-1], flush=True)
        intercepting = {kind: pid for kind, pid in pids.items() if kind not in PROGRAMS}
        for kb, (title, http2) in product(SECURE_KB, (("HTTP/1.1", False), ("HTTP/2", True))):
            load = partial(tunnelled, host=f"localhost:{secure_port}", kb=kb, seconds=given.seconds, http2=http2)
            secure = rounds(intercepting, given.rounds, load)
            printed.append(table(f"Intercepted HTTPS, {title}, {kb} KB, one client, one connection", secure, pids))
            print(printed[-1], flush=True)
    printed.append(f"Load average at the end, by this and by other work: {os.getloadavg()[1]:.1f}.\n")
    print(printed[-1])
    if given.out is not None:
        write_page(given.out, "Proxies side by side", EXPLANATION, "\n".join(printed), preformatted=False)


if __name__ == "__main__":
    main()

"""How long replays take of more than fits into memory: `python tests/bench/replay_long.py DIR --out FILE`.

Three hundred million requests, and ten million objects with one request each, are generated in a folder, unless they
are there, and replayed by `bestbefore replay`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from generated_trace import Shape, write
from results_page import write_page

SHAPE = Shape(300_000_000)
POLICIES = (("ttl:alpha=0.2", "shared"), ("indhist:theta=0.1", "shared"), ("indttl", "client"))
OBSERVED = "indttl:max_ttl=1d,fallback=ttl+group,history_window=28d"
ONCE_EACH = 10_000_000
EXPLANATION = """*Seconds* are those of the clock for `bestbefore replay`, reading and sorting among them. *Memory* is
the most that the process held; with mapped pages that is what the system had free, as columns are mapped from the
archive and sorted streams from temporary files. What remains is the sorting of 33 million requests at a time, and the
names. On a terminal a bar shows how much is done, and an estimate of the time left."""


@dataclass
class Replayed:
    """What `bestbefore replay` took."""

    seconds: float
    most_bytes: int = 0
    """The most memory that it held, pages of mapped files among it, which the system takes back if it needs them."""
    most_own_bytes: int = 0
    """Without those."""
    said: str = ""


def replayed(arguments: list[str]) -> Replayed:
    """`bestbefore replay` with these arguments, looked at while it runs: what the system says of the memory of a child
    that has ended may be its parent's.
    """
    began_s = time.perf_counter()
    main = "from bestbefore.addon.cli import main; main()"
    found = Replayed(0.0)
    command = [sys.executable, "-c", main, "replay", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        while child.poll() is None:
            status = Path(f"/proc/{child.pid}/status").read_text()
            kib = {line.split()[0]: int(line.split()[1]) for line in status.splitlines() if line.endswith(" kB")}
            found.most_bytes = max(found.most_bytes, kib.get("VmHWM:", 0) * 1024)
            found.most_own_bytes = max(found.most_own_bytes, kib.get("RssAnon:", 0) * 1024)
            time.sleep(0.02)
        found.seconds = time.perf_counter() - began_s
        found.said = child.stdout.read() if child.stdout else ""
    if child.returncode:
        raise RuntimeError(f"bestbefore replay {' '.join(arguments)}: exit {child.returncode}")
    return found


def rows(runs: list[tuple[str, str]], arguments: list[str]) -> Iterator[str]:
    """A table of replays with these policies and caches."""
    yield "| policy | cache | history | requests | contacts | seconds | memory, MB | without mapped pages, MB |"
    yield "|---|---|---|---|---|---|---|---|"
    for spec, cache in runs:
        found = replayed([*arguments, "--cache", cache, "--policy", spec, "--json"])
        counts = json.loads(found.said)
        contacts = (counts["misses"] + counts["validations"]) / counts["requests"]
        yield (
            f"| `{spec}` | {cache} | {counts['history']} | {counts['requests']:,} | {contacts:.1%} | "
            f"{found.seconds:.0f} | {found.most_bytes / 1e6:,.0f} | {found.most_own_bytes / 1e6:,.0f} |"
        )


def once_each(path: Path) -> None:
    """A log of requests, each for another object, whose name is as long as a URL."""
    with path.open("w") as file:
        file.write("time,client,object\n")
        for i in range(ONCE_EACH):
            file.write(f"{893_980_800 + i // 4},c{i % 1000},http://www.example.com/english/page-{i:08d}.html\n")


def measured(folder: Path) -> Iterator[str]:
    """The lines of the page."""
    updates, requests = folder / "updates.npz", folder / "requests.npz"
    if not requests.exists():
        write(folder, SHAPE)
    files = ["--updates", str(updates), "--requests", str(requests)]
    yield f"`{SHAPE}`, {requests.stat().st_size / 1e9:.1f} GB.\n"
    yield from rows(list(POLICIES), files)
    yield "\nThe same with observed histories, learnt from all requests in order of time:\n"
    yield from rows([(OBSERVED, "shared")], [*files, "--history", "observed"])
    log = folder / "once_each.csv"
    if not log.exists():
        once_each(log)
    yield f"\n{ONCE_EACH:,} objects with one request each, from a CSV file of {log.stat().st_size / 1e6:,.0f} MB:\n"
    yield from rows([("indttl", "shared"), ("indttl", "client")], ["--updates", str(updates), "--requests", str(log)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    lines = []
    for line in measured(given.folder):
        print(line, flush=True)
        lines.append(line)
    lines.append(f"\nThe load of the machine was {load:.1f} before and {os.getloadavg()[0]:.1f} after.")
    if given.out is not None:
        write_page(given.out, "Long replays", EXPLANATION, "\n".join(lines), preformatted=False)


if __name__ == "__main__":
    main()

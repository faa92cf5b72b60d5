"""What a plan of objects in parts costs: `python tests/bench/plan_parts.py [--objects N] [--record]`.

Makes the parts and plans in a folder beside this one (`--folder`), which it removes. With --record the table becomes
docs/results/plan_parts.md.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
from results_page import write_page

from bestbefore.policies.prefetch.allocation.objectives import weighted_mean
from bestbefore.policies.prefetch.table import OBJECTIVES

PAGE = Path(__file__).parents[2] / "docs" / "results" / "plan_parts.md"
PART = 1_000_000
"""The objects of a part."""
COMPARED = 10_000_000
"""Up to this many objects are planned by one process in memory too."""

EXPLANATION = """`bestbefore plan --objects FOLDER --objective ... --out FOLDER --json`, of parts of a million objects \
each with log-normal rates (sigma 1.5) and Pareto weights (shape 1.2); the budget is N/5 contacts per period. *Rounds* \
are passes over all parts, the last of which writes the plan. *s* is elapsed time from the start of the command to its \
end, with reading, checks of ids and writing; *largest process* and *all* are resident memory at its peak, in MB, \
sampled each 0.2 s. *Budget* and *objective* are relative differences from the plan of all objects in the memory of \
one process, up to ten million."""


def make_part(folder: Path, number: int, n: int) -> None:
    """Write part `number` with n objects."""
    rng = np.random.default_rng([1, number])
    first = number * PART
    pl.DataFrame({
        "id": pl.Series(np.arange(first, first + n)).cast(pl.String),
        "rate": np.exp(rng.normal(0.0, 1.5, n)), "weight": 1.0 + rng.pareto(1.2, n),
    }).write_parquet(folder / f"{number:05d}.parquet", compression="lz4")


class Memory:
    """The peaks of the resident memory of a process and its descendants, in MB."""

    def __init__(self, root: int) -> None:
        self.largest, self.all = 0.0, 0.0
        self._root, self._ends = root, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def end(self) -> None:
        """Stop sampling."""
        self._ends.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ends.wait(0.2):
            sizes = [size for pid in self._descendants() if (size := _resident_mb(pid))]
            self.largest, self.all = max([self.largest, *sizes]), max(self.all, sum(sizes))

    def _descendants(self) -> list[int]:
        parents = {}
        for path in Path("/proc").iterdir():
            if path.name.isdecimal():
                try:
                    parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                except OSError:
                    continue
        found = [self._root]
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found


def _resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def in_memory(parts: Path, objective: str, budget: float) -> tuple[float, float]:
    """Return the contacts and the objective of the plan of one process."""
    frame = pl.concat([pl.read_parquet(path, columns=["rate", "weight"]) for path in sorted(parts.iterdir())])
    rates, weights = frame["rate"].to_numpy(), frame["weight"].to_numpy()
    contacts = OBJECTIVES[objective].allocate(rates, weights, budget)
    value = weighted_mean(OBJECTIVES[objective].measure(rates, contacts), weights)
    return float(contacts.sum()), value / (weighted_mean(rates, weights) if objective == "delay" else 1.0)


def row(parts: Path, n: int, objective: str, jobs: int) -> str:
    """Plan once, and return a line of the table."""
    budget, out = n / 5, parts.parent / "plan"
    command = ["bestbefore", "plan", "--objects", str(parts), "--budget", str(budget), "--objective", objective,
               "--jobs", str(jobs), "--out", str(out), "--json"]
    began = time.monotonic()
    with subprocess.Popen(
        [str(Path(sys.executable).parent / command[0]), *command[1:]], stdout=subprocess.PIPE, text=True
    ) as process:
        memory = Memory(process.pid)
        printed, _ = process.communicate()
        memory.end()
    seconds = time.monotonic() - began
    shutil.rmtree(out)
    found = json.loads(printed)
    errors = f"{'':>22s}"
    if n <= COMPARED:
        contacts, value = in_memory(parts, objective, budget)
        errors = f"{abs(found['contacts'] / contacts - 1):11.0e}{abs(found[objective] / value - 1):11.0e}"
    return (
        f"{n:11d}{objective:>11s}{jobs:6d}{seconds:8.1f}{found['rounds']:8d}{memory.largest:14.0f}{memory.all:14.0f}"
        f"{errors}"
    )


def main() -> None:
    """Print the table, and write the page if asked to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=10_000_000)
    parser.add_argument("--objectives", default="freshness")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    lines = [
        f"{'objects':>11s}{'objective':>11s}{'jobs':>6s}{'s':>8s}{'rounds':>8s}{'largest process':>16s}"
        f"{'all, MB':>12s}{'budget':>11s}{'objective':>11s}"
    ]
    print(lines[0], flush=True)
    for n in sorted({min(1_000_000, args.objects), args.objects}):
        if args.folder is not None:
            args.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=args.folder) as name:
            parts = Path(name) / "parts"
            parts.mkdir()
            for number in range(-(-n // PART)):
                make_part(parts, number, min(PART, n - number * PART))
            for objective in args.objectives.split(","):
                for jobs in (1, 2):
                    lines.append(row(parts, n, objective, jobs))
                    print(lines[-1], flush=True)
    if args.record:
        write_page(PAGE, "Plans of objects in parts", EXPLANATION, "\n".join(lines))


if __name__ == "__main__":
    main()

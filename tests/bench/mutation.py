"""Which changes to the code the tests notice: `python tests/bench/mutation.py --mutants 420 --seed 1`.

Each mutant (`mutants`) is written into a copy of the tree and the tests that concern its module run there, the nearest
first: those of its name, those of its folder, those of the folders above and those that import it. It is killed when
one of them fails. Those that survive are listed, as are those that tests/data/equivalent_mutants.txt says no test can
notice, with the reason.
`--again FILE` takes the mutants, and what was killed, from the log of an earlier run, and runs those that survived it.
`--fresh SEED=FILE ...` adds a table of runs with other seeds, by their logs. `--out FILE` writes the page
docs/results/mutation.md; with `--only-fresh` nothing is run, and the page gets another such table. Nothing is asserted.
"""

import argparse
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from queue import SimpleQueue

from mutants import Mutant, drawn, mutants
from results_page import write_page

ROOT = Path(__file__).parent.parent.parent
EQUIVALENT = ROOT / "tests/data/equivalent_mutants.txt"
COPIED = ("addon", "policies", "replay", "tests", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
ANSWERS = ("addon/proxy", "addon/engine", "addon/rfc9111")
"""Folders of what answers clients, for which tests on real processes run, too."""
SECONDS = itertools.count(1)
"""By how much each mutant is younger than the module, so that no two are taken for each other."""
IMPORTERS_AT_MOST = 10
"""The nearest of the tests that import a module."""
_LOGGED = re.compile(r"^\d+/\d+ \d+ s (\w+): (.+?):(\d+): (.*)$", re.MULTILINE)
COLUMNS = " | mutants | equivalent | killed | survived | of those not equivalent |"
EXPLANATION = """Small changes to the code, drawn at random over the folders: a comparison at its boundary or turned
round, `and` for `or`, an operator of arithmetic, a constant plus one, a statement left out. A mutant is *killed* when a
test fails; *equivalent* where no test could notice it, which was judged by reading. The tests run are those of the
module's name, then those of its folder, then those of the folders above and the nearest of those that import it, tests
on real processes among them; not the whole suite."""

AGAIN = """

The mutants are those of an earlier run, as far as the code still has them. What was killed then counts as killed; what
survived was run again with the tests of today."""


FRESH = """The tests were written for the sample above, which says little of other mutants. These samples were drawn
with other seeds, each after tests had been written for what survived of the one before it. Their numbers are those of
the first run: what survived is not judged, and counts as survived where no test could notice it. From 6 on the tests of
the folders above run, too. Before 7 an argument `strict=True` of `zip`, which asserts and nothing else, was changed as
other constants are."""


def tests_of(mutant: Mutant, tested_by: dict[str, str]) -> Iterator[list[str]]:
    """The tests to run, stage by stage."""
    module = mutant.path.removesuffix(".py")
    folder, _, name = module.rpartition("/")
    with_it = {test for test, names in tested_by.items() if module in names.split()}
    done = {test for test in (f"tests/{folder}/test_{name}.py", *with_it) if (ROOT / test).is_file()}
    yield sorted(done)
    beside = in_folder(f"tests/{folder}") - done
    yield sorted(beside)
    above = {test for parent in Path(folder).parents if parent.name for test in in_folder(f"tests/{parent}")}
    dotted = f"bestbefore.{module.replace('/', '.')} import"
    importing = {
        str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py") if dotted in path.read_text()
    }
    live = ("proxy", "request_framing", "bounds") if folder.startswith(ANSWERS) else ()
    others = sorted(
        importing - done - beside - above, key=lambda test: (-len(os.path.commonpath([test, f"tests/{folder}"])), test)
    )
    yield [
        *sorted(above - done),
        *others[:IMPORTERS_AT_MOST],
        *(f"tests/live/clients/test_{name}.py" for name in live),
    ]


def in_folder(folder: str) -> set[str]:
    """The test files of a folder, without those of the folders in it."""
    return {f"{folder}/{path.name}" for path in (ROOT / folder).glob("test_*.py")}


class Copy:
    """A copy of the tree whose modules are found before those that are installed, and what runs tests in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._before = dict[tuple[str, ...], str]()
        folder.mkdir()
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, folder / name)
        package = folder / "build/src/bestbefore"
        package.mkdir(parents=True)
        for name in ("addon", "policies", "replay"):
            (package / name).symlink_to(folder / name)
        environment = {**os.environ, "PYTHONPATH": str(folder / "build/src")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-P", "-W", "ignore", str(ROOT / "tests/bench/preloaded_pytest.py")]
        self._runner = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def status(self, tests: Sequence[str]) -> str:
        """The exit status of pytest, `0` where there is nothing to run; or `timeout`."""
        if not tests:
            return "0"
        assert self._runner.stdin is not None
        assert self._runner.stdout is not None
        self._runner.stdin.write(json.dumps([*tests]) + "\n")
        self._runner.stdin.flush()
        return self._runner.stdout.readline().strip()

    def status_before(self, tests: Sequence[str]) -> str:
        """The exit status of tests without a mutant; they are run once."""
        found = self._before.get(tuple(tests))
        if found is None:
            found = self._before[tuple(tests)] = self.status(tests)
        return found

    def close(self) -> None:
        assert self._runner.stdin is not None
        self._runner.stdin.close()
        self._runner.wait()


def outcome(copy: Copy, mutant: Mutant, tested_by: dict[str, str]) -> str:
    """By which stage the mutant is killed, or `survived`, which it counts as where the tests fail without it, too."""
    path = copy.folder / mutant.path
    source, before_s = path.read_bytes(), int(path.stat().st_mtime)
    path.write_bytes(mutant.applied(source))
    os.utime(path, (before_s + next(SECONDS),) * 2)  # compiled modules are known by size and second
    try:
        stage = "survived"
        for name, tests in zip(("name", "folder", "importers"), tests_of(mutant, tested_by), strict=True):
            status = copy.status(tests)
            # 5: none of the tests is one that is not slow. A stage that takes too long shows nothing but in the first.
            if status not in ("0", "5") and (status != "timeout" or name == "name"):
                stage = name
                break
    finally:
        path.write_bytes(source)
        os.utime(path, (before_s, before_s))
    if stage != "survived" and copy.status_before(tests) not in ("0", "5"):
        print(f"without a mutant, too, one of these fails: {' '.join(tests)}", file=sys.stderr)
        return "survived"
    return stage


def equivalents() -> dict[str, str]:
    """Mutants that no test can notice, as they print without their line, and why."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.is_file() else []
    return dict(line.split(" -- ", 1) for line in lines if line and not line.startswith("#"))


def without_line(mutant: Mutant) -> str:
    return f"{mutant.path}: {str(mutant).partition(': ')[2]} in `{mutant.code}`"


def earlier(log: Path) -> list[tuple[Mutant, str]]:
    """The mutants of an earlier run that the code still has, and what became of them; of like ones the nearest line."""
    out: dict[Mutant, str] = {}
    for became, path, line, change in _LOGGED.findall(log.read_text()):
        found = [*mutants(ROOT, ROOT / path)] if (ROOT / path).is_file() else []
        like = [mutant for mutant in found if str(mutant).endswith(f": {change}") and mutant not in out]
        if like:
            out[min(like, key=lambda mutant: abs(mutant.line - int(line)))] = became
    return [*out.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=420)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folders", nargs="+", default=["addon", "policies"])
    parser.add_argument("--again", type=Path, metavar="FILE", help="the errors of an earlier run")
    parser.add_argument("--fresh", nargs="+", default=[], metavar="SEED=FILE", help="errors of runs with other seeds")
    parser.add_argument("--only-fresh", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.only_fresh:
        before_it = given.out.read_text().partition("\n## Fresh samples\n")[0]
        given.out.write_text(before_it.rstrip("\n") + fresh_samples(given.fresh) + "\n")
        return
    spec = spec_from_file_location("mirror", ROOT / "tests/test_mirror.py")
    assert spec is not None
    assert spec.loader is not None
    mirror = module_from_spec(spec)
    spec.loader.exec_module(mirror)
    before = {} if given.again is None else dict(earlier(given.again))
    found = [*before] or drawn(ROOT, given.folders, given.mutants, given.seed)
    known, began = equivalents(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for job in range(given.jobs):
            copies.put(Copy(Path(folder) / str(job)))

        def judged(mutant: Mutant) -> str:
            if without_line(mutant) in known:
                return "equivalent"
            if before.get(mutant, "survived") not in ("survived", "equivalent"):
                return before[mutant]
            copy = copies.get()
            try:
                return outcome(copy, mutant, mirror.TESTED_BY)
            finally:
                copies.put(copy)

        outcomes: list[str] = []
        with ThreadPoolExecutor(given.jobs) as pool:
            for mutant, became in zip(found, pool.map(judged, found), strict=True):
                outcomes.append(became)
                spent = time.monotonic() - began
                print(f"{len(outcomes)}/{len(found)} {spent:.0f} s {became}: {mutant}", file=sys.stderr, flush=True)
        for _ in range(given.jobs):
            copies.get().close()
    text = page(found, outcomes, known) + fresh_samples(given.fresh)
    print(text)
    if given.out is not None:
        explanation = EXPLANATION + (AGAIN if before else "")
        write_page(given.out, "Which changes to the code the tests notice", explanation, text, preformatted=False)


def page(found: Sequence[Mutant], outcomes: Sequence[str], known: dict[str, str]) -> str:
    """The table by folder, and the mutants that were not killed."""
    rows: dict[str, Counter[str]] = {}
    for mutant, became in zip(found, outcomes, strict=True):
        rows.setdefault("/".join(mutant.path.split("/")[:2]).removesuffix(".py"), Counter())[became] += 1
    rows["all"] = sum(rows.values(), Counter[str]())
    lines = ["| folder" + COLUMNS, "|---" * 6 + "|"]
    for folder, counts in rows.items():
        total, survived, same = counts.total(), counts["survived"], counts["equivalent"]
        killed = total - survived - same
        share = f"{killed / (killed + survived):.0%}" if killed + survived else ""
        lines.append(f"| {folder} | {total} | {same} | {killed} | {survived} | {share} |")
    for title, wanted in (("Survived", "survived"), ("Equivalent", "equivalent")):
        lines += ["", f"{title}:", ""]
        for mutant, became in zip(found, outcomes, strict=True):
            if became == wanted:
                reason = f" ({known[without_line(mutant)]})" if became == "equivalent" else ""
                lines.append(f"- {mutant}{reason}")
    return "\n".join(lines)


def fresh_samples(logs: Sequence[str]) -> str:
    """A table of runs with other seeds, with what became of their mutants before tests were written for any of them."""
    if not logs:
        return ""
    lines = ["", "", "## Fresh samples", "", FRESH, "", "| seed" + COLUMNS, "|---" * 6 + "|"]
    survivors = []
    for name, _, log in (given.partition("=") for given in logs):
        found = _LOGGED.findall(Path(log).read_text())
        counts = Counter(became for became, *_ in found)
        survived, same = counts["survived"], counts["equivalent"]
        killed = len(found) - survived - same
        share = killed / (killed + survived)
        lines.append(f"| {name} | {len(found)} | {same} | {killed} | {survived} | {share:.0%} |")
        survivors += [f"- {name}: {path}:{at}: {change}" for became, path, at, change in found if became == "survived"]
    by = shlex.join(["python", "tests/bench/mutation.py", *sys.argv[1:]])
    return "\n".join([*lines, "", "Table by", "", f"    {by}", "", "Survived there, by seed:", "", *survivors])


if __name__ == "__main__":
    main()

"""The counts of measured runs, kept in docs/results/conformance.json and shown in docs/results/conformance.md."""

import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from suite import KINDS, Ended, Outcome

RESULTS = Path(__file__).parent.parent.parent / "docs" / "results"
_COUNTS = RESULTS / "conformance.json"
_PAGE = RESULTS / "conformance.md"
_INTRODUCTION = """\
# Conformance: measured

Tests passed, of npm's `http-cache-tests`; what they mean, and why some are not passed, is in
[conformance](../conformance.md). This page is written by

    python tests/conformance/measure.py --record CONFIGURATION ...

with one proxy and the suite on one machine, through the loopback interface, and with the same client for all.
"""


def share(tests: Iterable[Ended], kind: str) -> str:
    """How many tests of a kind were passed, and of how many."""
    outcomes = [test.outcome for test in tests if test.kind == kind]
    return f"{outcomes.count(Outcome.PASS)}/{len(outcomes)}"


def record(runs: Mapping[str, Mapping[str, Ended]], suite_version: str, ours: set[str]) -> None:
    """Add runs to the counts, in place of earlier ones of the same name, and rewrite the page."""
    kept: dict[str, Any] = json.loads(_COUNTS.read_text()) if _COUNTS.exists() else {}
    for name, tests in runs.items():
        groups = dict.fromkeys(test.group for test in tests.values())
        kept[name] = {
            "ours": name in ours,
            "suite": suite_version,
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "cores": os.cpu_count(),
            "all": {kind: share(tests.values(), kind) for kind in KINDS},
            "groups": {
                group: {kind: share((t for t in tests.values() if t.group == group), kind) for kind in KINDS}
                for group in groups
            },
        }
    RESULTS.mkdir(exist_ok=True)
    _COUNTS.write_text(json.dumps(kept, indent=1) + "\n")
    _PAGE.write_text(_page(kept))


def _page(kept: Mapping[str, Any]) -> str:
    ours = {name: run for name, run in kept.items() if run["ours"]}
    others = {name: run for name, run in kept.items() if not run["ours"]}
    compared = {"bestbefore": ours["plain"], **others}
    parts = [
        _INTRODUCTION,
        "## bestbefore, by configuration",
        _table({f"`{name}`": run for name, run in ours.items()}),
        "## bestbefore (`plain`) and others",
        _table(compared),
        *(f"## {kind.capitalize()} tests, by group\n\n{_by_group(compared, kind)}" for kind in KINDS[:2]),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _table(runs: Mapping[str, Any]) -> str:
    rows = [
        [name, *(run["all"][kind] for kind in KINDS), run["suite"], run["date"], str(run["cores"])]
        for name, run in runs.items()
    ]
    return _markdown(["", *KINDS, "suite", "date", "cores"], rows)


def _by_group(runs: Mapping[str, Any], kind: str) -> str:
    groups = runs["bestbefore"]["groups"]
    rows = [
        [group, *(run["groups"][group][kind] for run in runs.values())]
        for group, counts in groups.items()
        if counts[kind] != "0/0"
    ]
    return _markdown(["group", *runs], rows)


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

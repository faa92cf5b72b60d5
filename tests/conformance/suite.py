"""Runs the npm package http-cache-tests through a proxy, and says how each of its tests ended."""

import json
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

KINDS = ("required", "optimal", "check")
"""What RFC 9111 demands, what a good cache does besides, and what merely tells how a cache behaves."""
CONCURRENCY = 100
"""Tests at a time. Most of the time of a test is a pause of three seconds, so that many at a time cost little."""
PATIENCE_S = 130.0


class Outcome(StrEnum):
    """How a test ended; the suite has the same cases."""

    PASS = "pass"
    FAIL = "fail"
    SETUP = "setup"
    """What has to be so before the test can begin was not so."""
    DEPENDENCY = "dependency"
    """A test on which this one depends was not passed; its own end does not count."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One test of the suite."""

    group: str
    kind: str
    outcome: Outcome
    why: str
    """What was seen instead of what the test looks for; empty if it was passed."""


def run(suite: Path, proxy_url: str, *, mode: str = "forward", origin_port: int | None = None) -> dict[str, Ended]:
    """All tests by their ids, after half a minute.

    `mode` is `forward` for a proxy that takes absolute URLs, `reverse` for one that has the suite's origin on
    127.0.0.1:`origin_port` behind it.
    """
    driver = Path(__file__).parent / "driver.mjs"
    port = origin_port or _free_port()
    done = subprocess.run(
        ["node", driver, suite, str(port), str(CONCURRENCY), mode, proxy_url],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the suite did not run to its end: {done.stderr.strip()}")
    told = json.loads(done.stdout)
    return {name: _ended(name, told) for name in told}


def version(suite: Path) -> str:
    """The version of the package."""
    return str(json.loads((suite / "package.json").read_text())["version"])


def _ended(name: str, told: Mapping[str, Any]) -> Ended:
    test = told[name]
    result = test["result"]
    why = "" if result is True else ": ".join(map(str, result))
    return Ended(test["group"], test["kind"], _outcome(name, told), why)


def _outcome(name: str, told: Mapping[str, Any]) -> Outcome:
    result = told[name]["result"]
    if any(other not in told or _outcome(other, told) is not Outcome.PASS for other in told[name]["dependsOn"]):
        return Outcome.DEPENDENCY
    if result is True:
        return Outcome.PASS
    return Outcome.SETUP if result[0] == "Setup" else Outcome.FAIL


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])

"""The public tests for HTTP caches, through the proxy as a user starts it."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.live, pytest.mark.slow]

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
PATIENCE_S = 145.0
"""More than a run takes at most, and twice is less than a test may."""
A_MATTER_OF_TIMING = {"heuristic-delta-30"}
"""It waits for three seconds, which is how long the guessed lifetime of its page (a tenth of 30 s) is."""


@pytest.fixture(scope="module")
def suite() -> Path:
    """The folder of the npm package http-cache-tests."""
    if shutil.which("node") is None:
        pytest.skip("there is no node to run the suite with")
    folder = os.environ.get("CACHE_TESTS_DIR")
    if folder:
        return Path(folder)
    reason = "CACHE_TESTS_DIR is not set to the folder of npm's http-cache-tests"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def measured(name: str, suite: Path, folder: Path, expected: Any) -> Any:
    """How each test ended in this configuration, after half a minute.

    If one is not passed that is expected to be, all run again, and for that one the later end counts: copies of the
    suite live for two or three seconds, so that on a machine with other work a test may come too late for one. That is
    done twice if there is the time.
    """
    begun_s = time.monotonic()
    first = once(name, suite, folder)
    for _ in range(2):
        late = [test for test in first if expected.get(test) == "pass" != first[test]["outcome"]]
        if late and time.monotonic() - begun_s < PATIENCE_S:
            again = once(name, suite, folder)
            first.update((test, again[test]) for test in late)
    return first


def once(name: str, suite: Path, folder: Path) -> Any:
    """How each test ended in one run."""
    done = subprocess.run(
        [sys.executable, FOLDER / "measure.py", name, "--suite", suite, "--json", folder / name],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / name).read_text())[name]


@pytest.fixture(scope="module")
def plain(suite: Path, expected: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """With the policies where HTTP leaves the lifetime open."""
    return measured("plain", suite, tmp_path_factory.mktemp("conformance"), expected)


@pytest.fixture(scope="module")
def expected() -> Any:
    """How each test ended when that was last looked at: by `measure.py plain --golden`."""
    return json.loads((ROOT / "tests" / "golden" / "conformance.json").read_text())


def test_each_test_ends_as_recorded(plain: Any, expected: Any) -> None:
    assert set(plain) == set(expected)
    changed = [
        f"{name} ({test['kind']}): {expected[name]} -> {test['outcome']} {test['why']}"
        for name, test in plain.items()
        if test["outcome"] != expected[name] and name not in A_MATTER_OF_TIMING
    ]
    assert not changed, "\n".join(changed)


def test_policies_that_shorten_lifetimes_cost_no_test(suite: Path, expected: Any, tmp_path: Path) -> None:
    lost = [
        f"{name}: {test['why']}"
        for name, test in measured("shorten", suite, tmp_path, expected).items()
        if test["kind"] != "check" and expected[name] == "pass" != test["outcome"] and name not in A_MATTER_OF_TIMING
    ]
    assert not lost, "\n".join(lost)


def test_each_required_test_that_is_not_passed_is_explained(plain: Any) -> None:
    page = (ROOT / "docs" / "conformance.md").read_text()
    for name, test in plain.items():
        if test["kind"] == "required" and test["outcome"] != "pass":
            assert f"`{name}`" in page, name

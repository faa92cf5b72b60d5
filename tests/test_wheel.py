"""What a user installs: a wheel holds only what the packaging names, so it is tried apart from the checkout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WHEEL = os.environ.get("BESTBEFORE_WHEEL")

PROGRAM = """
import importlib, pathlib, pkgutil, sys
site = pathlib.Path(sys.argv[1])
import bestbefore.addon, bestbefore.policies, bestbefore.replay
for package in (bestbefore.addon, bestbefore.policies, bestbefore.replay):
    assert pathlib.Path(package.__file__).is_relative_to(site), package.__file__
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
from bestbefore.addon.cli import run
assert run(["--version"]) == 0
assert run(["addon-path"]) == 0
"""


@pytest.mark.skipif(WHEEL is None, reason="BESTBEFORE_WHEEL names no folder with an installed wheel")
def test_every_module_of_the_wheel_imports_and_its_command_runs(tmp_path: Path) -> None:
    assert WHEEL is not None
    environment = {**os.environ, "PYTHONPATH": WHEEL}
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", PROGRAM, WHEEL],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.splitlines()[-1])
    assert path.is_relative_to(WHEEL)
    assert path.name == "bestbefore_addon.py"

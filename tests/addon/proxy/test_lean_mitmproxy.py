"""mitmproxy's addons are imported one by one, and its package stays whole for other imports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

UNNEEDED = {"flask", "jinja2", "ldap3", "llvmlite", "numba", "polars", "scipy", "werkzeug"}
"""What no part of a proxy's start calls for; scipy and mitmproxy's other addons were a third of its time."""

START = """
import json, os, signal, sys
from bestbefore.addon.commands import proxy

def greet(*_):
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
    os.kill(os.getpid(), signal.SIGTERM)

proxy._greet = greet
options = ["--workers", "1", "--quiet", "--state", sys.argv[1]]
proxy.command(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *options])
"""


def run(script: str, *args: str) -> str:
    """What a script prints in an interpreter of its own."""
    command = [sys.executable, "-c", script, *args]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout


def test_a_proxy_that_listens_has_imported_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    imported = set(json.loads(run(START, str(tmp_path / "state")).splitlines()[0]))
    assert {"mitmproxy", "numpy"} <= imported
    assert imported & UNNEEDED == set()


@pytest.mark.slow
def test_the_package_can_be_imported_as_a_whole_afterwards() -> None:
    assert run("""
import sys
from bestbefore.addon.proxy import lean_mitmproxy
assert "mitmproxy.addons" not in sys.modules
import mitmproxy.addons
assert mitmproxy.addons.core is lean_mitmproxy.core
assert lean_mitmproxy.core.Core in map(type, mitmproxy.addons.default_addons())
print("whole")
""") == "whole\n"


@pytest.mark.slow
def test_a_package_that_was_imported_before_is_left_as_it_is() -> None:
    assert run("""
import mitmproxy.addons as before
from bestbefore.addon.proxy import lean_mitmproxy
import mitmproxy, sys
assert sys.modules["mitmproxy.addons"] is mitmproxy.addons is before
assert before.core is lean_mitmproxy.core
print("left")
""") == "left\n"

"""Runs pytest again and again in forks of a process that has loaded what all tests import, which takes seconds.

Each line of the input is a JSON list of paths, each line of the output the exit status, or `timeout`. Nothing of the
project is loaded before a fork, so that what changed on disk is seen.
"""

import importlib
import json
import os
import signal
import sys
import time
from contextlib import suppress

LIMIT_S = 120.0


NEEDED = (
    *("aiohttp.web", "h2.connection", "lxml.etree", "numpy", "pytest", "redis.asyncio"),
    *("mitmproxy.master", "mitmproxy.proxy.server", "mitmproxy.test.tflow", "mitmproxy.addons.default_addons"),
    *("scipy.optimize", "scipy.signal", "scipy.special", "scipy.stats"),
)
"""What most tests import, apart from the project itself, and from plugins of pytest, which it loads itself."""


def preload() -> None:
    for name in NEEDED:
        with suppress(ImportError):
            importlib.import_module(name)


def run(tests: list[str]) -> str:
    """The status of these tests, in a fork that leads its own process group."""
    child = os.fork()
    if child == 0:
        os.setsid()
        import pytest

        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests])))
    end = time.monotonic() + LIMIT_S
    status = "timeout"
    while time.monotonic() < end:
        ended, code = os.waitpid(child, os.WNOHANG)
        if ended:
            status = str(os.waitstatus_to_exitcode(code))
            break
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status == "timeout":
        os.waitpid(child, 0)
    return status


if __name__ == "__main__":
    preload()
    for line in sys.stdin:
        print(run(json.loads(line)), flush=True)

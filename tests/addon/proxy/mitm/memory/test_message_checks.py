"""What mitmproxy's messages leave when they are made."""

import subprocess
import sys

import pytest

PROGRAM = """
import gc
from mitmproxy.http import Response
from bestbefore.addon.proxy.mitm.memory.message_checks import leave_out
{}
gc.collect()
gc.disable()
for _ in range(10):
    Response(b"HTTP/1.1", 200, b"OK", (), None, None, 0.0, None)
print(gc.collect() > 0)
"""


@pytest.mark.parametrize(("first", "leaves"), [("", "True"), ("leave_out()", "False"), ("leave_out()\n" * 2, "False")])
def test_a_message_leaves_no_exceptions_without_the_checks(first: str, leaves: str) -> None:
    """In a process of its own, as the checks are left out in all of it."""
    program = PROGRAM.format(first)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == leaves


def test_under_optimization_there_are_no_checks_to_leave_out() -> None:
    ran = subprocess.run([sys.executable, "-O", "-c", PROGRAM.format("leave_out()")], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip()) == (0, "False"), ran.stderr

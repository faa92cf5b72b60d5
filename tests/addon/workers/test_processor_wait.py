"""The wait of a process for a processor, of which another takes half."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bestbefore.addon.workers.processor_wait import processor_wait_s


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="only Linux counts it")
def test_a_process_that_shares_a_processor_waits_for_it() -> None:
    both = [subprocess.Popen([sys.executable, "-ISc", "while True: pass"]) for _ in range(2)]
    try:
        for one in both:
            os.sched_setaffinity(one.pid, {min(os.sched_getaffinity(0))})
        end_s = time.monotonic() + 10.0
        while time.monotonic() < end_s and min(processor_wait_s(one.pid) for one in both) < 0.02:
            time.sleep(0.01)
        assert min(processor_wait_s(one.pid) for one in both) >= 0.02
    finally:
        for one in both:
            one.kill()
            one.wait()


def test_of_a_process_that_is_not_there_nothing_is_known() -> None:
    assert processor_wait_s(0) == 0.0

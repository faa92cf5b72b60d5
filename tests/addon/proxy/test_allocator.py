"""Memory that is given back."""

import subprocess
import sys

CODE = """
from pathlib import Path
import re
from bestbefore.addon.proxy.allocator import give_back, keep_little
def resident(): return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
keep_little()
before = resident()
held = [bytes(70_000) for _ in range(2000)]
used = resident()
keep = held[::200]
del held
give_back()
print(used - before, resident() - before)
"""


def test_what_was_freed_is_not_resident() -> None:
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    used_kb, left_kb = map(int, ran.stdout.split())
    assert used_kb > 100_000
    assert left_kb < used_kb / 5

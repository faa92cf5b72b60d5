"""How descriptors are divided."""

import subprocess
import sys

import pytest

from bestbefore.addon.proxy.access.descriptors import MIN_PART, RESERVED, TARGET_LIMIT, USES, part_of


@pytest.mark.parametrize("limit", [256, 1024, 65_536])
def test_the_parts_leave_a_reserve(limit: int) -> None:
    assert 0 < USES * part_of(limit) <= limit - RESERVED


def test_each_use_has_at_least_some_descriptors() -> None:
    assert part_of(10) == MIN_PART


@pytest.mark.parametrize(("shell", "expected"), [
    ("ulimit -S -n 100; ulimit -H -n 300", 300),
    ("ulimit -n 100", 100),
])
def test_the_limit_is_raised_as_far_as_allowed(shell: str, expected: int) -> None:
    code = "from bestbefore.addon.proxy.access.descriptors import raised_limit as r; print(r(), r())"
    command = ["sh", "-c", f'{shell}; exec "$0" -c "{code}"', sys.executable]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(min(expected, TARGET_LIMIT))] * 2

import re
from pathlib import Path

import pytest

from bestbefore.policies.dissemination.table import SCHEDULERS

ROOT = Path(__file__).parents[3]


def test_each_scheduler_is_listed_by_its_name():
    assert {name: scheduler.name for name, scheduler in SCHEDULERS.items()} == {name: name for name in SCHEDULERS}


def test_the_page_lists_each_scheduler_with_its_file():
    page = (ROOT / "docs" / "dissemination.md").read_text()
    listed = dict(re.findall(r"^\| `(\w+)` \|.*\| `([\w/]+\.py)` \|$", page, re.MULTILINE))
    files = {
        name: scheduler.__module__.removeprefix("bestbefore.policies.").replace(".", "/") + ".py"
        for name, scheduler in SCHEDULERS.items()
    }
    assert listed == files


@pytest.mark.parametrize("scheduler", SCHEDULERS.values())
def test_each_scheduler_says_what_it_sends(scheduler):
    assert scheduler.__doc__
    assert scheduler.__doc__.startswith(("Sends ", "The same "))

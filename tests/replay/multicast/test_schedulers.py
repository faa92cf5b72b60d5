from collections.abc import Callable

import pytest

from bestbefore.policies.dissemination.table import SCHEDULERS
from bestbefore.replay.multicast.instance import Instance
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.schedulers import IDEAL, NAMES, check_name, made


def test_the_names_are_those_of_the_table_and_the_ideal() -> None:
    assert (*SCHEDULERS, IDEAL) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_is_made_of_its_class_with_what_r_counts(small: Callable[..., Instance], name: str) -> None:
    scheduler = made(name, small(), Parameters(requests_in_pages=False))
    assert isinstance(scheduler, SCHEDULERS.get(name, SCHEDULERS["rxc"]))
    scheduler.download(0, [3], 0.0)
    assert scheduler.audience.requests[3] == 1


def test_the_ideal_knows_the_true_intervals(small: Callable[..., Instance]) -> None:
    instance = small()
    chunk = int(instance.changes.pages[0]) // 15
    assert made(IDEAL, instance, Parameters()).interval_s(chunk) == instance.change_intervals_s()[chunk]


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown scheduler 'popp', did you mean 'pop'\?"):
        check_name("popp")

import math

import numpy as np
import pytest

from bestbefore.replay.simulate.complete import CompleteHistories, Grouping
from bestbefore.replay.traces.columns.columns import Updates

UPDATES = Updates.of(
    np.array([10.0, 20.0, 30.0]), np.array([0, 1, 0], dtype=np.int32), ("news/a", "news/b", "shop/c", "shopping")
)


def test_all_objects_updated_or_requested_are_observed_since_the_origin() -> None:
    known = CompleteHistories.of(UPDATES, ["news/a", "other"], 5.0, Grouping.ALL)
    assert known.history("news/a").times_s.tolist() == [10.0, 30.0]
    assert known.history("other").times_s.tolist() == []
    assert known.history("other").since_s == 5.0
    group = known.group("other")
    assert group is known.group("news/a")
    assert group.members(5.0) == 5
    assert sum(group.counts(-math.inf, 20.0)) == 2


def test_a_contact_is_answered_with_the_history_and_the_group() -> None:
    known = CompleteHistories.of(UPDATES, [], 5.0, Grouping.PREFIX)
    known.report("news/b", 10.0)
    assert known.contact("news/b", 10.0) == (known.history("news/b"), known.group("news/a"))


def test_objects_may_be_grouped_by_the_part_before_the_first_slash() -> None:
    known = CompleteHistories.of(UPDATES, ["news/b/x"], 5.0, Grouping.PREFIX)
    assert known.group("news/a") is known.group("news/b/x")
    assert sum(known.group("news/a").counts(-math.inf, 99.0)) == 3
    assert known.group("news/a").members(5.0) == 3
    assert known.group("shop/c") is not known.group("shopping")
    assert sum(known.group("shop/c").counts(-math.inf, 99.0)) == 0


@pytest.mark.parametrize(
    ("object_", "group"),
    [("http://www.example.co.uk:8080/a", "example.co.uk"), ("www.example.org/a", "example.org"), ("shop/c", "shop"),
     ("192.0.2.1/x", "192.0.2.1"), ("/a/b", "")],
)
def test_objects_may_be_grouped_as_live_by_the_registrable_domain(object_: str, group: str) -> None:
    assert Grouping.DOMAIN.group_of(object_) == group

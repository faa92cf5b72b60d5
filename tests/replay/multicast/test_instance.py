from collections.abc import Callable

import numpy as np
import pytest

from bestbefore.policies.units import DAY_S
from bestbefore.replay.multicast.instance import Instance
from bestbefore.replay.multicast.parameters import Parameters


def test_only_the_pages_of_subscribers_change(small: Callable[..., Instance]) -> None:
    instance = small()
    own = {chunk for sites in instance.subscribers for chunk in instance.repository.chunks_of(sites)}
    assert {page // 15 for page in instance.changes.pages.tolist()} == own
    assert len(instance.changes.pages) == 15 * len(own)


def test_a_seed_gives_the_same_instance_and_another_seed_another(small: Callable[..., Instance]) -> None:
    first, again, other = (small(seed, subscribers=20) for seed in (1, 1, 2))
    for one, two in zip(first.subscribers, again.subscribers, strict=True):
        assert one.tolist() == two.tolist()
    assert first.changes.rates_per_day.tolist() == again.changes.rates_per_day.tolist()
    assert [sites.tolist() for sites in first.subscribers] != [sites.tolist() for sites in other.subscribers]


def test_downloaders_leave_the_subscribers_as_they_are(small: Callable[..., Instance]) -> None:
    without, with_some = small(downloaders=0), small(downloaders=5)
    assert [sites.tolist() for sites in without.subscribers] == [sites.tolist() for sites in with_some.subscribers]
    assert len(with_some.downloaders) == 5


def test_a_chunk_changes_as_often_as_all_its_pages(small: Callable[..., Instance]) -> None:
    instance = small()
    intervals_s = instance.change_intervals_s()
    rates = np.zeros(instance.repository.chunks)
    np.add.at(rates, instance.changes.pages // 15, instance.changes.rates_per_day)
    assert DAY_S / intervals_s == pytest.approx(rates)
    assert np.isinf(intervals_s[rates == 0.0]).all()


def test_the_base_case_is_drawn_from_the_repository_of_the_paper() -> None:
    instance = Instance.draw(Parameters(subscribers=2), 1)
    assert instance.repository.chunks == 85_680
    assert len(instance.subscribers) == 2

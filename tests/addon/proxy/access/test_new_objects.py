import pytest

from bestbefore.addon.proxy.access import new_objects
from bestbefore.addon.proxy.access.new_objects import NewObjects

DAY_S = 86_400.0


def test_so_many_objects_of_a_domain_come_in_on_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_objects, "PER_DAY", 2)
    counted = NewObjects()
    admitted = [counted.admits(domain, now_s) for now_s in (5 * DAY_S, 6 * DAY_S - 1) for domain in ("a", "b", "a")]
    assert admitted == [True, True, True, False, True, False]
    assert counted.admits("a", 6 * DAY_S)
    assert counted.admits("a", 3 * DAY_S), "a clock that was set back shuts nobody out"


def test_few_domains_are_counted_at_a_time() -> None:
    counted = NewObjects()
    for number in range(new_objects.DOMAINS_COUNTED + 10):
        assert counted.admits(str(number), 0.0)
    assert len(counted._today) == new_objects.DOMAINS_COUNTED

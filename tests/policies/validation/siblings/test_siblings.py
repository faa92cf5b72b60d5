import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.validation.siblings import siblings
from bestbefore.policies.validation.siblings.changes import SiteChange
from bestbefore.policies.validation.siblings.siblings import Siblings

DAY = 86400.0


def published_together(days: int) -> Siblings:
    """Return a site whose pages change together each day, of which each is found changed within the hour after."""
    site = Siblings()
    for day in range(1, days + 1):
        for page, at_s in (("x/a", 600.0), ("x/b", 1200.0), ("x/c", 1800.0)):
            site.contact(page, (day - 1) * DAY + at_s, day * DAY)
    return site


def test_a_page_found_changed_outdates_the_copy_of_another() -> None:
    site = published_together(5)
    assert site.outdating("x/b", 5 * DAY + 1200.0, 0.5) is None
    site.contact("x/a", 5 * DAY + 700.0, 6 * DAY)
    assert site.outdating("x/b", 5 * DAY + 1200.0, 0.5) == SiteChange(6 * DAY, "x/a", "x")
    assert site.outdating("x/b", 6 * DAY + 1.0, 0.0) is None, "it was current after the change"
    assert site.outdating("x/a", 5 * DAY + 700.0, 0.0) is None, "this is the object that changed"


def test_a_page_that_stays_when_others_change_is_left_alone() -> None:
    site = Siblings()
    for day in range(1, 20):
        site.contact("x/a", (day - 1) * DAY + 600.0, day * DAY)
        site.contact("x/old", (day - 1) * DAY + 700.0, None)
    site.contact("x/a", 19 * DAY + 600.0, 20 * DAY)
    assert site.outdating("x/old", 19 * DAY + 700.0, 0.1) is None


def test_pages_of_another_directory_have_a_chance_of_their_own() -> None:
    site = published_together(5)
    for day in range(1, 6):
        site.contact("y/d", (day - 1) * DAY + 1900.0, None)
    site.contact("x/a", 5 * DAY + 700.0, 6 * DAY)
    assert site.outdating("x/b", 5 * DAY + 1200.0, 0.5) is not None
    assert site.outdating("y/d", 5 * DAY + 1200.0, 0.05) is None


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(1.0, 100.0), st.booleans()), max_size=40))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_nothing_outdates_a_copy_that_was_current_later_or_whose_chance_is_too_low(
    contacts: list[tuple[str, float, bool]],
) -> None:
    site, t, last = Siblings(), 1000.0, dict.fromkeys("abcd", 0.0)
    for name, wait_s, changed in contacts:
        t += wait_s
        site.contact(name, last[name], t - 0.5 if changed else None)
        last[name] = t
    for name in "abcd":
        assert site.outdating(name, site.changes.latest_s, 0.0) is None
        assert site.outdating(name, last[name], 1.0) is None


def test_what_is_kept_of_a_site_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(siblings, "NAMES_KEPT", 3)
    site = published_together(2)
    for i in range(10):
        site.contact(f"y{i}/z", DAY, None)
    assert len(site.by_name) == len(site.by_directory) == 3

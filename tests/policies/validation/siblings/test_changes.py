import pytest

from bestbefore.policies.validation.siblings.changes import CHANGES_KEPT, SiteChange, SiteChanges, directory_of


def test_changes_of_siblings_are_those_of_others_after_a_time() -> None:
    changes = SiteChanges()
    a, b = SiteChange(10.0, "x/a", "x"), SiteChange(20.0, "x/b", "x")
    changes.add(a)
    changes.add(b)
    assert list(changes.of_siblings("x/c", 5.0)) == [a, b]
    assert list(changes.of_siblings("x/c", 10.0)) == [b]
    assert list(changes.of_siblings("x/b", 5.0)) == [a]
    assert list(changes.of_siblings("x/c", 20.0)) == []


def test_a_late_report_of_an_early_change_does_not_set_the_latest_back() -> None:
    changes = SiteChanges()
    for update_s in (20.0, 10.0):
        changes.add(SiteChange(update_s, "a", ""))
    assert changes.latest_s == 20.0


def test_only_the_last_changes_are_kept() -> None:
    changes = SiteChanges()
    for i in range(CHANGES_KEPT + 3):
        changes.add(SiteChange(float(i), "a", ""))
    assert [change.update_s for change in changes] == [float(i) for i in range(3, CHANGES_KEPT + 3)]


@pytest.mark.parametrize(
    ("name", "directory"),
    [("https://a.org/x/y?q=/z", "https://a.org/x"), ("https://a.org/", "https://a.org"), ("cdc/US", "cdc"), ("US", "")],
)
def test_the_directory_is_the_path_up_to_its_last_slash(name: str, directory: str) -> None:
    assert directory_of(name) == directory

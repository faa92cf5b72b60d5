"""Each condition is said once when it begins, and once when it has ended."""

from bestbefore.addon.store.cache.notices import Notices


def test_a_condition_is_said_at_its_begin_and_at_its_end(said):
    notices = Notices()
    notices.ended("full", "never began")
    for _ in range(3):
        notices.holds("full", "begins")
    assert notices.holding() == {"full"}
    for _ in range(3):
        notices.ended("full", "has ended")
    notices.holds("full", "begins again")
    assert said() == ["begins", "has ended", "begins again"]

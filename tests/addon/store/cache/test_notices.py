"""Each condition is said once when it begins, and once when it has ended."""

from bestbefore.addon.store.cache.notices import Notices, silenced


def test_a_condition_is_said_at_its_begin_and_at_its_end(logged):
    notices = Notices()
    notices.end("full", "never began")
    for _ in range(3):
        notices.begin("full", "begins")
    assert notices.active() == {"full"}
    for _ in range(3):
        notices.end("full", "has ended")
    notices.begin("full", "begins again")
    assert logged() == ["begins", "has ended", "begins again"]


def test_what_reports_errors_itself_logs_no_condition(logged):
    notices = Notices()
    with silenced():
        notices.begin("down", "not logged")
    notices.end("down", "has ended")
    assert logged() == ["has ended"]


def test_what_shares_a_store_with_others_leaves_the_log_to_them(logged):
    notices = Notices()
    notices.muted = True
    notices.begin("down", "not logged")
    assert notices.active() == {"down"}
    notices.end("down", "not logged either")
    assert logged() == []

import numpy as np
import pytest
from compared.contact_evidence import LEAST_QUIET_S, evidence_at_contacts

from bestbefore.policies.models.rates.evidence import Evidence

HOUR = 3600.0
NAN = float("nan")


def at_contacts(hours: list[float], changed: list[bool], quiet_h: list[float] | None = None) -> Evidence:
    quiet = None if quiet_h is None else np.array(quiet_h) * HOUR
    return evidence_at_contacts(np.array(hours) * HOUR, np.array(changed, dtype=bool), quiet)


def test_a_contact_that_only_flags_a_change_leaves_an_interval() -> None:
    seen = at_contacts([1.0, 2.0, 4.0], [False, True, False])
    assert (seen.updates, seen.open_h, seen.changed_h.tolist()) == (0, 5.0, [2.0])


def test_a_contact_that_dates_the_latest_update_opens_the_time_since() -> None:
    seen = at_contacts([1.0, 2.0, 4.0], [False, True, True], [NAN, 0.5, NAN])
    assert (seen.updates, seen.open_h, seen.changed_h.tolist()) == (1, 1.5, [4.0])
    assert seen.changes == 2


def test_the_date_of_an_update_before_the_interval_says_nothing_where_nothing_changed() -> None:
    assert at_contacts([1.0], [False], [30.0]).open_h == 1.0


def test_an_update_dated_now_was_half_a_second_ago_and_one_dated_at_the_contact_before_a_whole_interval() -> None:
    assert at_contacts([1.0], [True], [0.0]).open_h == pytest.approx(LEAST_QUIET_S / HOUR)
    assert at_contacts([1.0], [True], [1.0]).open_h == 1.0
    assert at_contacts([1e-5], [True], [0.0]).open_h == pytest.approx(1e-5)


def test_only_without_contacts_nothing_was_seen() -> None:
    assert at_contacts([], []).is_empty
    assert not at_contacts([1.0], [True]).is_empty
    assert not at_contacts([1.0], [False]).is_empty


@pytest.mark.parametrize(
    ("hours", "quiet_h", "message"),
    [
        ([1.0, 0.0], None, "contact 1 came 0.0 s after the one before, expected more than 0"),
        ([NAN, 1.0], None, "contact 0 came nan s"),
        ([float("inf"), 1.0], None, "contact 0 came inf s"),
        ([1.0, 1.0], [NAN, 1.5], "contact 1 dates the latest update 5400.0 s ago, expected 0 to 3600.0"),
        ([1.0, 1.0], [-1.0, NAN], "contact 0 dates the latest update -3600.0 s ago"),
        ([1.0, 1.0, 1.0], None, r"\(3,\) lengths, \(2,\) outcomes"),
    ],
)
def test_what_cannot_have_been_is_refused(hours: list[float], quiet_h: list[float] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        at_contacts(hours, [True, True], quiet_h)

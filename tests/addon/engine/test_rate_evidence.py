"""What records show of rates and hours."""

import numpy as np
import pytest

from bestbefore.addon.engine.learning import Record, observe
from bestbefore.addon.engine.listing import Feed
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.rate_evidence import rate_evidence, updates_by_hour
from bestbefore.addon.engine.update import Update
from bestbefore.policies.models.rates.likelihood import most_likely

HOUR_S = 3600.0


def record(hours: float, *updates: Update, contacts: int = 11, **known: object) -> Record:
    return Record("http://a/", 0.0, hours * HOUR_S, contacts, updates=updates, **known)  # type: ignore[arg-type]


def at(hour: float) -> Update:
    return Update(hour * HOUR_S, hour * HOUR_S)


def test_of_a_feed_every_posting_is_known() -> None:
    seen = rate_evidence(record(100.0, at(3.0), at(50.5), feed=Feed(0.0)))
    assert (seen.updates, seen.open_h, seen.changed_h.size) == (2, 100.0, 0)


def test_of_a_feed_an_item_without_time_is_somewhere_between_two_contacts() -> None:
    seen = rate_evidence(record(100.0, at(3.0), Update(10 * HOUR_S, 14 * HOUR_S), feed=Feed(0.0)))
    assert (seen.updates, seen.open_h, seen.changed_h.tolist()) == (1, 96.0, [4.0])


def test_of_another_object_what_may_have_hidden_before_a_dated_update_was_not_seen() -> None:
    """Contacts each 5 hours: one dated its update two hours back, another showed that there was one."""
    seen = rate_evidence(record(100.0, at(33.0), Update(70 * HOUR_S, 75 * HOUR_S), hidden_s=3 * HOUR_S))
    assert (seen.updates, seen.changed_h.tolist(), seen.open_h) == (1, [5.0], 92.0)


@pytest.mark.parametrize("dated", [True, False])
def test_the_rate_is_right_where_contacts_come_in_bursts(*, dated: bool) -> None:
    """Three updates a day, and eight contacts in a minute twice a day: most intervals between updates hold several."""
    rng = np.random.default_rng(6)
    updates_s = np.cumsum(rng.exponential(8 * HOUR_S, 600))
    contacts_s = [12 * HOUR_S * burst + 8.0 * k for burst in range(300) for k in range(8)]
    known = None
    for t in contacts_s:
        n = int(updates_s.searchsorted(t, side="right"))
        modified_s = float(updates_s[n - 1]) if dated and n else None
        shown = Fingerprint(body=str(n), last_modified_s=modified_s)
        known = observe(known, Observation("http://a/", t, "", shown)).record
    assert known is not None
    estimate = most_likely(rate_evidence(known))
    assert estimate.low_per_hour < 1 / 8 < estimate.high_per_hour
    assert estimate.rate_per_hour == pytest.approx(1 / 8, rel=0.1)


def test_folded_updates_count() -> None:
    assert rate_evidence(record(100.0, at(90.0), folded=((3, 7),), feed=Feed(0.0))).updates == 8


def test_one_contact_shows_nothing() -> None:
    assert rate_evidence(record(0.0, contacts=1)).is_empty


@pytest.mark.parametrize("contacts", [1, 2])
def test_more_updates_than_time_are_no_error(contacts: int) -> None:
    rate_evidence(record(1.0, at(0.2), at(0.5), at(0.9), contacts=contacts))
    rate_evidence(record(1e-9, at(1e-10), contacts=contacts))


def test_hours_are_those_of_updates_whose_hour_is_known() -> None:
    counts = updates_by_hour(
        record(100.0, at(3.5), at(27.9), Update(40 * HOUR_S, 42 * HOUR_S), Update(50 * HOUR_S, 60 * HOUR_S),
               folded=((25, 2),))
    )
    assert {hour: n for hour, n in enumerate(counts.tolist()) if n} == {1: 2.0, 3: 2.0, 17: 1.0}

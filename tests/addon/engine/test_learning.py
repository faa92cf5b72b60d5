"""What observations teach: by worked examples, and by properties of any sequence of them."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.engine.learning import (
    CLOCK_SKEW_S,
    DETAILED_UPDATES,
    VARIANTS_REMEMBERED,
    Record,
    RecordChange,
    hour_of,
    observe,
    until,
)
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.piggyback import GroupPattern
from bestbefore.addon.engine.update import TimeSpan, Update, memory_of
from bestbefore.policies.models.hazard.memory import (
    memory_at_first_contact,
    memory_since,
    updated_at,
    updated_within,
)

URL = "http://www.example.org/page"


def contact(t_s, body="", *, variant="", modified_s=None, etag="", gone=False, same=False, **known):
    """An observation; `same` is a 304 to our own validator."""
    seen = None if same else Fingerprint(etag=etag, body=body, last_modified_s=modified_s, gone=gone)
    return Observation(URL, t_s, variant, seen, **known)


def learn(*seen):
    """The record after these observations, and what the last of them taught."""
    record, learnt = None, None
    for observation in seen:
        learnt = observe(record, observation)
        record = learnt.record
    return record, learnt


# What policies remember of the updates


def test_the_memory_is_of_what_contacts_have_shown():
    record, _ = learn(contact(100.0, "a"), contact(200.0, same=True))
    assert record.memory is None
    record, _ = learn(contact(100.0, "a"), contact(200.0, same=True), contact(300.0, "b", modified_s=250.0))
    assert record.memory == updated_at(memory_since(100.0), 250.0, 200.0)
    same = observe(record, contact(350.0, same=True)).record
    assert same.memory is record.memory
    record = observe(same, contact(400.0, "c")).record
    assert record.memory == updated_within(same.memory, 350.0, 400.0)
    assert record.history().memory_at(500.0) == record.memory


def test_the_memory_is_made_again_where_a_list_tells_of_earlier_updates_and_of_a_record_without_one():
    record, _ = learn(contact(100.0, "a"), contact(200.0, "b"), contact(300.0, "c"))
    listed = observe(record, contact(400.0, "c", reported_s=(120.0, 250.0), reported_since_s=50.0)).record
    assert listed.memory == memory_of([Update(120.0, 120.0), Update(250.0, 250.0)], (), 50.0)
    old = replace(record, memory=None)
    assert observe(old, contact(400.0, same=True)).record.memory == memory_of(record.updates, (), 100.0)
    assert until(listed, 210.0).record.memory == memory_of([Update(120.0, 120.0)], (), 50.0)


def test_an_object_modified_before_the_first_contact_is_remembered_since_then():
    record, _ = learn(contact(100.0, "a", modified_s=40.0), contact(200.0, same=True))
    first = memory_at_first_contact(40.0)
    assert (first.updates, first.at_s, first.observed_s) == (1.0, 40.0, 0.0)
    assert (record.memory, record.n_updates) == (first, 0)
    changed = observe(record, contact(300.0, "b", modified_s=250.0)).record
    assert changed.memory == updated_at(first, 250.0, 200.0)
    assert until(changed, 210.0).record.memory == first


# Changed or not, and when


def test_a_first_contact_starts_a_record_without_an_update():
    record, learnt = learn(contact(100.0, "a"))
    assert (record.since_s, record.last_contact_s, record.contacts, record.updates) == (100.0, 100.0, 1, ())
    assert learnt.changed is None


def test_a_last_modified_before_the_first_contact_is_the_last_update_and_is_not_counted():
    record, _ = learn(contact(100.0, "a", modified_s=40.0))
    history = record.history()
    assert (record.n_updates, history.last_update_s(200.0), history.count(0.0, 200.0)) == (0, 40.0, 0)


def test_a_last_modified_in_the_future_is_not_believed():
    record, _ = learn(contact(100.0, "a", modified_s=500.0))
    assert record.last_modified_s is None


def test_a_last_modified_of_a_clock_that_is_ahead_is_set_back():
    _, learnt = learn(contact(100.0, "a", modified_s=140.0), contact(200.0, "b", modified_s=780.0, clock_ahead_s=600.0))
    assert learnt.record.updates == (Update(180.0, 180.0),)
    _, learnt = learn(contact(100.0, "a"), contact(200.0, "b", modified_s=180.0, clock_ahead_s=-600.0))
    assert learnt.record.updates == (Update(180.0, 180.0),), "the contacts are by that clock, too"
    _, learnt = learn(contact(100.0, "a"), contact(200.0, "b", modified_s=201.0, clock_ahead_s=1.0))
    assert learnt.record.updates == (Update(100.0, 200.0),), "Date counts whole seconds"


def test_a_clock_that_seems_behind_is_followed_slowly_and_at_once_where_it_seems_less_so():
    seen_s = (-600.0, None, 3600.0, -800.0, -1e6, -100.0)
    record, behind_s = None, []
    for i, ahead_s in enumerate(seen_s):
        record = observe(record, contact(100.0 * (i + 1), "a", clock_ahead_s=ahead_s)).record
        behind_s.append(record.clock_behind_s)
    assert behind_s == [600.0, 600.0, 0.0, 200.0, 0.0, 25.0]


def test_a_304_to_our_own_validator_means_unchanged():
    record, learnt = learn(contact(100.0, "a"), contact(200.0, same=True))
    assert (learnt.changed, record.unchanged, record.updates) == (False, 1, ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"body": "a"}, {"body": "a"}),
        ({"body": "a", "etag": '"1"'}, {"body": "b", "etag": '"1"'}),
        ({"body": "a", "etag": '"1"'}, {"body": "a", "etag": '"2"'}),
        ({"modified_s": 50.0}, {"modified_s": 50.0}),
        ({"gone": True, "body": "a"}, {"gone": True, "body": "b"}),
    ],
    ids=["body", "etag", "body despite another etag", "last-modified alone", "gone and gone"],
)
def test_the_same_content_is_no_update(before, after):
    assert learn(contact(100.0, **before), contact(200.0, **after))[1].changed is False


@pytest.mark.parametrize(
    ("before", "after"),
    [({"body": "a"}, {"body": "b"}), ({"etag": '"1"'}, {"etag": '"2"'}), ({"body": "a"}, {"body": "a", "gone": True})],
    ids=["body", "etag", "gone"],
)
def test_other_content_is_an_update_in_the_middle_between_the_contacts(before, after):
    record, learnt = learn(contact(100.0, **before), contact(200.0, **after))
    assert learnt.changed is True
    assert record.updates == (Update(100.0, 200.0),)
    assert record.history().times_s.tolist() == [150.0]


def test_contents_that_have_nothing_in_common_to_compare_teach_nothing():
    record, learnt = learn(contact(100.0, "a"), contact(200.0, etag='"1"'))
    assert (learnt.changed, record.updates, record.contacts) == (None, (), 2)


def test_a_last_modified_between_the_contacts_dates_the_update_exactly():
    record, _ = learn(contact(100.0, "a", modified_s=40.0), contact(200.0, "b", modified_s=170.0))
    assert record.updates == (Update(170.0, 170.0),)


@pytest.mark.parametrize(
    ("previous_s", "modified_s"),
    [(40.0, 900.0), (40.0, 90.0), (95.0, 95.0), (99.9, 99.5)],
    ids=["in the future", "before the last contact", "not later than the one before", "going backwards"],
)
def test_a_last_modified_that_cannot_be_leaves_the_interval(previous_s, modified_s):
    record, learnt = learn(contact(100.0, "a", modified_s=previous_s), contact(200.0, "b", modified_s=modified_s))
    assert learnt.changed is True
    assert record.updates == (Update(100.0, 200.0),)


def test_a_last_modified_in_the_second_of_the_last_contact_is_believed():
    record, _ = learn(contact(50.0, "a"), contact(100.5, "a", modified_s=20.0), contact(200.0, "b", modified_s=100.0))
    assert record.updates == (Update(100.0, 100.0),)


def test_in_the_second_of_the_first_contact_the_update_counts_from_the_contact_on():
    record, learnt = learn(contact(100.5, "a", modified_s=20.0), contact(200.0, "b", modified_s=100.0))
    assert record.updates == (Update(100.5, 100.5),)
    assert record.history().times_s.tolist() == [100.5] == list(learnt.new_updates_s)


def test_an_observation_not_later_than_the_last_is_dropped():
    record, _ = learn(contact(100.0, "a"), contact(200.0, "b"))
    for t_s in (150.0, 200.0):
        assert observe(record, contact(t_s, "c")) == RecordChange(record, applied=False, changed=None)


# What may have been missed


def test_before_a_dated_update_others_may_hide_since_the_contact_before():
    record, _ = learn(
        contact(100.0, "a"), contact(130.0, same=True), contact(200.0, "b", modified_s=170.0), contact(300.0, "c"),
    )
    assert record.hidden_s == 40.0, "nothing is known of what the last interval hides: it is one"


def test_an_update_that_was_known_to_lie_in_an_interval_hides_what_is_before_it_in_that():
    record, _ = learn(
        contact(100.0, "a"), contact(110.0, "A", variant="de"), contact(200.0, "b"),
        contact(210.0, "B", variant="de", modified_s=150.0), contact(220.0, "b", modified_s=150.0),
    )
    assert record.updates == (Update(150.0, 150.0),)
    assert record.hidden_s == 50.0


def test_what_an_origin_lists_hides_nothing():
    listed = {"reported_s": (150.0, 170.0), "reported_since_s": 50.0}
    record, _ = learn(contact(100.0, "a"), contact(200.0, "b", modified_s=170.0, **listed))
    assert record.updates == (Update(150.0, 150.0), Update(170.0, 170.0))
    assert record.hidden_s == 0.0


# Variants


def test_each_variant_is_compared_with_its_own_last_observation():
    record, learnt = learn(contact(100.0, "a", variant="en"), contact(110.0, "b", variant="de"))
    assert (learnt.changed, record.updates) == (None, ())


def test_overlapping_intervals_of_two_variants_are_one_update_where_they_overlap():
    record, learnt = learn(
        contact(100.0, "a", variant="en"),
        contact(150.0, "x", variant="de"),
        contact(200.0, "b", variant="en"),
        contact(250.0, "y", variant="de"),
    )
    assert record.updates == (Update(150.0, 200.0),)
    assert (learnt.new_updates_s, learnt.dropped_updates_s) == ((175.0,), (150.0,))


def test_intervals_that_only_touch_are_two_updates():
    record, _ = learn(contact(100.0, "a"), contact(200.0, "b"), contact(300.0, "c"))
    assert record.updates == (Update(100.0, 200.0), Update(200.0, 300.0))


def test_an_exact_time_replaces_the_interval_it_lies_in():
    record, learnt = learn(
        contact(100.0, "a", variant="en"),
        contact(150.0, "x", variant="de", modified_s=40.0),
        contact(200.0, "b", variant="en"),
        contact(250.0, "y", variant="de", modified_s=160.0),
    )
    assert record.updates == (Update(160.0, 160.0),)
    assert (learnt.new_updates_s, learnt.dropped_updates_s) == ((160.0,), (150.0,))


def test_only_so_many_variants_are_remembered_and_the_longest_unseen_goes_first():
    record, _ = learn(*(contact(100.0 + i, "a", variant=str(i)) for i in range(VARIANTS_REMEMBERED + 1)))
    assert len(record.seen) == VARIANTS_REMEMBERED
    assert "0" not in record.seen


# What the origin lists


def test_the_updates_an_origin_lists_are_exact_and_reach_back_before_the_first_contact():
    record, learnt = learn(contact(100.0, "a", reported_s=(30.0, 70.0, 70.0), reported_since_s=10.0))
    assert (record.since_s, record.updates) == (10.0, (Update(30.0, 30.0), Update(70.0, 70.0)))
    assert (learnt.new_updates_s, learnt.new_since_s) == ((30.0, 70.0), 10.0)


def test_of_a_list_only_what_lies_between_its_begin_and_the_contact_counts():
    record, _ = learn(contact(100.0, "a", reported_s=(5.0, 30.0, 500.0), reported_since_s=10.0))
    assert record.updates == (Update(30.0, 30.0),)


def test_a_list_dates_the_update_that_the_contact_showed():
    record, learnt = learn(
        contact(100.0, "a"), contact(200.0, "b"), contact(300.0, "c", reported_s=(120.0, 290.0), reported_since_s=50.0)
    )
    assert record.updates == (Update(120.0, 120.0), Update(290.0, 290.0))
    assert (learnt.new_since_s, learnt.dropped_since_s) == (50.0, 100.0)


# Membership


def test_an_object_joins_its_group_at_its_second_contact_with_all_that_is_known():
    first = observe(None, contact(100.0, "a"))
    assert (first.record.provisional, first.new_since_s, first.new_updates_s) == (True, None, ())
    second = observe(first.record, contact(200.0, "b"))
    assert (second.record.provisional, second.new_since_s, second.new_updates_s) == (False, 100.0, (150.0,))


def test_an_object_whose_origin_lists_its_updates_joins_at_once():
    learnt = observe(None, contact(100.0, "a", reported_s=(50.0,), reported_since_s=20.0))
    assert (learnt.record.counted, learnt.new_since_s, learnt.new_updates_s) == (True, 20.0, (50.0,))


def test_an_object_without_validator_stays_out_until_it_shows_one():
    record, learnt = learn(contact(100.0, "a", counted=False), contact(200.0, "b", counted=False))
    assert (record.counted, record.provisional, learnt.new_updates_s, learnt.new_since_s) == (False, False, (), None)
    joined = observe(record, contact(300.0, "b"))
    assert (joined.new_updates_s, joined.new_since_s) == ((150.0,), 100.0)


# Folding


def many(n, start_s=0.0, step_s=600.0):
    """Contacts of which each but the first shows an update."""
    return [contact(start_s + i * step_s, str(i)) for i in range(n + 1)]


def test_beyond_1024_the_oldest_updates_are_kept_as_counts_per_hour():
    record, _ = learn(*many(DETAILED_UPDATES + 8))
    assert len(record.updates) == DETAILED_UPDATES
    assert record.folded == ((0, 6), (1, 2))  # one in the middle of each ten minutes: six an hour
    assert record.n_updates == DETAILED_UPDATES + 8


def test_of_a_folded_interval_the_part_before_its_point_is_hidden():
    contents = (contact(10.0 * i, f"{i}") for i in range(DETAILED_UPDATES + 3))
    record, _ = learn(*contents)
    assert sum(n for _, n in record.folded) == 2
    assert record.hidden_s == 10.0


def test_an_object_that_joins_late_brings_its_folded_updates():
    out = [contact(o.t_s, o.fingerprint.body, counted=False) for o in many(DETAILED_UPDATES + 8)]
    record, _ = learn(*out)
    joined = observe(record, contact(1e6, same=True))
    assert len(joined.new_updates_s) == DETAILED_UPDATES + 8
    assert Counter(map(hour_of, joined.new_updates_s)) == counts_of(joined.record)[0]


def test_what_an_origin_lists_within_folded_hours_is_known_already():
    record, _ = learn(*many(DETAILED_UPDATES + 8))
    listed = observe(record, contact(1e6, same=True, reported_s=(600.0, 3600.0), reported_since_s=0.0))
    assert (listed.record.n_updates, listed.new_updates_s) == (record.n_updates, ())


# A clock that was set back


def test_updates_listed_one_by_one_in_an_hour_of_which_some_were_folded_are_learnt():
    times_s = [float(n) for n in range(2, DETAILED_UPDATES + 500)]
    record, _ = learn(*(contact(t + 0.5, same=True, reported_s=(t,), reported_since_s=1.0) for t in times_s))
    assert record.n_updates == len(times_s)
    assert record.updates[-1].by_s == times_s[-1]
    again = observe(record, contact(3600.0, same=True, reported_s=tuple(times_s), reported_since_s=1.0))
    assert (again.record.updates, again.record.folded) == (record.updates, record.folded)
    assert again.new_updates_s == ()


def test_a_record_from_a_clock_that_was_ahead_loses_what_bears_a_later_time():
    record, _ = learn(contact(100.0, "a"), contact(200.0, "b"), contact(9000.0, "c"))
    kept = until(record, 300.0)
    assert (kept.record.updates, kept.record.last_contact_s) == ((Update(100.0, 200.0),), 200.0)
    assert kept.dropped_updates_s == (4600.0,)
    # The answer that is being learnt from came before this moment. That `c` was seen at 9000 may mean any moment since.
    learnt = observe(kept.record, contact(299.0, "d"))
    assert learnt.record.updates == (Update(100.0, 200.0), Update(200.0, 299.0))


def test_a_record_that_began_ahead_begins_now():
    record, _ = learn(contact(8000.0, "a"), contact(9000.0, "b"))
    kept = until(record, 300.0)
    assert (kept.record.since_s, kept.new_since_s, kept.dropped_since_s) == (300.0, 300.0, 8000.0)
    learnt = observe(kept.record, contact(290.0, "c"))
    assert (learnt.record.since_s, learnt.new_since_s, learnt.dropped_since_s) == (290.0, 290.0, 300.0)
    assert (learnt.record.last_contact_s, learnt.record.updates) == (290.0, (Update(290.0, 290.0),))


def test_a_little_ahead_is_another_proxys_clock_and_is_left():
    record, _ = learn(contact(100.0, "a"))
    assert until(record, 100.0 - CLOCK_SKEW_S).record is record


# Properties of any sequence of observations

BODIES = st.sampled_from(["", "a", "b", "c"])
TIMES = st.integers(1_000, 40_000).map(float)


@st.composite
def observations(draw):
    t_s = draw(TIMES)
    same = draw(st.booleans())
    listed = draw(st.lists(TIMES, max_size=4))
    return contact(
        t_s,
        draw(BODIES),
        variant=draw(st.sampled_from(["", "en", "de"])),
        modified_s=draw(st.none() | TIMES),
        gone=draw(st.integers(0, 9)) == 0,
        same=same,
        counted=draw(st.booleans()),
        reported_s=tuple(listed),
        reported_since_s=draw(TIMES) if listed else None,
    )


def counts_of(record: Record | None):
    """What a record gives the counts of its group, from the record alone."""
    if record is None or not record.counted:
        return Counter(), Counter()
    updates = Counter(hour_of(u.point_s) for u in record.updates)
    updates.update(dict(record.folded))
    return updates, Counter([hour_of(record.since_s)])


def apply_to(counts, learnt):
    updates, starts = counts
    updates.update(map(hour_of, learnt.new_updates_s))
    updates.subtract(map(hour_of, learnt.dropped_updates_s))
    starts.update(hour_of(t) for t in [learnt.new_since_s] if t is not None)
    starts.subtract(hour_of(t) for t in [learnt.dropped_since_s] if t is not None)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(observations(), max_size=12), st.none() | TIMES)
def test_the_gains_always_add_up_to_what_the_record_gives(seen, set_back_to_s):
    record, counts = None, (Counter(), Counter())
    for i, observation in enumerate(seen):
        if record is not None and set_back_to_s is not None and i == len(seen) // 2:
            learnt = until(record, set_back_to_s)
            apply_to(counts, learnt)
            record = learnt.record
        learnt = observe(record, observation)
        apply_to(counts, learnt)
        record = learnt.record
        expected = counts_of(record)
        assert tuple(+c for c in counts) == expected
        assert not any(n < 0 for c in counts for n in c.values())


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(observations(), min_size=1, max_size=12))
def test_every_observation_counts_once_and_the_record_stays_in_order(seen):
    record = None
    for observation in seen:
        learnt = observe(record, observation)
        assert observe(learnt.record, observation).applied is False
        assert learnt.applied == (record is None or observation.t_s > record.last_contact_s)
        record = learnt.record
        points = [u.point_s for u in record.updates]
        assert points == sorted(set(points))
        assert all(record.since_s <= u.after_s <= u.by_s <= record.last_contact_s for u in record.updates)
        assert record.history().times_s.tolist() == points


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(observations(), min_size=1, max_size=12))
def test_no_two_known_updates_can_be_the_same(seen):
    record, _ = learn(*seen)
    for i, one in enumerate(record.updates):
        assert not any(one.may_be(other) for other in record.updates[i + 1 :])


@settings(max_examples=3, deadline=None, derandomize=True)
@given(st.lists(st.booleans(), min_size=DETAILED_UPDATES + 1, max_size=DETAILED_UPDATES + 200))
def test_folding_loses_no_update_and_no_hour(changes):
    record, counts, body = None, (Counter(), Counter()), 0
    for i, changed in enumerate(changes):
        body += changed or i % 2
        learnt = observe(record, contact(1000.0 + 60.0 * i, str(body)))
        apply_to(counts, learnt)
        record = learnt.record
    assert len(record.updates) <= DETAILED_UPDATES
    assert tuple(+c for c in counts) == counts_of(record)
    assert record.history().counts(0.0, 1e6) == [
        sum(n for hour, n in counts[0].items() if hour % 24 == k) for k in range(24)
    ]


def test_times_that_may_hide_further_updates_are_kept_for_who_asks():
    record, _ = learn(contact(100.0, "a", modified_s=90.0), contact(200.0, "b", modified_s=150.0))
    assert record.unseen == (TimeSpan(100.0, 150.0),)
    assert observe(record, contact(300.0, "b", modified_s=150.0)).record.unseen == record.unseen


def test_reported_intervals_are_updates_of_unknown_time_and_gaps_stay_gaps():
    listed = contact(
        400.0, "a", reported_s=(350.0,), reported_since_s=50.0,
        reported_within=(TimeSpan(100.0, 200.0),), reported_unseen=(TimeSpan(210.0, 350.0),),
    )
    record, _ = learn(listed)
    assert record.updates == (Update(100.0, 200.0), Update(350.0, 350.0))
    assert (record.since_s, record.hidden_s, record.unseen) == (50.0, 140.0, (TimeSpan(210.0, 350.0),))
    again = observe(record, replace(listed, t_s=500.0)).record
    assert (again.updates, again.hidden_s) == (record.updates, 140.0), "what is known already adds nothing"


def test_no_reported_update_since_a_time_is_an_observation_since_then():
    record, _ = learn(contact(400.0, "a", reported_since_s=50.0))
    assert (record.since_s, record.updates) == (50.0, ())


def test_the_pattern_that_an_origin_told_last_is_kept():
    told = GroupPattern(tuple(range(24)), 7, 3)
    record, _ = learn(contact(100.0, "a", reported_since_s=50.0, group_pattern=told), contact(200.0, "b"))
    assert record.group_pattern == told


def test_a_change_without_a_time_of_its_own_is_at_that_of_the_signal_that_announced_it():
    record, learnt = learn(contact(100.0, "a"), contact(200.0, "b", announced_s=150.0))
    assert record.updates == (Update(150.0, 150.0),)
    assert learnt.changed
    record, _ = learn(contact(100.0, "a"), contact(200.0, "b", announced_s=200.9))
    assert record.updates[-1] == Update(200.0, 200.0), "Date counts whole seconds"
    for announced_s, modified_s in ((100.0, None), (201.1, None), (150.0, 120.0)):
        record, _ = learn(contact(100.0, "a"), contact(200.0, "b", announced_s=announced_s, modified_s=modified_s))
        expected = Update(100.0, 200.0) if modified_s is None else Update(modified_s, modified_s)
        assert record.updates == (expected,)
    record, _ = learn(contact(100.0, "a"), contact(200.0, "a", announced_s=150.0))
    assert record.updates == (), "the signal was wrong"

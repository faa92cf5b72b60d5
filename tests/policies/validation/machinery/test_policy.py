"""What holds for every validation policy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.machinery.policy import ContactOutcome, Formula, Policy
from bestbefore.policies.validation.machinery.spec import make_policy
from bestbefore.policies.validation.table import POLICIES, forms_of

DAY = 86400
T = 20 * DAY
many = settings(max_examples=60, derandomize=True, deadline=None)
some = settings(max_examples=10, derandomize=True, deadline=None)
every_policy = [form() for name in sorted(POLICIES) for form in forms_of(name)]
each_policy = pytest.mark.parametrize("policy", every_policy, ids=lambda policy: policy.name)
outcomes = st.none() | st.builds(ContactOutcome, st.floats(0, 400 * DAY), st.booleans())
update_times = st.lists(st.integers(0, 25 * DAY).map(float), max_size=25)
moments = st.integers(0, T)
starts = st.integers(0, 3 * DAY).map(float)


def group_of(*histories: History) -> Group:
    return Group.of_updates(np.concatenate([h.times_s for h in histories]), [h.since_s for h in histories])


def expiry(
    policy: Policy,
    times: list[float],
    others: list[float],
    since_s: float,
    t: float,
    outcome: ContactOutcome | None = None,
) -> float:
    history = History.of(times, since_s)
    return policy.verdict(history, group_of(history, History.of(others, 0.0)), t, outcome).expiry_s


@each_policy
@given(update_times, update_times, starts, st.integers(3 * DAY, T), outcomes)
@some
def test_a_copy_never_expires_before_it_was_current(
    policy: Policy, times: list[float], others: list[float], since_s: float, t: int, outcome: ContactOutcome | None
) -> None:
    assert expiry(policy, times, others, since_s, t, outcome) >= t


@each_policy
def test_only_a_policy_that_needs_outcomes_keeps_a_state_and_looks_at_it(policy: Policy) -> None:
    history, t = History.of([1.0 * DAY, 2.5 * DAY], 0.0), 3.0 * DAY
    first = policy.verdict(history, group_of(history), t)
    assert (first.state is not None) == (Needs.OUTCOME in policy.needs)
    later = {policy.verdict(history, group_of(history), t, ContactOutcome(7200.0, changed)).expiry_s
             for changed in (False, True)}
    assert len(later) == (2 if Needs.OUTCOME in policy.needs else 1)


@pytest.mark.parametrize(
    "policy",
    [policy for policy in every_policy if Needs.FUTURE not in policy.needs],
    ids=lambda policy: policy.name,
)
@given(update_times, update_times, starts, st.integers(3 * DAY, T))
@some
def test_updates_that_are_yet_to_come_decide_nothing(
    policy: Policy, times: list[float], others: list[float], since_s: float, t: int
) -> None:
    past = [[u for u in given if u <= t] for given in (times, others)]
    assert expiry(policy, times, others, since_s, t) == expiry(policy, past[0], past[1], since_s, t)


@each_policy
@given(update_times.flatmap(lambda t: st.tuples(st.just(t), st.permutations(t + t[:5]))), update_times)
@some
def test_updates_in_any_order_or_given_twice_decide_the_same(
    policy: Policy, times: tuple[list[float], list[float]], others: list[float]
) -> None:
    assert expiry(policy, times[0], others, 0.0, T) == expiry(policy, times[1], others, 0.0, T)


ASKED_FOR_BY = {
    Needs.COUNTS: {
        "counted_updates", "updates_within", "oldest_within_s", "set_counts", "set_counts_before", "set_gaps",
    },
    Needs.GROUP: {
        "set_group_counts", "group_since_s", "member_hours", "set_group_gaps", "group_weekend_updates",
        "group_rate_per_s",
    },
    Needs.OUTCOME: {"state", "changed"},
    Needs.FUTURE: {"next_update_s"},
    Needs.MEMORY: {"update_memory"},
    Needs.DEMAND: {"demand"},
}


class Guarded:
    """Features of which only those that are named may be asked for."""

    def __init__(self, known: HistoryFeatures, needs: Needs) -> None:
        self._known = known
        self._refused = {name for need, names in ASKED_FOR_BY.items() if need not in needs for name in names}

    def __getattr__(self, name: str) -> object:
        assert name not in self._refused, f"{name} is not among its needs"
        return getattr(self._known, name)


@each_policy
@given(update_times, update_times, starts, st.integers(3 * DAY, T))
@some
def test_it_asks_for_no_feature_that_it_does_not_name(
    policy: Formula, times: list[float], others: list[float], since_s: float, t: int
) -> None:
    history = History.of(times, since_s)
    known = HistoryFeatures(history, group_of(history, History.of(others, 0.0)), t)
    assert str(policy.decide(Guarded(known, policy.needs))) == str(policy.decide(known))  # type: ignore[arg-type]


@each_policy
@given(update_times, update_times, starts, st.integers(3 * DAY, T), st.integers(1, 20_000))
@some
def test_a_shift_of_everything_by_whole_days_or_weeks_shifts_the_expiry(
    policy: Policy, times: list[float], others: list[float], since_s: float, t: int, days: int
) -> None:
    shift = days * DAY * (7 if Needs.MEMORY in policy.needs else 1)  # whose rates differ at weekends
    history, other = History.of(times, since_s), History.of(others, 0.0)
    later, other_later = (History(h.times_s + shift, h.since_s + shift) for h in (history, other))
    here = policy.verdict(history, group_of(history, other), t).expiry_s
    there = policy.verdict(later, group_of(later, other_later), t + shift).expiry_s
    assert there - shift == pytest.approx(here, abs=1e-4)


@given(
    st.sampled_from([(name, key) for name in POLICIES for key in ("theta", "alpha")]).filter(
        lambda pair: pair[1] in {field.name for field in POLICIES[pair[0]].__dataclass_fields__.values()}
    ),
    update_times,
    update_times,
    st.sampled_from([0.0, 0.05, 0.1, 0.5, 2.0]),
    st.sampled_from([0.0, 0.05, 0.1, 0.5, 2.0]),
)
@many
def test_the_expiry_grows_with_what_is_tolerated(
    which: tuple[str, str], times: list[float], others: list[float], a: float, b: float
) -> None:
    name, key = which
    less, more = (make_policy(name, {key: value}) for value in sorted((a, b)))
    assert expiry(less, times, others, 0.0, T) <= expiry(more, times, others, 0.0, T)


@each_policy
@given(update_times, starts)
@some
def test_an_unknown_group_is_one_without_updates(policy: Policy, times: list[float], since_s: float) -> None:
    history = History.of(times, since_s)
    nobody = Group.of_hours({}, {})
    assert policy.verdict(history, None, T) == policy.verdict(history, nobody, T)


@each_policy
@given(st.lists(st.integers(0, 15 * DAY).map(float), max_size=25))
@some
def test_folded_updates_count_as_those_at_the_start_of_their_hour(policy: Policy, times: list[float]) -> None:
    """Except that they may be several at one instant, which makes no difference to rates."""
    old = sorted({math.floor(u / 3600) for u in times if u < 10 * DAY})
    recent = [u for u in times if u >= 10 * DAY]
    folded = History.of(recent, 0.0, folded=[(hour, 1) for hour in old])
    plain = History.of([*recent, *(hour * 3600.0 for hour in old)], 0.0)
    others = History.of([1.5 * DAY, 2.75 * DAY], 0.0)
    for t in (T, 12 * DAY):
        assert policy.verdict(folded, group_of(plain, others), t) == policy.verdict(plain, group_of(plain, others), t)


@pytest.mark.parametrize("name", POLICIES)
def test_a_moment_before_observation_began_is_no_error(name: str) -> None:
    """A clock that is set back must not break the proxy."""
    history = History.of([2000.0, 9000.0], 1000.0)
    assert not math.isnan(make_policy(name, {}).verdict(history, group_of(history), 500.0).expiry_s)

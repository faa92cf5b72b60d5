"""The features of a packed trace are those of the histories that it holds."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from same_features import DAY, assert_same_features

from bestbefore.policies.models.demand import first_request, requested
from bestbefore.policies.validation.machinery.features import ByBin
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.replay.kernels.arrays.histories import PackedHistories
from bestbefore.replay.kernels.complete_features import CompleteFeatures
from bestbefore.replay.kernels.lookup import first_after, updates_of
from bestbefore.replay.simulate.complete import CompleteHistories, Grouping
from bestbefore.replay.traces.columns.columns import Requests, Updates

NAMES = ("p/a", "p/b", "q/c")
moments = st.one_of(st.integers(0, 20).map(lambda n: n * 1800.0), st.floats(0.0, 3 * DAY).map(lambda t: round(t, 3)))


@given(
    st.lists(st.tuples(moments, st.integers(0, 2)), max_size=90),
    moments,
    st.sampled_from([math.inf, 3600.0, 1.5 * DAY]),
    st.sampled_from([600.0, DAY]),
    st.sampled_from([Grouping.ALL, Grouping.PREFIX]),
)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_on_random_histories(
    rows: list[tuple[float, int]], t: float, history_window_s: float, window_s: float, grouping: Grouping
) -> None:
    updates = Updates.of(np.array([u for u, _ in rows]), np.array([i for _, i in rows], dtype=np.int32), NAMES)
    three = np.arange(3, dtype=np.int32)
    requests = Requests.of(np.full(3, t), np.zeros(3, dtype=np.int32), three, ("x",), NAMES)
    known = PackedHistories.of(updates, requests, 0.0).grouped(updates, requests, grouping)
    known = known.remembering(updates, grouping)
    asked = requested(first_request(t - 5.0), t)
    complete = CompleteHistories.of(updates, NAMES, 0.0, grouping)
    for object_, name in enumerate(NAMES):
        owner = known.history_of[object_]
        first, last = updates_of(known.objects, owner)
        seen = first_after(known.objects.times_s, first, last, t)
        counted = first_after(known.objects.times_s, first, seen, t - history_window_s)
        packed = CompleteFeatures(
            t, math.nan, False, math.nan, 0.0, ByBin.of_lists(), known, owner, known.group_of[object_], first, counted,
            seen, last, t - history_window_s, asked,
        )
        history, group = complete.contact(name, t)
        plain = HistoryFeatures(history, group, t, window_s=history_window_s, demand=asked)
        assert_same_features(packed, plain, window_s)
        assert packed.next_update_s() == plain.next_update_s()

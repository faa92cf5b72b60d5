"""The features of observed contacts are those of the histories that the live rule learns from the same contacts."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from same_features import DAY, assert_same_features

from bestbefore.policies.models.demand import first_request
from bestbefore.policies.validation.machinery.features import ByBin
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.replay.kernels.arrays.tallies import keep_after
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.kernels.learning import LearntColumns, learn
from bestbefore.replay.kernels.observed_features import ObservedFeatures
from bestbefore.replay.simulate.complete import CompleteHistories, Grouping
from bestbefore.replay.simulate.observed import ObservedHistories
from bestbefore.replay.traces.columns.columns import Updates

NAMES = ("p/a", "p/b", "q/c")
moments = st.one_of(st.integers(0, 20).map(lambda n: n * 1800.0), st.floats(0.0, 3 * DAY).map(lambda t: round(t, 3)))
rows = st.lists(st.tuples(moments, st.integers(0, 2)), max_size=90)


@given(
    rows,
    rows,
    st.sampled_from([math.inf, 3600.0, 1.5 * DAY]),
    st.sampled_from([600.0, DAY]),
    st.sampled_from([Grouping.ALL, Grouping.PREFIX]),
)
@settings(max_examples=80, derandomize=True, deadline=None)
def test_on_random_contacts(
    changes: list[tuple[float, int]], contacts: list[tuple[float, int]], history_window_s: float, window_s: float,
    grouping: Grouping,
) -> None:
    updates = Updates.of(np.array([u for u, _ in changes]), np.array([i for _, i in changes], dtype=np.int32), NAMES)
    truth = Truth.of(updates, NAMES, grouping)
    learnt = LearntColumns.nothing(truth)
    observed = ObservedHistories(CompleteHistories.of(updates, NAMES, 0.0, grouping))
    for t, object_ in sorted(contacts):
        learn(truth, learnt, object_, t)
        history, group = observed.contact(NAMES[object_], t)
        after_s, owner = t - history_window_s, truth.owner_of[object_]
        keep_after(learnt.window, learnt.updates, owner, after_s)
        filled = ObservedFeatures(
            t, math.nan, False, math.nan, 0.0, ByBin.of_lists(), learnt, object_, owner, truth.group_of[object_],
            after_s, first_request(t),
        )
        assert_same_features(filled, HistoryFeatures(history, group, t, window_s=history_window_s), window_s)

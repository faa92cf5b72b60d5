"""The rates and profiles of feeds estimated from two weeks, by the method of the paper and by better ones."""

from functools import cached_property

import numpy as np

from bestbefore.policies.models.patterns import CLUSTERS, Clusters, clusters, most_likely_cluster, profiles
from bestbefore.policies.models.rates.recent import WEEK_S, RecentRates
from bestbefore.policies.units import HOUR_S, FloatArray
from bestbefore.replay.papers.feeds.learning_windows import LEAST_POSTINGS
from bestbefore.replay.papers.feeds.spans import LEARN_DAYS, START_S, Spans

SEED = 12
STRENGTH = 20.0
"""The weight, in hours with postings, of the cluster's pattern in that of a feed. Between 5 and 80 the delays on our
traces differ by one percent."""
HOURS_A_DAY = 24.0


class LearntRates:
    """Rates per day (F,) and profiles (F, 24) of feeds, estimated from the first two weeks of their spans."""

    def __init__(self, spans: Spans) -> None:
        self.spans = spans

    @cached_property
    def rates(self) -> FloatArray:
        """The mean of the two weeks (the paper's method); a feed without postings counts as half a posting."""
        return np.asarray(np.maximum(self.spans.learnt, LEAST_POSTINGS) / LEARN_DAYS)

    @cached_property
    def rates_to_come(self) -> FloatArray:
        """The expected rates after the two weeks, by a regression of the second week on the first (`rates.recent`)."""
        first = self.spans.counted(np.arange(len(self.spans)), START_S / 2, WEEK_S)
        learnt = RecentRates.fitted(first, self.spans.learnt - first[:, 0], WEEK_S[0] / HOUR_S)
        return HOURS_A_DAY * learnt.per_hour(self.spans.learnt[:, None] / 2.0)

    @cached_property
    def common(self) -> FloatArray:
        """(24,) the profile of all postings together."""
        return np.asarray(profiles(np.sum(self.spans.hours_learnt, axis=0, keepdims=True))[0])

    @cached_property
    def of_all(self) -> FloatArray:
        """The common profile, for each feed."""
        return np.tile(self.common, (len(self.spans), 1))

    @cached_property
    def own(self) -> FloatArray:
        """The profile of each feed; the common one without postings."""
        return np.where(self.spans.learnt[:, None] > 0, profiles(self.spans.hours_learnt), self.common)

    @cached_property
    def clusters_of_all(self) -> Clusters:
        """Clusters of all feeds with a posting (the paper's method)."""
        return self._clusters(1)

    @cached_property
    def clusters_of_daily(self) -> Clusters:
        """Clusters of the feeds with one posting a day or more, whose profiles are smoother."""
        return self._clusters(LEARN_DAYS)

    def _clusters(self, least: int) -> Clusters:
        kept = profiles(self.spans.hours_learnt[self.spans.learnt >= least])
        if not len(kept):
            kept = self.common[None, :]
        return clusters(kept, np.random.default_rng(SEED), min(CLUSTERS, len(kept)))

    @cached_property
    def nearest(self) -> FloatArray:
        """The centroid of the feed's k-means cluster (the paper's method); `common` without postings."""
        found = self.of_all.copy()
        if np.any(self.spans.learnt):
            found[self.spans.learnt > 0] = self.clusters_of_all.centroids[self.clusters_of_all.member]
        return found

    @cached_property
    def likeliest(self) -> FloatArray:
        """The centroid of the most likely cluster of daily feeds, given the hours with postings."""
        daily = self.clusters_of_daily
        return np.asarray(daily.centroids[most_likely_cluster(self.spans.active_hours_learnt, daily)])

    @cached_property
    def drawn(self) -> FloatArray:
        """The profile of each feed's hours with postings, smoothed with the centroid `likeliest`."""
        return profiles(self.spans.active_hours_learnt, self.likeliest, STRENGTH)

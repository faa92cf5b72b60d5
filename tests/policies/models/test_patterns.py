"""Hourly profiles, their clusters, and the cluster of a feed with few postings."""

import numpy as np
import pytest

from bestbefore.policies.models.patterns import Clusters, clusters, hourly_counts, most_likely_cluster, profiles

HOUR_S = 3600.0
HOURS = np.arange(24)


def bump(hour):
    """A profile with most postings around an hour."""
    weight = np.exp(-((((HOURS - hour + 12) % 24) - 12) ** 2) / 8.0) + 0.01
    return weight / weight.sum()


def drawn(rng, pattern, feeds, postings):
    return rng.multinomial(postings, pattern, size=feeds)


def test_postings_are_counted_by_the_utc_hour_of_the_day():
    counts = hourly_counts(np.array([0.0, 3599.0, 3600.0, 24 * HOUR_S, 47 * HOUR_S]))
    assert counts.sum() == 5
    assert (counts[0], counts[1], counts[23]) == (3, 1, 1)


def test_a_profile_is_the_share_of_each_hour():
    counts = np.zeros((1, 24), dtype=np.intp)
    counts[0, [6, 7]] = 1, 3
    shares = profiles(counts)[0]
    assert (shares[6], shares[7], shares.sum()) == (0.25, 0.75, 1.0)


def test_smoothing_adds_postings_that_follow_the_prior():
    counts = np.zeros((2, 24), dtype=np.intp)
    counts[0, 6] = 3
    smoothed = profiles(counts, prior=bump(6), strength=3.0)
    assert smoothed[0] == pytest.approx(0.5 * (HOURS == 6) + 0.5 * bump(6))
    assert smoothed[1] == pytest.approx(bump(6))
    assert profiles(counts, strength=24.0)[0, 0] == pytest.approx(1 / 27)


def test_without_postings_and_prior_a_profile_is_uniform():
    assert profiles(np.zeros((1, 24)))[0] == pytest.approx(np.full(24, 1 / 24))


def test_clusters_find_the_patterns_that_feeds_were_drawn_from():
    rng = np.random.default_rng(5)
    counts = np.concatenate([drawn(rng, bump(hour), feeds, 200) for hour, feeds in ((3, 60), (10, 40), (19, 20))])
    found = clusters(profiles(counts), np.random.default_rng(1), number=3)
    assert found.sizes.tolist() == [60, 40, 20]
    assert np.argmax(found.centroids, axis=1).tolist() == [3, 10, 19]
    assert found.member.tolist() == [0] * 60 + [1] * 40 + [2] * 20
    assert found.centroids.sum(axis=1) == pytest.approx(np.ones(3))


def test_the_same_seed_gives_the_same_clusters():
    counts = drawn(np.random.default_rng(5), bump(9), 50, 20)
    first, second = (clusters(profiles(counts), np.random.default_rng(2)) for _ in range(2))
    assert np.array_equal(first.member, second.member)
    assert np.array_equal(first.centroids, second.centroids)


def test_few_distinct_profiles_are_clusters_of_their_own():
    counts = np.repeat(np.eye(24)[:2], [1, 3], axis=0)
    found = clusters(profiles(counts), np.random.default_rng(1))
    assert found.sizes.tolist() == [3, 1]
    assert found.member.tolist() == [1, 0, 0, 0]


def test_a_few_postings_identify_the_cluster():
    found = Clusters(np.array([bump(3), bump(15)]), np.array([10, 5]), np.empty(0, dtype=np.intp))
    counts = np.array([hourly_counts(np.array(hours) * HOUR_S) for hours in ([15.0, 16.0], [2.0], [], [9.0])])
    # The third has no postings and the fourth lies between both: the larger cluster.
    assert most_likely_cluster(counts, found).tolist() == [1, 0, 0, 0]


def test_an_hour_without_postings_does_not_rule_a_cluster_out():
    night, noon = np.zeros(24), np.zeros(24)
    night[:6], noon[12] = 1 / 6, 1.0
    found = Clusters(np.array([night, noon]), np.array([50, 50]), np.empty(0, dtype=np.intp))
    counts = np.zeros((1, 24), dtype=np.intp)
    counts[0, [0, 1, 2, 3, 12]] = 1
    assert most_likely_cluster(counts, found).tolist() == [0]


def test_it_weighs_as_much_as_one_feed_that_posts_at_any_hour():
    """Two postings in an hour in which no feed of the first cluster posted speak for the other, and one does not."""
    night = np.zeros(24)
    night[0] = 1.0
    found = Clusters(np.array([night, np.full(24, 1 / 24)]), np.array([10, 10]), np.empty(0, dtype=np.intp))
    counts = np.zeros((2, 24), dtype=np.intp)
    counts[:, 0], counts[:, 1] = 1, (1, 2)
    assert most_likely_cluster(counts, found).tolist() == [0, 1]


def test_a_large_cluster_is_not_favoured_more_the_more_is_posted():
    """log(10) + 2 log(.91) for those that post in the first hour, log(1000) + 2 log(1/24) for all the others."""
    night = np.zeros(24)
    night[0] = 1.0
    found = Clusters(np.array([night, np.full(24, 1 / 24)]), np.array([10, 1000]), np.empty(0, dtype=np.intp))
    assert most_likely_cluster(2 * np.eye(24, dtype=np.intp)[:2], found).tolist() == [0, 1]


@pytest.mark.parametrize(("feeds", "number"), [(0, 3), (3, 0)])
def test_clusters_of_nothing_are_refused(feeds, number):
    with pytest.raises(ValueError, match="expected 1 or more of each"):
        clusters(np.full((feeds, 24), 1 / 24), np.random.default_rng(1), number=number)

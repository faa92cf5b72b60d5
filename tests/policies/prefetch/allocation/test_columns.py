import numpy as np

from bestbefore.policies.prefetch.allocation.columns import MANY, PartColumns
from bestbefore.policies.prefetch.allocation.curves import AgeCurve, FreshnessCurve


def test_columns_that_keep_the_refreshes_have_the_same_sums_and_refreshes() -> None:
    rng = np.random.default_rng(1)
    rates, weights = rng.uniform(0.0, 3.0, 40_000), rng.uniform(0.0, 2.0, 40_000)
    rates[5], weights[9] = 0.0, 0.0
    curve = AgeCurve()
    kept, plain = PartColumns(rates, weights, keeps=True), PartColumns(rates, weights)
    assert kept.spent(curve, 0.5) == plain.spent(curve, 0.5)
    first = kept.refreshes(curve, 0.5)
    assert first[5] == first[9] == 0.0
    np.testing.assert_array_equal(first, plain.refreshes(curve, 0.5))
    first[:] = -1.0  # the caller's own
    np.testing.assert_array_equal(kept.refreshes(curve, 0.5), plain.refreshes(curve, 0.5))


def test_single_objects_are_found_unless_they_are_many() -> None:
    columns = PartColumns(np.array([1.0, 2.0, 4.0]), np.ones(3))
    curve = FreshnessCurve(1.0)
    low, _, high = columns.bins(FreshnessCurve).numbers.tolist()
    found = columns.single(curve, low + 1, high)
    assert found is not None
    assert [one.tolist() for one in found] == [[2.0, 4.0], [2.0, 4.0]]
    assert PartColumns(np.ones(MANY + 1), np.ones(MANY + 1)).single(curve, low, high) is None

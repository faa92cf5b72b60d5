import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.models.renewal.laws import Pareto, Poisson, Weibull
from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.discrete.gains import MixedGains, PoissonGains, TabulatedGains
from bestbefore.policies.prefetch.discrete.staleness import staleness
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary

each_boundary = pytest.mark.parametrize("boundary", ["interval", "periodic"])
RATES = np.array([0.01, 0.5, 3.0, 0.0, 40.0, 1.0])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.0])
FREE = np.full(6, 10**6)


@each_boundary
def test_a_gain_is_the_weighted_difference_of_staleness(boundary: Boundary) -> None:
    found = PoissonGains(RATES, WEIGHTS, boundary)
    for i in (0, 1, 2, 4):
        expected = WEIGHTS[i] * -np.diff(staleness(Poisson(RATES[i]), np.arange(13), 1.0, boundary))
        assert_allclose(found.of(np.full(12, i), np.arange(12)), expected, rtol=1e-9)


def test_gains_lose_no_digits_after_many_visits() -> None:
    # lambda / (2 n^2), up to 1/n
    found = PoissonGains([1.0], None, "periodic")
    n = np.array([10**5, 10**6, 10**7])
    assert_allclose(found.of(np.zeros(3, np.int64), n), 0.5 / n.astype(float) ** 2, rtol=3e-5)
    assert (np.diff(found.of(np.zeros(2000, np.int64), np.arange(10**5, 10**5 + 2000))) < 0).all()


@each_boundary
@pytest.mark.parametrize("threshold", [1e-6, 1e-3, 0.02, 0.074, 0.3, 2.0])
def test_the_count_is_that_of_the_visits_that_gain_enough(boundary: Boundary, threshold: float) -> None:
    found = PoissonGains(RATES, WEIGHTS, boundary)
    counts = found.count(threshold, FREE)
    objects = np.arange(6)
    assert (found.of(objects, counts) < threshold).all()
    visited = counts > 0
    assert (found.of(objects[visited], counts[visited] - 1) >= threshold).all()
    assert counts[3] == counts[5] == 0
    assert (found.count(threshold, np.full(6, 2)) == np.minimum(counts, 2)).all()


@each_boundary
def test_a_table_of_a_poisson_law_counts_as_the_law_itself(boundary: Boundary) -> None:
    some = [0, 1, 2, 4]
    table = TabulatedGains.of_laws([Poisson(RATES[i]) for i in some], WEIGHTS[some], 1.0, boundary, 50)
    law = PoissonGains(RATES[some], WEIGHTS[some], boundary)
    for threshold in (1e-3, 0.01, 0.1):
        maximum = np.full(4, 50)
        assert table.count(threshold, maximum).tolist() == law.count(threshold, maximum).tolist()
    assert_allclose(table.of(np.arange(4), np.arange(4)), law.of(np.arange(4), np.arange(4)), rtol=1e-9)


def test_beyond_a_table_nothing_is_gained() -> None:
    table = TabulatedGains.of_table([[1.0, 0.5, 0.25]], [2.0])
    assert table.of(np.zeros(4, np.int64), np.arange(4)).tolist() == [1.0, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("row", [[1.0, 0.9, 0.5], [0.5, 0.6, 0.5], [1.0, np.nan, 0.5], [np.inf, 1.0, 0.5]])
def test_a_table_that_is_not_convex_and_falling_is_refused_by_its_row(row: list[float]) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(RowError, match="row 1: the staleness is not convex"):
        TabulatedGains.of_table([[1.0, 0.5, 0.3], row], [1.0, 1.0])


def test_a_table_has_a_row_for_each_weight() -> None:
    with pytest.raises(ValueError, match="for 2 weights, expected as many"):
        TabulatedGains.of_table([[1.0, 0.5]], [1.0, 1.0])


def mixed() -> tuple[MixedGains, list[TabulatedGains]]:
    laws = [Poisson(1.0), Weibull(0.5, 1.0), Poisson(3.0), Pareto(1.5, 1.0)]
    alone = [TabulatedGains.of_laws([law], [1.0 + i], 1.0, "periodic", 9) for i, law in enumerate(laws)]
    heavy = TabulatedGains.of_laws([laws[1], laws[3]], [2.0, 4.0], 1.0, "periodic", 9)
    random = PoissonGains([1.0, 3.0], [1.0, 3.0], "periodic")
    return MixedGains([(np.array([1, 3]), heavy), (np.array([0, 2]), random)]), alone


def test_objects_of_several_kinds_keep_their_numbers() -> None:
    together, alone = mixed()
    assert len(together) == 4
    for threshold in (0.01, 0.1, 0.5):
        expected = [int(one.count(threshold, np.array([9]))[0]) for one in alone]
        assert together.count(threshold, np.full(4, 9)).tolist() == expected
        assert together.subset(np.array([0, 3])).count(threshold, np.full(2, 9)).tolist() == [expected[0], expected[3]]
    objects, visits = np.array([3, 0, 1, 2, 1]), np.array([0, 1, 2, 3, 4])
    expected_gains = [float(alone[i].of(np.array([0]), np.array([x]))[0]) for i, x in zip(objects, visits, strict=True)]
    assert_allclose(together.of(objects, visits), expected_gains, rtol=1e-9)


def test_each_object_is_of_one_kind() -> None:
    one = PoissonGains([1.0], None, "periodic")
    with pytest.raises(ValueError, match="do not number each object once"):
        MixedGains([(np.array([0]), one), (np.array([0]), one)])
    with pytest.raises(ValueError, match="part 0 numbers 2 objects, but has the gains of 1"):
        MixedGains([(np.array([0, 1]), one)])


def test_where_nothing_is_ever_stale_no_visit_gains_anything() -> None:
    gains = TabulatedGains.of_table([[0.0, 0.0, 0.0], [1.0, 0.5, 0.25]], [1.0, 1.0])
    assert gains.of(np.array([0, 0, 1]), np.array([0, 1, 0])).tolist() == [0.0, 0.0, 0.5]

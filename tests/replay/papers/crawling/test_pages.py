import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.models.renewal.laws import Pareto, Poisson
from bestbefore.policies.prefetch.discrete.staleness import staleness
from bestbefore.replay.papers.crawling.pages import MIXED, Kind, Pages, zipf_rates
from bestbefore.replay.papers.crawling.quasideterministic import quasideterministic_staleness


def test_rates_follow_zipf_with_the_mean_of_the_paper() -> None:
    assert_allclose(zipf_rates(4, 0.0), 6.0 / (25 / 12) / np.array([1, 2, 3, 4]))
    assert_allclose(zipf_rates(4, 1.0), [1.5] * 4)


def test_each_page_is_of_one_kind() -> None:
    pages = Pages.of(zipf_rates(50, 0.0), MIXED, np.random.default_rng(1))
    assert [len(objects) for objects in pages.objects.values()] == [30, 15, 5]
    assert sorted(np.concatenate(list(pages.objects.values())).tolist()) == list(range(50))


def test_staleness_is_that_of_the_law_of_each_page() -> None:
    rates = zipf_rates(30, 0.0)
    pages = Pages.of(rates, MIXED, np.random.default_rng(1))
    visits = np.arange(30)
    found = pages.staleness(visits)
    for page in pages.objects[Kind.POISSON].tolist():
        assert found[page] == pytest.approx(float(staleness(Poisson(rates[page]), visits[page], 1.0, "interval")))
    for page in pages.objects[Kind.PARETO].tolist():
        law = Pareto(1.5, 0.5 / rates[page])
        assert law.mean == pytest.approx(1.0 / rates[page])
        assert found[page] == pytest.approx(float(staleness(law, visits[page], 1.0, "interval")))
    for page in pages.objects[Kind.QUASI_DETERMINISTIC].tolist():
        assert found[page] == quasideterministic_staleness(rates[[page]])[0, visits[page]]


def test_the_best_visits_beat_all_others_of_few_pages() -> None:
    pages = Pages.of(np.array([3.0, 1.0, 0.2]), dict.fromkeys(Kind, 1 / 3), np.random.default_rng(2))
    weights = np.array([1.0, 2.0, 3.0])
    best = pages.best(weights, 4)
    assert best.sum() == 4
    others = [(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)]
    least = min(float(weights @ pages.staleness(np.array(other))) for other in others)
    assert float(weights @ pages.staleness(best)) == pytest.approx(least)


def test_no_table_limits_the_visits() -> None:
    pages = Pages.of(np.array([5.0, 0.001]), {Kind.PARETO: 1.0}, np.random.default_rng(1))
    assert pages.best(np.ones(2), 500)[0] > 400

import numpy as np
import pytest

from bestbefore.replay.planning.whole_visits import least_visits, refuse_small_budget, whole_budget, whole_of_owner

RATES, WEIGHTS = np.array([1.0, 0.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("objective", "boundary", "expected"),
    [("age", "periodic", [1, 0, 0, 0]), ("age", "interval", [0] * 4), ("freshness", "periodic", [0] * 4)],
)
def test_where_age_would_be_infinite_there_is_a_visit_within_the_bounds(
    objective: str, boundary: str, expected: list[int]
) -> None:
    least, most = np.zeros(4, dtype=np.int64), np.array([5, 5, 5, 0])
    found = least_visits(objective, "interval" if boundary == "interval" else "periodic", RATES, WEIGHTS, least, most)
    assert found.tolist() == expected


def test_budgets_that_cannot_be_planned_are_refused() -> None:
    assert whole_budget(3.0) == 3
    with pytest.raises(ValueError, match="expected a whole number"):
        whole_budget(2.5)
    with pytest.raises(ValueError, match="expected at most"):
        whole_budget(1e17)
    refuse_small_budget("age", 4.0, 3, 4)
    with pytest.raises(ValueError, match=r"each of the 3 objects that change needs a contact .* 4 contacts"):
        refuse_small_budget("age", 3.0, 3, 4)


def test_a_domain_may_have_a_whole_number_of_contacts() -> None:
    assert [whole_of_owner(most) for most in (1.0, 3.9, 0.3 / 0.1)] == [1, 3, 3]
    with pytest.raises(ValueError, match=r"a domain may have 0.5 contacts per period: expected an interval of at most"):
        whole_of_owner(0.5)

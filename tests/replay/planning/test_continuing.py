import numpy as np
import pytest
from numpy.testing import assert_allclose

from bestbefore.policies.models.renewal.laws import Weibull
from bestbefore.policies.prefetch.checked import RowError
from bestbefore.replay.planning.continuing import rest_of
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.inputs.made_file import MadeContact
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.planning.plan import Aim, best_plan

TWO = PlannedObjects(
    Ids.of("ab"), np.array([4.0, 8.0]), np.ones(2), np.array([2.0, 0.0]), np.array([9.0, 1.0])
)
AIM = Aim("freshness", 6, 100.0, discrete=True)


def test_what_is_left_follows_from_the_contacts_made() -> None:
    rest, aim = rest_of(TWO, AIM, [MadeContact("a", 20.0), MadeContact("a", -5.0), MadeContact("b", 10.0)], 60.0)
    assert (aim.budget, aim.period_s) == (4.0, 40.0)
    assert_allclose(rest.rates, [1.6, 3.2])
    assert [bound.tolist() for bound in rest.bounds()] == [[1.0, 0.0], [8.0, 0.0]]
    assert rest.since is not None
    assert rest.since.tolist() == [1.0, 1.25]
    assert best_plan(rest, aim).contacts.tolist() == [4.0, 0.0]


def test_the_rest_begins_with_the_last_contact_and_others_were_contacted_a_period_before() -> None:
    rest, aim = rest_of(TWO, AIM, [MadeContact("a", 50.0)], None)
    assert rest.since is not None
    assert (aim.period_s, rest.since.tolist()) == (50.0, [0.0, 3.0])


@pytest.mark.parametrize(("made", "now_s", "problem"), [
    ([MadeContact("c", 1.0)], None, "with 'c', which is no object of the plan"),
    ([MadeContact("a", 9.0)], 5.0, "with 'a' at 9 s, after 5 s"),
    ([], 100.0, "nothing is left of the period of 100 s after 100 s"),
    ([MadeContact("a", 1.0)] * 6, None, "the budget is 6, of which 6 contacts are made"),
])
def test_what_cannot_be_continued_is_refused(made: list[MadeContact], now_s: float | None, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        rest_of(TWO, AIM, made, now_s)


def test_laws_are_not_continued() -> None:
    some = PlannedObjects(Ids.of("a"), np.ones(1), np.ones(1), laws={0: Weibull(2.0, 0.5)})
    with pytest.raises(RowError, match="a model other than poisson is not continued"):
        rest_of(some, AIM, [], None)

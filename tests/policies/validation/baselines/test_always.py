from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.always import Always
from bestbefore.policies.validation.machinery.verdict import Verdict


def test_a_copy_has_expired_as_soon_as_it_is_stored() -> None:
    assert Always().verdict(History.of([100.0], 0.0), None, 500.0) == Verdict(500.0, "always")

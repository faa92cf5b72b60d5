import math

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.never import Never
from bestbefore.policies.validation.machinery.verdict import Verdict


def test_a_copy_does_not_expire() -> None:
    assert Never().verdict(History.of([100.0], 0.0), None, 500.0) == Verdict(math.inf, "never")

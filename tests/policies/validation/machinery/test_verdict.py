import re

import pytest

from bestbefore.policies.validation.machinery.verdict import Reason


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_can_stand_in_a_header_a_label_and_a_log_as_it_is(reason: Reason) -> None:
    assert re.fullmatch("[a-z][a-z_]*", reason)
    assert f"{reason}" == reason.value

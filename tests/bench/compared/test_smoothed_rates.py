import math

import numpy as np
import pytest
from compared.contact_evidence import evidence_at_contacts
from compared.smoothed_rates import smoothed_rate

from bestbefore.policies.models.rates.likelihood import most_likely

HOUR = 3600.0


@pytest.mark.parametrize("changed", [0, 3, 10])
def test_smoothed_regular_polls_are_half_a_changed_and_half_an_unchanged_one_more(changed: int) -> None:
    lengths_s, flags = np.full(10, 2.0 * HOUR), np.array([True] * changed + [False] * (10 - changed))
    estimate = smoothed_rate(lengths_s, flags)
    assert estimate.rate_per_hour == pytest.approx(-math.log((10 - changed + 0.5) / 11) / 2)
    assert estimate.high_per_hour == most_likely(evidence_at_contacts(lengths_s, flags)).high_per_hour

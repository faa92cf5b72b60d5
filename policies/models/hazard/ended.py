"""The chance that the updates of an object have ended, as an expert of few updates.

Its hazard is .3 / (age + 1 h): each time that the age is multiplied by 28, one update is expected. The other experts
expect an update sooner, and are certain of it after a few times their mean gap. This one has little weight after an
update, and gains as long as the others expect in vain; an object that changes again is like before at once. Nothing is
kept for it. The functions are compiled unchanged.
"""

import math

from bestbefore.policies.units import HOUR_S

UPDATES = 0.3
"""The updates expected while the age is multiplied by e."""
AFTER_S = HOUR_S
"""What is added to the age, so that the rate at the update itself is finite."""
LOG_WEIGHT = math.log(0.003)
"""The log weight after each update, where those of the other experts add up to 1."""


def ended_rate_per_s(age_s: float) -> float:
    """The hazard at this age, updates per second."""
    return UPDATES / (age_s + AFTER_S)


def ended_mass(from_age_s: float, to_age_s: float) -> float:
    """The updates expected between two ages."""
    return UPDATES * math.log((to_age_s + AFTER_S) / (from_age_s + AFTER_S))

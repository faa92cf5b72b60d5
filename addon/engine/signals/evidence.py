"""How often the signals of one kind from one site were right, and how much the next one is believed.

Signals are noisy: an origin may announce changes that are none, and may change without announcing it. Both are measured
where a contact shows what happened. Source: Busa-Fekete et al., Crawling with noisy change-indicating signals, 2025:
their precision and recall are those of the indicator; here both are estimated, by the mean of a beta distribution.
Precision alone does not show that signals are of use: a site that names all pages each hour is right as often as they
change. So the changes found after signals are also compared with those that the objects' own rates lead to expect.
"""

import math
from dataclasses import astuple, dataclass
from typing import NamedTuple

from bestbefore.addon.engine.learning import RecordChange
from bestbefore.policies.units import DAY_S

_PRIOR_RIGHT = 2.0
_PRIOR_WRONG = 1.0
"""What is believed before anything was measured, as if so many signals had been right and wrong: two of three."""
LEAST_PRECISION = 0.2
"""Signals that are right less often are dropped: each would cost five contacts for a change."""
SELDOM_S = DAY_S
"""The least time between two polls of an object whose changes are pushed, in case a push is lost, and of a sitemap
whose signals are dropped, in case they become right."""
LEAST_JUDGED = 8.0
"""From how many judged signals on they are compared with the objects' own rates."""
CONFIDENCE_Z = 1.645
"""By how many standard deviations the changes after signals must exceed what was expected: one-sided, 95 %."""
TRUSTED_PRECISION = 0.9
"""Signals that are right so often are believed even if the objects change as often without: they cost nothing."""
TRIALS_KEPT = 200.0
"""How many signals are remembered: with more, all counts are halved, so that a site may change for better or worse."""
SOURCES_KEPT = 1024
"""For how many pairs of site and kind evidence is kept, those judged last."""


class SignalSource(NamedTuple):
    """Where signals come from."""

    site: str
    """The registrable domain of the objects."""
    kind: str
    """`sitemap` or `websub`."""


@dataclass(frozen=True, slots=True)
class SignalEvidence:
    """The counts of signals of one kind from one site, as contacts have judged them."""

    right: float = 0.0
    """Signals after which the object was found changed."""
    wrong: float = 0.0
    """Signals after which it was found unchanged."""
    missed: float = 0.0
    """Changes found that no signal had announced, where one should have."""
    expected: float = 0.0
    """How many of `right` the objects' own rates lead to expect, whatever is announced."""
    variance: float = 0.0
    """The variance of that number."""

    @property
    def precision(self) -> float:
        """The estimated probability that an object has changed after a signal."""
        return (self.right + _PRIOR_RIGHT) / (self.right + self.wrong + _PRIOR_RIGHT + _PRIOR_WRONG)

    @property
    def recall(self) -> float:
        """The estimated probability that a change is announced."""
        return (self.right + _PRIOR_RIGHT) / (self.right + self.missed + _PRIOR_RIGHT + _PRIOR_WRONG)

    @property
    def is_dropped(self) -> bool:
        """Whether signals of this kind are ignored, but for being judged.

        They are if few are right, and if it is not certain that objects change more often where they are named.
        """
        if self.precision < LEAST_PRECISION:
            return True
        if self.right + self.wrong < LEAST_JUDGED or self.precision >= TRUSTED_PRECISION:
            return False
        return self.right - self.expected <= CONFIDENCE_Z * math.sqrt(self.variance)

    @property
    def between_polls_s(self) -> float:
        """The least time between two polls of what the signals are read from."""
        return SELDOM_S if self.is_dropped else 0.0

    def plus(self, other: "SignalEvidence") -> "SignalEvidence":
        """Return the evidence of both."""
        sums = [mine + others for mine, others in zip(astuple(self), astuple(other), strict=True)]
        part = 0.5 if sum(sums[:3]) > TRIALS_KEPT else 1.0
        return SignalEvidence(*(part * one for one in sums))

    @classmethod
    def judged(cls, *, changed: bool, chance: float) -> "SignalEvidence":
        """Return the evidence of one signal: what was found, and the probability of a change without it."""
        return cls(float(changed), float(not changed), expected=chance, variance=chance * (1.0 - chance))


def own_chance(learnt: RecordChange) -> float:
    """Return the probability that a contact finds an object changed, from its own updates until the contact before.

    Updates are Poisson here, and half of one is added to those known, so that a new object has a rate, too. 0 if the
    contact before is not known.
    """
    record = learnt.record
    if learnt.site is not None:
        previous_s = learnt.site.previous_s
    elif learnt.changed and record.updates:
        previous_s = record.updates[-1].after_s
    else:
        return 0.0
    known = sum(update.point_s <= previous_s for update in record.updates) + sum(n for _, n in record.folded)
    rate_per_s = (known + 0.5) / max(record.last_contact_s - record.since_s, 1.0)
    return -math.expm1(-rate_per_s * max(record.last_contact_s - previous_s, 0.0))

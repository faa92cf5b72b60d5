"""How often the signals of one kind from one site were right, and how much the next one is believed.

Signals are noisy: an origin may announce changes that are none, and may change without announcing it. Both are measured
where a contact shows what happened. Source: Busa-Fekete et al., Crawling with noisy change-indicating signals, 2025:
their precision and recall are those of the indicator; here both are estimated, by the mean of a beta distribution.
"""

from dataclasses import dataclass
from typing import NamedTuple

_PRIOR_RIGHT = 2.0
_PRIOR_WRONG = 1.0
"""What is believed before anything was measured, as if so many signals had been right and wrong: two of three."""
LEAST_PRECISION = 0.2
"""Signals that are right less often are dropped: each would cost five contacts for a change."""
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
        """Whether signals of this kind are ignored, but for being judged."""
        return self.precision < LEAST_PRECISION

    def plus(self, other: "SignalEvidence") -> "SignalEvidence":
        """Return the evidence of both."""
        right, wrong, missed = self.right + other.right, self.wrong + other.wrong, self.missed + other.missed
        part = 0.5 if right + wrong + missed > TRIALS_KEPT else 1.0
        return SignalEvidence(part * right, part * wrong, part * missed)

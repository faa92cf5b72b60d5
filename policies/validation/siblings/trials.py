"""How often an object had changed when a sibling had: ratios of counts, each with its parent's as the prior."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from bestbefore.policies.validation.siblings.changes import SiteChange

MATCH_S = 600.0
"""Two objects changed together if their changes are at most this far apart: a site is published in some minutes."""
PARENT_WEIGHT = 4.0
"""The number of trials that the ratio of the directory or the site counts for beside an object's own."""
SITE_PRIOR = (0.2, 2.0)
"""The ratio of a site without trials, and how many trials it counts for: successes and trials."""


class Trials(NamedTuple):
    """Counts of changes of siblings, and in how many of them the object had changed together with the sibling.

    Apart for siblings in the same directory and in others.
    """

    same_together: int = 0
    same: int = 0
    other_together: int = 0
    other: int = 0

    def plus(self, more: "Trials") -> "Trials":
        """Return the sum of both."""
        return Trials(*(a + b for a, b in zip(self, more, strict=True)))


class Chances(NamedTuple):
    """The probability that an object has changed too, given the change of a sibling."""

    same: float
    """If the sibling is in the same directory."""
    other: float


def trials(changes: Iterable[SiteChange], directory: str, changed_s: float | None) -> Trials:
    """Count changes of siblings since the contact before, at a contact that found a change at `changed_s`, or none.

    A sibling's change counts as together if the object changed within `MATCH_S` of it, as apart if the object did not
    change or changed earlier, and not at all if it changed later, as an earlier change is then hidden.
    """
    same_together = same = other_together = other = 0
    for change in changes:
        apart_s = -math.inf if changed_s is None else changed_s - change.update_s
        if apart_s > MATCH_S:
            continue
        together = apart_s >= -MATCH_S
        if change.directory == directory:
            same += 1
            same_together += together
        else:
            other += 1
            other_together += together
    return Trials(same_together, same, other_together, other)


def chances(site: Trials, directory: Trials, own: Trials) -> Chances:
    """Return the probabilities for an object by its own trials, those of its directory, and those of the site."""
    return Chances(
        chance(site.same_together, site.same, directory.same_together, directory.same, own.same_together, own.same),
        chance(
            site.other_together, site.other, directory.other_together, directory.other, own.other_together, own.other
        ),
    )


def chance(site_together: int, site: int, directory_together: int, directory: int, together: int, own: int) -> float:
    """Return the probability by counts of the site, of the directory and of the object: how often together, and all."""
    of_site = (site_together + SITE_PRIOR[0]) / (site + SITE_PRIOR[1])
    of_directory = (directory_together + PARENT_WEIGHT * of_site) / (directory + PARENT_WEIGHT)
    return (together + PARENT_WEIGHT * of_directory) / (own + PARENT_WEIGHT)

"""What is known of siblings in arrays, equivalent to `replay.simulate.sites`. Compiled unchanged by `compiled`."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray
from bestbefore.policies.validation.siblings.changes import CHANGES_KEPT, directory_of
from bestbefore.policies.validation.siblings.least_chance import least_chance_of
from bestbefore.policies.validation.siblings.trials import MATCH_S, chance
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.kernels.known import Known
from bestbefore.replay.kernels.learning import NEVER_S
from bestbefore.replay.kernels.lookup import first_after
from bestbefore.replay.traces.columns.columns import IdArray

SAME, OTHER = 0, 2
"""The first of two columns of trials: how often together, how often in all. Apart for siblings in the same directory
and in others."""


class SiblingColumns(NamedTuple):
    """The changes and trials of each site, and what they mean for each copy, as columns."""

    least: float
    """The least probability with which a copy is validated because of a sibling; 1: siblings are not used."""
    tells_times: bool
    """Whether a contact shows when the last update was."""
    directory_of: NDArray[np.int64]
    """(objects,) the directory of each, as a number."""
    contact_s: FloatArray
    """(objects,) the last contact; `NEVER_S` before the first."""
    found: NDArray[np.int64]
    """(sites,) the number of changes found; the last `CHANGES_KEPT` of them are kept."""
    update_s: FloatArray
    """(sites, CHANGES_KEPT) their times."""
    changed: IdArray
    """(sites, CHANGES_KEPT) the objects that changed."""
    latest_s: FloatArray
    """(sites,) the time of the latest change."""
    of_site: NDArray[np.int64]
    """(sites, 4) the trials; so are those of directories and objects."""
    of_directory: NDArray[np.int64]
    of_object: NDArray[np.int64]
    current_s: FloatArray
    """(streams,) when the copy was last known to be current."""
    chance: FloatArray
    """(streams,) the probability from which on a change of a sibling outdates it."""

    @classmethod
    def none(cls) -> Self:
        """Return the columns of a replay without siblings."""
        return cls.nothing(0, np.empty(0, dtype=np.int32), (), 0, tells_times=False)

    @classmethod
    def nothing(
        cls, sites: int, group_of: IdArray, objects: Sequence[str], streams: int, *, tells_times: bool
    ) -> Self:
        """Return the state before any contact; `least` is 1. `group_of`: the site of each object."""
        numbers: dict[tuple[int, str], int] = {}
        named = zip(group_of.tolist(), map(directory_of, objects), strict=True)
        directories = [numbers.setdefault(directory, len(numbers)) for directory in named]
        n, trials = len(objects), [np.zeros((rows, 4), dtype=np.int64) for rows in (sites, len(numbers), len(objects))]
        return cls(
            1.0, tells_times, np.array(directories, dtype=np.int64), np.full(n, NEVER_S),
            np.zeros(sites, dtype=np.int64), np.zeros((sites, CHANGES_KEPT)),
            np.zeros((sites, CHANGES_KEPT), dtype=np.int32), np.full(sites, NEVER_S), trials[0], trials[1], trials[2],
            np.full(streams, NEVER_S), np.ones(streams),
        )

    def copy(self, least: float) -> Self:
        """Return a copy that learns on independently, for a policy with this least probability."""
        columns: list[Any] = [column.copy() for column in self[3:]]
        return type(self)(least, self.tells_times, self.directory_of, *columns)


def contact_site(sites: SiblingColumns, truth: Truth, object_: int, t: float) -> None:
    """Learn from a contact at t, not earlier than any before. As `Siblings.contact`."""
    previous_s = sites.contact_s[object_]
    sites.contact_s[object_] = t
    if previous_s == NEVER_S or not sites.tells_times:
        return
    site, directory = truth.group_of[object_], sites.directory_of[object_]
    first, end = truth.firsts[truth.owner_of[object_]], truth.firsts[truth.owner_of[object_] + 1]
    seen = first_after(truth.updates_s, first, end, t)
    last_s = truth.updates_s[seen - 1] if seen > first else NEVER_S
    changed_s = last_s if last_s > previous_s else NEVER_S
    if sites.latest_s[site] > previous_s:
        for place in range(min(sites.found[site], CHANGES_KEPT)):
            update_s, other = sites.update_s[site, place], sites.changed[site, place]
            apart_s = changed_s - update_s
            if update_s <= previous_s or other == object_ or apart_s > MATCH_S:
                continue
            column = SAME if sites.directory_of[other] == directory else OTHER
            together = apart_s >= -MATCH_S
            sites.of_site[site, column] += together
            sites.of_site[site, column + 1] += 1
            sites.of_directory[directory, column] += together
            sites.of_directory[directory, column + 1] += 1
            sites.of_object[object_, column] += together
            sites.of_object[object_, column + 1] += 1
    if changed_s != NEVER_S:
        place = sites.found[site] % CHANGES_KEPT
        sites.found[site] += 1
        sites.update_s[site, place] = changed_s
        sites.changed[site, place] = object_
        sites.latest_s[site] = max(sites.latest_s[site], changed_s)


def contact_sites(sites: SiblingColumns, truth: Truth, times_s: FloatArray, object_ids: IdArray) -> None:
    """Learn from contacts, in order of time."""
    for i in range(len(times_s)):
        contact_site(sites, truth, object_ids[i], times_s[i])


def stored(
    sites: SiblingColumns, truth: Truth, known: Known, object_: int, stream: int, t: float, expiry_s: float
) -> None:
    """Learn from a contact at t that has stored or confirmed a copy with this expiry."""
    contact_site(sites, truth, object_, t)
    sites.current_s[stream] = t
    sites.chance[stream] = least_chance_of(
        known.updates_in_history(object_), known.history_s(object_, t), expiry_s - t, sites.least
    )


def is_outdated(sites: SiblingColumns, truth: Truth, object_: int, stream: int) -> bool:
    """Whether a sibling's change has outdated a copy, at least with its probability. As `Siblings.outdating`."""
    site, current_s = truth.group_of[object_], sites.current_s[stream]
    if sites.latest_s[site] <= current_s:
        return False
    directory = sites.directory_of[object_]
    same = _chance(sites, site, directory, object_, SAME)
    other = _chance(sites, site, directory, object_, OTHER)
    for place in range(min(sites.found[site], CHANGES_KEPT)):
        changed = sites.changed[site, place]
        if sites.update_s[site, place] > current_s and changed != object_:
            has = same if sites.directory_of[changed] == directory else other
            if has >= sites.chance[stream]:
                return True
    return False


def _chance(sites: SiblingColumns, site: int, directory: int, object_: int, column: int) -> float:
    of_site, of_directory, own = sites.of_site[site], sites.of_directory[directory], sites.of_object[object_]
    return chance(
        of_site[column], of_site[column + 1], of_directory[column], of_directory[column + 1], own[column],
        own[column + 1],
    )

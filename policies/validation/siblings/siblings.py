"""What is known of a site: the latest changes of its objects, and which of them change together."""

from collections.abc import Iterator
from typing import NamedTuple

from bestbefore.policies.validation.siblings.changes import SiteChange, SiteChanges, directory_of
from bestbefore.policies.validation.siblings.trials import Chances, Trials, chances, trials

NAMES_KEPT = 4096
"""For how many objects, and as many directories, of a site trials are kept: those counted last."""
NO_TRIALS = Trials()


class Lesson(NamedTuple):
    """What a contact with an object adds to what is known of its site."""

    name: str
    found: Trials
    changed_s: float | None
    """When the object changed; None if it was unchanged."""


class Siblings:
    """The objects of one site, and which of them change together.

    What several processes have learnt of a site is the sum of what each has (`join`).
    """

    __slots__ = ("by_directory", "by_name", "changes", "of_site")

    def __init__(self) -> None:
        self.changes = SiteChanges()
        self.of_site = NO_TRIALS
        self.by_directory: dict[str, Trials] = {}
        self.by_name: dict[str, Trials] = {}

    def contact(self, name: str, previous_s: float, changed_s: float | None) -> Lesson | None:
        """Learn from a contact with an object: whether it changed with its siblings, and that it changed.

        `previous_s` is the time of the contact before; `changed_s` the Last-Modified of the change found since, None if
        the object was unchanged. Returns what was learnt; None if nothing.
        """
        found = NO_TRIALS
        if self.changes.latest_s > previous_s:
            found = trials(self.changes.of_siblings(name, previous_s), directory_of(name), changed_s)
        if changed_s is None and found == NO_TRIALS:
            return None
        lesson = Lesson(name, found, changed_s)
        self.learn(lesson)
        return lesson

    def learn(self, lesson: Lesson) -> None:
        """Add what a contact has shown."""
        name, found, changed_s = lesson
        directory = directory_of(name)
        if found != NO_TRIALS:
            self.of_site = self.of_site.plus(found)
            _add(self.by_directory, directory, found)
            _add(self.by_name, name, found)
        if changed_s is not None:
            self.changes.add(SiteChange(changed_s, name, directory))

    def join(self, others: "Siblings") -> None:
        """Add what was learnt elsewhere, from other contacts."""
        self.of_site = self.of_site.plus(others.of_site)
        for mine, more in ((self.by_directory, others.by_directory), (self.by_name, others.by_name)):
            for key, found in more.items():
                _add(mine, key, found)
        for change in others.changes:
            self.changes.add(change)

    def outdating(self, name: str, current_s: float, least: float) -> SiteChange | None:
        """Return the change since `current_s` that has changed this object too with at least this chance; None if none.

        The latest of the most probable ones. The copies of an object are not concerned by its own changes.
        """
        if self.changes.latest_s <= current_s:
            return None
        directory = directory_of(name)
        chance = self._chances(name, directory)
        found, found_chance = None, least
        for change in self.changes.of_siblings(name, current_s):
            has = chance.same if change.directory == directory else chance.other
            if has >= found_chance:
                found, found_chance = change, has
        return found

    def names(self) -> Iterator[str]:
        """Return the names of all objects of which something is kept."""
        yield from self.by_name
        yield from (change.name for change in self.changes)

    def _chances(self, name: str, directory: str) -> Chances:
        own, of_directory = self.by_name.get(name, NO_TRIALS), self.by_directory.get(directory, NO_TRIALS)
        return chances(self.of_site, of_directory, own)


def _add(counts: dict[str, Trials], key: str, found: Trials) -> None:
    """Add to the counts of a key, which thereby becomes the one counted last; remove the one counted first."""
    counts[key] = counts.pop(key, NO_TRIALS).plus(found)
    if len(counts) > NAMES_KEPT:
        del counts[next(iter(counts))]

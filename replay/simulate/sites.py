"""The sites of a replay: which objects of a group change together, as contacts show it."""

from collections import defaultdict
from typing import Self

from bestbefore.policies.validation.siblings.siblings import Siblings
from bestbefore.replay.simulate.complete import CompleteHistories
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Scenario


class ReplayedSites:
    """The siblings of each object of a scenario, those of its group, as the contacts of all caches show them."""

    def __init__(self, truth: CompleteHistories, *, tells_times: bool) -> None:
        """`tells_times`: whether a contact shows when the object last changed. Else nothing is learnt."""
        self._truth = truth
        self._tells_times = tells_times
        self._sites: defaultdict[str, Siblings] = defaultdict(Siblings)
        self._contacted_s: dict[str, float] = {}
        """The time of the last contact with each object."""

    @classmethod
    def at_test_start(cls, scenario: Scenario) -> Self:
        """Return the sites at the test start, with the contacts by which histories are learnt before it."""
        warmup = scenario.warmup
        sites = cls(scenario.truth, tells_times=warmup is None or warmup.tells_times)
        if scenario.contacts_before is not None:
            for r, _, name in scenario.contacts_before.rows():
                sites.contact(name, r)
        elif warmup is not None and warmup.warm is Warm.COMPLETE:
            sites._contacted_s = dict.fromkeys(scenario.truth.histories, warmup.test_start_s)
        return sites

    def contact(self, name: str, t: float) -> None:
        """Learn from a contact with an object at t."""
        previous_s = self._contacted_s.get(name)
        self._contacted_s[name] = t
        if previous_s is None or not self._tells_times:
            return
        last_s = self._truth.history(name).last_update_s(t)
        changed_s = last_s if last_s is not None and last_s > previous_s else None
        self._site(name).contact(name, previous_s, changed_s)

    def outdated(self, name: str, current_s: float, least: float) -> bool:
        """Whether a sibling's change has outdated a copy that was current at `current_s`, at least this probably."""
        return self._site(name).outdating(name, current_s, least) is not None

    def _site(self, name: str) -> Siblings:
        return self._sites[self._truth.grouping.group_of(name)]

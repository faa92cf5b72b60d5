"""A schedule without a plan: of many objects the next to contact, from contact to contact.

An object is due when its index reaches the price of a contact (`index`). After each contact its estimate is put again,
with what the contact has shown, and from it follows when it is due next. Nothing else is planned.

The price is that at which the objects, each at its constant mean rate, have as many contacts as the budget allows;
where more or fewer become due (`pace`), it is solved for as much less or more. So it follows objects that come and go,
rates, and budgets.

An object waits in a queue until a lower price than the present one would be reached, and only then is the moment
solved at the present price. So a change of the price costs nothing at once, unless it falls by half: then all objects
are queued again.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bestbefore.policies.models.clockwork.beats import Clockwork
from bestbefore.policies.prefetch.online.clock_due import BeatRates, due_after_beat
from bestbefore.policies.prefetch.online.due_queue import DueQueue
from bestbefore.policies.prefetch.online.estimate import Columns, Estimates, ScheduleEstimate
from bestbefore.policies.prefetch.online.expectation import (
    Expectation,
    cost_per_hour,
    expected,
    log_price_for_budget,
    log_price_for_target,
)
from bestbefore.policies.prefetch.online.index import INDEXES
from bestbefore.policies.prefetch.online.pace import Pace
from bestbefore.policies.prefetch.online.week import WeekRates
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray, IntArray

LEAST_SHARE = 0.2
"""The least rate of an hour in an index, as a share of the mean rate, so that it stays bounded in quiet hours."""
LOWER = 0.5
"""The part of the price at which an object is looked at again."""
AGAIN = 0.5
"""An object that is not due yet is looked at again after this part of the time since its contact, or when it is due:
the price may have fallen by then, and what never reaches it now may reach that."""
MOST_OFTEN_S = 60.0
AT_ONCE = 256
"""The objects whose due times are solved in one array, which then fits the processor cache."""
OF_UPCOMING = 4
"""Of so many times the wanted objects, those queued first, the due times are solved to find the earliest."""
MISSED_BY = 1e-3
"""A target is out of reach if so much of it is missing, relative to it where it is a time."""
LEAST_CONTACTS = 1e-6
"""Per hour; fewer are not expected."""
GROWTH = 1.25
"""The growth of the number of objects, and the change of their weights, at which the price is set again, and that of
the budget at which the pace begins again."""


class TargetBudget(NamedTuple):
    """What a target takes."""

    per_hour: float
    """The budget."""
    best: float | None
    """The best value that the limits of the objects allow; None if they allow the target."""


class Schedule:
    """The contacts of objects, numbered by slots from 0; times are Unix seconds.

    A slot that was taken is not due again until it is put again or postponed.
    """

    def __init__(self, objective: str, budget_per_hour: float, now_s: float, period_s: float = DAY_S) -> None:
        """Start without objects; `objective` is a name of `INDEXES`, and the budget holds over `period_s`."""
        self._index = INDEXES[objective]
        self._columns = Columns()
        self._queue = DueQueue()
        self._hastened: set[int] = set()
        self._kept_s: dict[int, float] = {}
        """The times until which objects were postponed, and to which they were hastened."""
        self._counted: set[int] = set()
        """The objects that became due and were not put since: an object that was postponed becomes due only once."""
        self._budget_per_hour = budget_per_hour
        self._pace = Pace(period_s, now_s)
        self._size = 0
        """The number of objects."""
        self._weight = 0.0
        """The sum of the weights of all objects."""
        self._priced = 0, 0.0
        """The number of objects and the sum of weights when the price was set."""
        self._log_price = math.nan
        """NaN before the first object."""
        self._most_queued = math.inf
        """The highest price at which an object is queued."""

    def __len__(self) -> int:
        return self._size

    @property
    def price(self) -> float:
        """The index at which objects are due."""
        return math.exp(self._log_price)

    def put(self, slot: int, estimate: ScheduleEstimate) -> None:
        """Add an object, or go on with another estimate of it. O(log n)."""
        self.put_many((slot,), (estimate,))

    def put_many(self, slots: Sequence[int], estimates: Sequence[ScheduleEstimate]) -> None:
        """Add objects, or go on with other estimates of them."""
        self.put_all(np.array(slots, dtype=np.intp), Estimates.of(estimates))

    def put_all(self, slots: IntArray, estimates: Estimates) -> None:
        """Add different objects, or go on with other estimates of them, in one pass."""
        columns = self._columns
        columns.reserve(int(slots.max(initial=-1)) + 1)
        was_live = columns.live[slots]
        self._weight -= float(columns.weights[slots[was_live]].sum(dtype=np.float64))
        self._size += int(np.count_nonzero(~was_live))
        new = ~was_live & self._pace.has_begun(estimates.contact_s)
        # they become due half an interval later than others, on average, for which the price must not fall
        self._pace.count(0.5 * float(estimates.costs[new].sum()))
        columns.set(slots, estimates)
        self._weight += float(columns.weights[slots].sum(dtype=np.float64))
        numbers = slots.tolist()
        self._counted.difference_update(numbers)
        for slot in numbers:
            self._let_go(slot)
        self._queue.put_all(slots, self._queued_until_s(slots))

    def remove(self, slot: int) -> None:
        """Forget an object."""
        if self._columns.live[slot]:
            self._size -= 1
            self._weight -= float(self._columns.weights[slot])
        self._columns.live[slot] = False
        self._columns.clockworks.pop(slot, None)
        self._let_go(slot)
        self._counted.discard(slot)
        self._queue.remove(slot)

    def next_s(self) -> float | None:
        """Return when `take` may have an object, at the earliest; None if it will have none."""
        if math.isnan(self._log_price) and self._queue:
            return -math.inf  # unknown until it has set the price
        first = self._queue.first()
        return first[0] if first is not None and first[0] < math.inf else None

    def take(self, now_s: float) -> int | None:
        """Return an object that is due, the one due first; None if none is. It leaves the queue. O(log n)."""
        slot = self._first_due(now_s)
        if slot is not None:
            self._let_go(slot)
            self._queue.remove(slot)
        return slot

    def defer(self, now_s: float, until_s: float, most: int) -> None:
        """Queue what is due again for `until_s`, before which no contact is possible; at most so many objects.

        They count as due now: else the price would fall as long as no contact is possible.
        """
        for _ in range(most):
            slot = self._first_due(now_s)
            if slot is None:
                return
            self.postpone(slot, until_s)

    def _first_due(self, now_s: float) -> int | None:
        """Return the object due first, which stays in the queue."""
        if self.is_price_due(now_s):
            self.set_price(now_s)
        while (first := self._queue.first()) is not None and first[0] <= now_s:
            slot = first[1]
            due_s = now_s if slot in self._hastened else self.due_s(slot, now_s)
            if due_s <= now_s:
                if slot not in self._counted:
                    self._counted.add(slot)
                    self._pace.count(float(self._columns.costs[slot]))
                return slot
            self._kept_s.pop(slot, None)
            waited_s = now_s - float(self._columns.contact_s[slot])
            self._queue.put(slot, min(due_s, now_s + max(AGAIN * waited_s, MOST_OFTEN_S)))
        return None

    def postpone(self, slot: int, until_s: float) -> None:
        """Queue an object that was taken and not contacted; it is looked at again then."""
        self._kept_s[slot] = until_s
        self._queue.put(slot, until_s)

    def hasten(self, slot: int, at_s: float) -> None:
        """Make an object due at a time, whatever its index."""
        self._hastened.add(slot)
        self._kept_s[slot] = at_s
        self._queue.put(slot, at_s)

    def due_s(self, slot: int, from_s: float) -> float:
        """Return when an object will be due at the present price and without another contact, not before `from_s`."""
        return float(self._due_s(np.array([slot]), self.price, np.array([from_s]))[0])

    def contact_s(self, slot: int) -> float:
        """Return the last contact with an object, as it was put."""
        return float(self._columns.contact_s[slot])

    def rate_per_hour(self, slot: int) -> float:
        """Return the rate of an object, as it was put."""
        return float(self._columns.rates[slot])

    def clockwork(self, slot: int) -> Clockwork | None:
        """Return the beats of an object, as they were put."""
        return self._columns.clockworks.get(slot)

    def upcoming(self, most: int, now_s: float) -> list[tuple[int, float]]:
        """Return the objects due next and when, at the present price; those due before `now_s` are due then. O(n)."""
        if math.isnan(self._log_price):
            return []
        slots = self._queue.earliest(OF_UPCOMING * most)
        due_s = self._due_s(slots, self.price, np.full(slots.size, now_s))
        order = np.argsort(due_s, kind="stable")[:most]
        found = zip(slots[order].tolist(), due_s[order].tolist(), strict=True)
        return sorted(((slot, self._kept_s.get(slot, at_s)) for slot, at_s in found), key=lambda one: one[1])

    def budget_for(self, measure: str, value: float) -> TargetBudget:
        """Return the budget at which `freshness`, or `age` or `delay` in seconds, is expected to be this."""
        guess = 0.0 if math.isnan(self._log_price) else self._log_price
        log_price = log_price_for_target(self._columns, self._index, measure, value, guess)
        found = expected(self._columns, self._index, log_price)
        reached = found.value(measure)
        is_missed = reached < value - MISSED_BY if measure == "freshness" else reached > value * (1.0 + MISSED_BY)
        return TargetBudget(found.cost_per_hour, reached if is_missed else None)

    def set_budget(self, per_hour: float, now_s: float) -> None:
        """Go on with another budget."""
        if per_hour == self._budget_per_hour and not self.is_price_due(now_s):
            return
        if not 1.0 / GROWTH < per_hour / self._budget_per_hour < GROWTH:
            self._pace.budget_changed()
        self._budget_per_hour = per_hour
        self.set_price(now_s)

    def is_price_due(self, now_s: float) -> bool:
        """Whether it is time to set the price again: `take` does it then, if it was not done."""
        size, weight = self._priced
        has_grown = self._size > GROWTH * size or not weight / GROWTH <= self._weight <= weight * GROWTH
        return self._size > 0 and (has_grown or self._pace.is_over(now_s))

    def expected(self) -> Expectation:
        """Return what the present price brings at constant rates. O(n)."""
        return expected(self._columns, self._index, self._log_price)

    def _next_part(self, now_s: float) -> None:
        columns = self._columns
        mean_cost = float(columns.costs[columns.live].mean()) if self._size else 1.0
        contacts = cost_per_hour(columns, self._index, self._log_price) / mean_cost
        self._pace.next_part(now_s, self._budget_per_hour, HOUR_S * self._size / max(contacts, LEAST_CONTACTS))

    def _let_go(self, slot: int) -> None:
        self._hastened.discard(slot)
        self._kept_s.pop(slot, None)

    def _queued_until_s(self, slots: IntArray) -> FloatArray:
        """(n,) when objects are due at the lower price, at which they are queued; without a price never."""
        contact_s = self._columns.contact_s[slots]
        if math.isnan(self._log_price):
            return np.full(slots.size, math.inf)  # until the price is set
        self._most_queued = max(self._most_queued, LOWER * self.price)
        due_s = np.empty(slots.size)
        for start in range(0, slots.size, AT_ONCE):
            part = slice(start, start + AT_ONCE)
            due_s[part] = self._due_s(slots[part], LOWER * self.price, contact_s[part])
        return due_s

    def _due_s(self, slots: IntArray, price: float, from_s: FloatArray) -> FloatArray:
        """(n,) when objects are due at a price, not before `from_s` (n,) and within their limits."""
        columns = self._columns
        rates, contact_s = columns.rates[slots].astype(np.float64), columns.contact_s[slots]
        earliest = np.maximum(from_s, contact_s + columns.shortest_s[slots])
        latest = np.maximum(earliest, contact_s + columns.longest_s[slots])
        weights = self._index.weighted(rates, columns.weights[slots].astype(np.float64))
        prices, thetas = price * columns.costs[slots, None].astype(np.float64), columns.thetas[slots, None]
        beating = self._beating(slots)
        at_beats = np.zeros(slots.size)
        for i, clockwork in beating:
            at_beats[i] = clockwork.share * rates[i]
        week = WeekRates(rates - at_beats, columns.hours[slots], columns.weekends[slots])
        of_hours = (rates - at_beats)[:, None] * np.maximum(week.relative, LEAST_SHARE)
        waiting = self._index.waiting(of_hours, weights[:, None], prices)
        waiting = np.where(thetas > 0.0, thetas, waiting)
        due_s = week.first_reaching(waiting, contact_s, earliest)
        for i, clockwork in beating:
            beats = BeatRates(clockwork, at_beats[i], week.relative[i])
            after_s = due_after_beat(self._index.cost, beats, weights[i], float(prices[i, 0]), contact_s[i])
            due_s[i] = min(due_s[i], max(after_s, earliest[i]))
        return np.minimum(due_s, latest)

    def _beating(self, slots: IntArray) -> list[tuple[int, Clockwork]]:
        """Return the places in `slots` of the objects that are contacted after their beats, and these."""
        columns = self._columns
        if not columns.clockworks:
            return []
        found = ((i, columns.clockworks.get(slot)) for i, slot in enumerate(slots.tolist()) if not columns.thetas[slot])
        return [(i, clockwork) for i, clockwork in found if clockwork is not None]

    def set_price(self, now_s: float) -> None:
        """Solve the price again, O(n); queue all objects again if it has fallen below what they were queued at."""
        if not self._size:
            return
        guess = 0.0
        if not math.isnan(self._log_price):
            guess = self._log_price
            if self._pace.is_over(now_s):
                self._next_part(now_s)
        correction = self._pace.correction
        wanted = self._budget_per_hour / correction
        self._log_price = log_price_for_budget(self._columns, self._index, wanted, guess, is_least=correction <= 1.0)
        self._weight = float(self._columns.weights[self._columns.live].sum())
        self._priced = self._size, self._weight
        if not self.price >= self._most_queued:
            self._queue_again()

    def _queue_again(self) -> None:
        """Queue all objects that are queued at the present price."""
        slots = self._queue.slots()
        self._most_queued = 0.0
        self._queue.fill(slots, self._queued_until_s(slots))
        for slot, at_s in self._kept_s.items():
            self._queue.put(slot, at_s)

"""The summary of a plan in sentences and tables."""

import math
from collections import Counter

import numpy as np

from bestbefore.addon.admin.units import counted, span
from bestbefore.policies.models.renewal.fit import REJECTED
from bestbefore.policies.prefetch.allocation import objectives
from bestbefore.policies.prefetch.table import OBJECTIVES
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray
from bestbefore.replay.planning.laws import name_of
from bestbefore.replay.planning.moments import Punctuality
from bestbefore.replay.planning.plan import BASELINES, ContactPlan, baseline_plan, means
from bestbefore.replay.planning.slotted import Slotted, shown_slots
from bestbefore.replay.report.formatting import aligned, percent

SHOWN = 5
"""The number of objects shown that gain most over a uniform plan, and of those that lose most."""
ID_CHARACTERS = 48
"""The most characters of an id that are shown."""
SLOTS_AWAY = (1, 5, 20, 100)
"""The distances from the ideal time, in slots, for which shares of contacts are shown."""
NEVER = "without end"
"""The text for an infinite age or delay."""


def summary(plan: ContactPlan, punctuality: Punctuality | None, slotted: Slotted | None) -> str:
    """Summarise a plan: values compared with the baselines, objects without contacts, largest changes, and times."""
    blocks = [_heading(plan), _laws(plan), _measures(plan), _given_up(plan), _changes(plan)]
    if punctuality is not None:
        blocks.append([
            f"If updates keep to their hours of the day, one waits {span(HOUR_S * punctuality.at_points_h)} on average "
            f"at contacts that follow them, {span(HOUR_S * punctuality.evenly_h)} at evenly spaced ones."
        ])
    if slotted is not None:
        blocks.append(slots_shown(slotted))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def period_shown(period_s: float) -> str:
    """The period as text: a unit such as `day`, or a duration."""
    names = {60.0: "minute", HOUR_S: "hour", DAY_S: "day", 7 * DAY_S: "week"}
    return names.get(period_s, span(period_s))


def unused_shown(budget: float, spent: float, *, limited: bool) -> str:
    """How much of a budget is not spent, and why, as text; empty if all is. `limited`: domains have a maximum."""
    if spent >= budget * (1.0 - 1e-6):
        return ""
    why = "are above what the domains may have, or would gain nothing" if limited else "would gain nothing"
    return f", of which {budget - spent:,.6g} {why}"


def _heading(plan: ContactPlan) -> list[str]:
    objects, aim, period = plan.objects, plan.aim, period_shown(plan.aim.period_s)
    spent = float(plan.contacts.sum())
    unused = unused_shown(aim.budget, spent, limited=objects.owners is not None)
    whole = f" in whole numbers, boundary {aim.boundary}" if aim.discrete else ""
    if objects.since is not None:
        whole = " in whole numbers, after the contacts made"
    return [
        f"{counted(len(objects), 'object')} with {objects.rates.sum():,.6g} updates per {period}; "
        f"{aim.budget:,.6g} contacts per {period}{unused}; planned for {aim.objective}{whole}"
    ]


def _laws(plan: ContactPlan) -> list[str]:
    objects = plan.objects
    if not objects.laws and objects.misfit is None:
        return []
    kinds = Counter({name_of(None): len(objects) - len(objects.laws)})
    kinds.update(map(name_of, objects.laws.values()))
    parts = [f"laws of updates: {', '.join(f'{number:,} {name}' for name, number in kinds.most_common() if number)}"]
    if objects.misfit is not None:
        judged = objects.misfit[np.isfinite(objects.misfit)]
        parts.append(
            f"  fitted to {counted(judged.size, 'object')} with three updates or more; {(judged > REJECTED).sum():,} "
            f"lie far from their law (A^2 of Anderson and Darling above {REJECTED}); empirical: as the intervals seen, "
            "where no other law comes near"
        )
    return parts


def _measures(plan: ContactPlan) -> list[str]:
    """A table of this plan and the baselines by all measures, and the gains over the baselines."""
    period_s, aim = plan.aim.period_s, plan.aim
    plans = {"this plan": plan, **{name: baseline_plan(name, plan) for name in BASELINES}}
    found = {name: means(one) for name, one in plans.items()}
    rows = [
        [name, f"{mean['freshness']:.4g}", waited_shown(mean["age"] * period_s), waited_shown(mean["delay"] * period_s)]
        for name, mean in found.items()
    ]
    lines = list(aligned([["", "freshness", "age", "delay"], *rows], words=1))
    own = found["this plan"][aim.objective]
    parts = [_better(aim.objective, own, found[name][aim.objective], name) for name in BASELINES]
    lines += ["", f"{aim.objective}: {', '.join(parts)}"]
    if plan.objects.requests is not None:
        wrong = {name: percent(_embarrassment(one)) for name, one in plans.items()}
        others = ", ".join(f"{wrong[name]} if {name}" for name in BASELINES)
        lines.append(f"embarrassment: {wrong['this plan']} of requests get a wrong answer ({others})")
    if any(math.isinf(value) for mean in found.values() for value in mean.values()):
        lines.append(f"({NEVER}: an object that changes is never contacted, and its copy grows ever older)")
    return lines


def _embarrassment(plan: ContactPlan) -> float:
    """The share of requests that get a wrong answer, by the requests by which the weights were multiplied."""
    requests = plan.objects.requests
    assert requests is not None
    stale = 1.0 - plan.values("freshness")
    return float(plan.objects.weights @ stale / requests.sum())


def waited_shown(seconds: float) -> str:
    """An age or a delay as text."""
    return NEVER if math.isinf(seconds) else span(seconds)


def _better(objective: str, own: float, other: float, name: str) -> str:
    if own == other:
        return f"as {name}"
    if math.isinf(own) or math.isinf(other) or not other:
        return f"{waited_shown(other)} under {name}"
    greatest = OBJECTIVES[objective].greatest
    gain = own / other - 1.0 if greatest else 1.0 - own / other
    more, less = ("higher", "lower") if greatest else ("less", "more")
    return f"{percent(abs(gain))} {more if gain >= 0.0 else less} than {name}"


def _given_up(plan: ContactPlan) -> list[str]:
    """Count the objects without a contact, by reason."""
    objects, period = plan.objects, period_shown(plan.aim.period_s)
    nothing = plan.contacts == 0.0
    if not nothing.any():
        return ["no object is without a contact"]
    unchanging, weightless = objects.rates == 0.0, objects.weights == 0.0
    barred = np.zeros(len(objects), dtype=np.bool_) if objects.maximum is None else objects.maximum == 0.0
    rest = nothing & ~(unchanging | weightless | barred)
    fresh_anyway = rest & (_without_contacts(plan) >= 0.5)
    given_up = rest & ~fresh_anyway
    lines = [f"{nothing.sum():,} of {counted(len(objects), 'object')} without a contact:"]
    for which, why in (
        (unchanging, "never change"),
        (weightless & ~unchanging, "have the weight 0"),
        (barred & ~unchanging & ~weightless, "have the maximum 0"),
        (fresh_anyway, f"are mostly current to the end of the {period} without a contact"),
    ):
        if number := int((which & nothing).sum()):
            lines.append(f"  {number:,} {why}")
    if number := int(given_up.sum()):
        share = float(objects.rates[given_up].sum()) / float(objects.rates.sum())
        least = float((objects.rates[given_up] / objects.weights[given_up]).min())
        lines.append(
            f"  {number:,} given up, with {percent(share)} of all updates: they change so often for their weight that"
        )
        lines.append(
            f"    contacts gain more elsewhere (the slowest: {least:.4g} updates per {period} and unit of weight)"
        )
    return lines


def _without_contacts(plan: ContactPlan) -> FloatArray:
    """(n,) the freshness of each object without contacts."""
    if plan.objects.since is None and plan.aim.boundary == "periodic":
        return np.zeros(len(plan.objects))
    return objectives.freshness(plan.objects.rates, np.ones(len(plan.objects)))


def _changes(plan: ContactPlan) -> list[str]:
    """Tables of the objects whose weighted objective differs most from that of a uniform plan."""
    objects, aim = plan.objects, plan.aim
    uniform = baseline_plan("uniform", plan)
    own, other = plan.values(aim.objective), uniform.values(aim.objective)
    with np.errstate(invalid="ignore"):
        gains = objects.weights * (own - other if OBJECTIVES[aim.objective].greatest else other - own)
    gains = np.nan_to_num(gains, nan=0.0)
    number = min(SHOWN, len(gains) // 2)
    if not number or not gains.any():
        return []
    ends = np.argpartition(gains, [number - 1, len(gains) - number])
    best = sorted(ends[len(gains) - number :].tolist(), key=lambda row: -gains[row])
    worst = sorted(ends[:number].tolist(), key=lambda row: gains[row])
    period = period_shown(aim.period_s)
    head = ["id", f"updates per {period}", "weight", "contacts: uniform", "plan", f"{aim.objective}: uniform", "plan"]
    lines: list[str] = []
    for what, rows in (("gain most over a uniform plan", best), ("lose most", worst)):
        cells = [
            [_short(objects.ids[row]), _number(objects.rates[row]), _number(objects.weights[row]),
             _number(uniform.contacts[row]), _number(plan.contacts[row]),
             *(_value(plan, row, values[row]) for values in (other, own))]
            for row in rows if (gains[row] > 0.0 if rows is best else gains[row] < 0.0)
        ]
        if cells:
            lines += [f"those that {what}", *(f"  {line}" for line in aligned([head, *cells], words=1))]
    return lines


def slots_shown(slotted: Slotted) -> list[str]:
    """Lines on the slots of contacts, and their distances from the ideal times."""
    away = np.abs(slotted.late_slots)
    lengths = dict.fromkeys(span(slotted.period_s / slots) for slots in slotted.slots)
    lines = [
        f"{away.size:,} contacts in {shown_slots(slotted.slots)} slots of {' and '.join(lengths)}"
        + (f"; from the best moment: mean {away.mean():.3g} slots, largest {away.max():,.3g}" if away.size else "")
    ]
    if away.size:
        shares = [f"{percent(float((away <= slots).mean()))} within {slots}" for slots in SLOTS_AWAY]
        lines.append(f"  {', '.join(shares)} slots")
    return lines


def _short(name: str) -> str:
    return name if len(name) <= ID_CHARACTERS else f"{name[: ID_CHARACTERS - 3]}..."


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1e5 <= value < 1e15 else f"{value:,.4g}"


def _value(plan: ContactPlan, row: int, value: float) -> str:
    """Format the value of the objective for an object; for delay, the mean delay of one update."""
    match plan.aim.objective:
        case "freshness":
            return f"{value:.4g}"
        case "delay":
            return waited_shown(value / float(plan.objects.rates[row]) * plan.aim.period_s)
        case _:
            return waited_shown(value * plan.aim.period_s)

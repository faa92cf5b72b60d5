"""The outlook on background fetches as text, for `bestbefore plan --live` and the dashboard."""

import math
from collections.abc import Iterator

from bestbefore.addon.admin.sanitize import plain_text, plain_word
from bestbefore.addon.admin.show import trouble_text
from bestbefore.addon.admin.units import counted, span, utc
from bestbefore.addon.prefetcher.outlook import LISTED, Means, Outlook, target_text
from bestbefore.policies.prefetch.online.estimate import SHORTEST_S
from bestbefore.policies.prefetch.online.expectation import LOG_PRICES

END = 0.9
"""The part of the range of log prices beyond which a price is at its end, alone or in a mean of several proxies."""


def plan_text(plan: Outlook, now_s: float) -> str:
    """Return the outlook in printable ASCII, without a final newline. The reason follows each fetch."""
    lines, objects = [], counted(plan.objects, "object")
    if plan.proxies:
        proxies = "1 proxy" if plan.proxies == 1 else f"{plan.proxies} proxies"
        workers = f" with {plan.workers} workers" if plan.workers > plan.proxies else ""
        lines += [
            f"schedule    of {objects} in {proxies}{workers}, as of {utc(plan.made_s)}",
            f"due         {due_text(plan.price, plain_text(plan.objective))}",
            f"budget      {plan.budget_per_day:g} fetches a day, {plan.spent_today} made in the last 24 hours; "
            f"{plan.contacts_per_day:.4g} expected a day",
            *_target_lines(plan),
            f"expected    {_means(plan.expected)}",
            f"measured    {_means(plan.measured)}",
        ]
    else:
        lines.append(f"schedule    of {objects}, as it is stored: no proxy on this store prefetches now")
    if plan.watched:
        failing = f"{len(plan.troubled)} of them could not be fetched" if plan.troubled else "all are well"
        lines.append(f"watched     {counted(plan.watched, 'object')}; {failing}")
    for one in plan.troubled[:LISTED]:
        trouble = trouble_text(one.what, one.at_s, one.failures, one.again_s, now_s)
        lines.append(f"{'':>12}{plain_word(one.url)}: {trouble}")
    if plan.next:
        lines += ["", "time (UTC)            in      URL"]
    for fetch in plan.next:
        wait = span(fetch.due_s - now_s) if fetch.due_s > now_s else "waits"
        lines.append(f"{utc(fetch.due_s)}  {wait:<6}  {plain_word(fetch.url)}")
        lines.append(f"{'':>30}{plain_text(fetch.why)}")
    return "\n".join(lines)


def _target_lines(plan: Outlook) -> Iterator[str]:
    if plan.target and plan.target_per_day is not None:
        text = target_text(plan.target, plan.target_per_day, plan.target_best, plan.budget_per_day)
        yield f"target      {plain_text(text)}"


def due_text(price: float | None, objective: str) -> str:
    """Say when an object is due; at an end of the range of prices the index decides nothing."""
    if price is None:
        return f"at an index that is not known yet, for {objective}"
    least, most = (math.exp(END * log_price) for log_price in LOG_PRICES)
    if price < least:
        return f"whenever limits allow it, every {span(SHORTEST_S)} at most: the budget is ample"
    if price > most:
        return "at the longest intervals of the rules only: these take all of the budget"
    return f"at the index {price:.4g}, for {objective}"


def _means(means: Means) -> str:
    freshness = "unknown" if means.freshness is None else f"{means.freshness:.3f}"
    age, delay = ("unknown" if time_s is None else span(time_s) for time_s in (means.age_s, means.delay_s))
    return f"freshness {freshness}, age {age}, delay {delay}"

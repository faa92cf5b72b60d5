"""The domains that were requested since the start."""

from collections.abc import Callable, Mapping

from bestbefore.addon.admin.summary import RequestCounts
from bestbefore.addon.dashboard.pages.page import ROWS, Asked, PageView
from bestbefore.policies.validation.machinery.spec import params, spec_text

ORDERS: Mapping[str, Callable[[RequestCounts], float]] = {
    "requests": lambda counts: counts.requests,
    "hits": lambda counts: counts.hits,
    "contacts": lambda counts: counts.contacts,
    "unnecessary": lambda counts: counts.unnecessary,
    "updates": lambda counts: counts.updates,
    "saved": lambda counts: counts.saved_bytes,
}
MOST = 2_000


async def read(asked: Asked) -> PageView:
    """Return a page of the domains, in descending order of one of the counts."""
    counted, rules = asked.source.domains(), asked.source.config.rules
    order = asked.query.get("sort", "requests")
    by = ORDERS.get(order, ORDERS["requests"])
    ordered = sorted(counted.domains.items(), key=lambda item: (-by(item[1]), item[0]))
    start = asked.number("start", MOST)
    rows = [
        (domain, counts, spec_text(rule.policy.name, params(rule.policy)), rule.obey)
        for domain, counts in ordered[start : start + ROWS]
        for rule in [rules.rule_for(domain, "/")]
    ]
    return PageView(
        "domains.html",
        "Domains",
        {
            "rows": rows,
            "orders": tuple(ORDERS),
            "order": order if order in ORDERS else "requests",
            "start": start,
            "size": ROWS,
            "total": len(ordered),
            "rest": counted.rest.requests,
        },
    )

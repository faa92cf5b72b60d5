"""The domains that were requested since the start, and the origins that are down."""

from collections.abc import Callable, Mapping

from bestbefore.addon.admin.summary import RequestCounts
from bestbefore.addon.dashboard.pages.page import ROWS, Asked, PageView
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.reports.domains import domain_rates
from bestbefore.addon.rules import DomainRule, Rules
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
HOSTS = 3
"""The hosts of a domain whose rules and recommendations are shown."""


async def read(asked: Asked) -> PageView:
    """Return a page of the domains, in descending order of one of the counts."""
    counted, rules = asked.source.domains(), asked.source.config.rules
    order = asked.query.get("sort", "requests")
    by = ORDERS.get(order, ORDERS["requests"])
    ordered = sorted(counted.domains.items(), key=lambda item: (-by(item[1]), item[0]))
    start = asked.number("start", MOST)
    shown = ordered[start : start + ROWS]
    async with asked.source.store() as store:
        rates = await domain_rates(store, [domain for domain, _ in shown], asked.now_s)
    run = asked.comparison.last
    found = None if run is None else run.result
    named = _by_domain(rules)
    rows = [
        (
            domain, counts, [_shown(one) for one in (rules.rule_for(domain, "/"), *named.get(domain, ())[:HOSTS])],
            rates.get(domain), () if found is None else found.choices_for(domain)[:HOSTS],
        )
        for domain, counts in shown
    ]  # fmt: skip
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
            "down": sorted(counted.origins.failures.items(), key=lambda item: -item[1].number)[:ROWS],
            "compared": found is not None,
        },
    )


def _by_domain(rules: Rules) -> dict[str, list[DomainRule]]:
    """Return the rules for hosts or paths of each registrable domain, in their order."""
    found: dict[str, list[DomainRule]] = {}
    for rule in rules.domains:
        domain = registrable_domain(rule.match.host.text.removeprefix("*."))
        if rule.match.host.text != domain or rule.match.path is not None:  # else it is the rule for the domain itself
            found.setdefault(domain, []).append(rule)
    return found


def _shown(rule: DomainRule) -> tuple[str, str, str, str]:
    """Return the pattern, the name of the policy, its SPEC and `obey` of a rule."""
    return str(rule.match), rule.policy.name, spec_text(rule.policy.name, params(rule.policy)), rule.obey

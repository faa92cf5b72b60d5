"""The last requests, with how they were answered and why."""

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.dashboard.pages.page import Asked, PageView
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.rfc9111.message import Target

SHOWN = 100


async def read(asked: Asked) -> PageView:
    """Return the last requests that match the query."""
    seen = asked.recent.show()
    domain, outcome, text = (asked.query.get(name, "").strip() for name in ("domain", "outcome", "text"))
    found = [one for one in seen if _matches(one, domain.lower(), outcome, text.lower())]
    return PageView(
        "requests.html",
        "Requests",
        {
            "form": "requests_form.html",
            "rows": found[:SHOWN],
            "matching": len(found),
            "seen": len(seen),
            "domain": domain,
            "outcome": outcome,
            "text": text,
            "outcomes": [one.value for one in Outcome],
        },
        is_live=True,
    )


def _matches(one: Answered, domain: str, outcome: str, text: str) -> bool:
    if outcome and one.outcome != outcome:
        return False
    if text and text not in one.url.lower() and text not in one.reason.lower() and text != one.client:
        return False
    return not domain or domain in _domains_of(one.url)


def _domains_of(url: str) -> tuple[str, ...]:
    try:
        host = Target.parse(url).host
    except ValueError:  # the authority of a CONNECT
        host = url.rpartition(":")[0]
    return host, registrable_domain(host)

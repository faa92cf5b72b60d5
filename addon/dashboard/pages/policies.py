"""Policies side by side on the proxy's own traffic of the last days, as the last comparison has found them."""

from dataclasses import replace

from bestbefore.addon.dashboard.pages.page import Asked, PageView
from bestbefore.policies.validation.machinery.spec import params, spec_text

DAYS = (1, 3, 7, 14, 30)
RULES = 100
"""The most domains with a recommended rule that are listed."""


async def read(asked: Asked) -> PageView:
    """Return the comparison that runs, or the last one, and a form for another."""
    config, comparison = asked.source.config, asked.comparison
    run = comparison.last
    policy = config.rules.default.policy
    return PageView(
        "policies.html",
        "Policies",
        {
            "run": None if run is None else replace(run),
            "running": comparison.is_running,
            "steps": comparison.steps(),  # copies, as the page is rendered in a thread
            "logs": config.settings.traffic_log,
            "days": DAYS,
            "present": spec_text(policy.name, params(policy)),
            "rules": len(config.rules.domains),
            "choices": () if run is None or run.result is None else run.result.choices[: RULES + 1],
        },
        is_live=comparison.is_running,
    )


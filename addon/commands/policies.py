"""`bestbefore policies`: list the validation policies, with their parameters and defaults."""

import json
import sys
from collections.abc import Iterator

import click

from bestbefore.addon.config.domain_sections import LIVE_POLICIES
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS
from bestbefore.policies.validation.machinery.spec import params, spec_text, value_text
from bestbefore.policies.validation.table import POLICIES, forms_of


@click.command("policies")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per policy.")
def command(*, as_json: bool) -> None:
    """List the validation policies: each as a SPEC with all its parameters at their defaults, and what it does.

    After `or` follow the parameters that a policy can have in place of these.

    Durations take s, m, h or d; bare numbers are seconds. Each policy takes the keys of the last line too.

    \b
      bestbefore policies --json | jq -r .name
    """  # noqa: D301 - click keeps lines after a backspace
    for line in map(json.dumps, _objects()) if as_json else lines():
        click.echo(line)


def _objects() -> Iterator[dict[str, object]]:
    for name, policy in POLICIES.items():
        specs = [spec_text(name, params(form())) for form in forms_of(name)]
        yield {"name": name, "live": name in LIVE_POLICIES, "description": _first_line(policy), "specs": specs}


def lines() -> Iterator[str]:
    """Yield the lines of each policy, and one for the bounds that apply to all of them in a proxy."""
    for name, policy in POLICIES.items():
        yield spec_text(name, params(policy()))
        only = "" if name in LIVE_POLICIES else " (In replays only.)"
        yield f"    {_first_line(policy)}{only}"
        for form in forms_of(name)[1:]:
            yield f"  or {spec_text(name, params(form()))}"
    bounds = ",".join(f"{key}={value_text('ttl', key, value)}" for key, value in LIVE_DEFAULTS.items())
    yield f"each, with these defaults while a proxy runs and none in a replay:\n    {bounds}"


def _first_line(policy: type) -> str:
    """Return the first line of the docstring of the policy's file."""
    return (sys.modules[policy.__module__].__doc__ or "").partition("\n")[0]

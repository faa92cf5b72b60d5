"""A recommendation as a configuration file of the proxy, with the figures behind each rule as comments."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from bestbefore.addon.config.problems import printable
from bestbefore.addon.rules import HostPattern
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS
from bestbefore.policies.validation.machinery.spec import Value
from bestbefore.replay.recommend import LEAST_CACHED, LEAST_CHANGES, Choice, Recommendation, is_host, stale_rate
from bestbefore.replay.report.formatting import aligned, percent
from bestbefore.replay.report.forms import table
from bestbefore.replay.simulate.counts import Counts

WRITTEN = "# Written by bestbefore recommend."
"""The line by which a generated file is recognised."""
NAMED = 5
"""The most domains without a rule that are named."""
WIDTH = 100
"""The line width of comments and sentences, in characters."""
AT_BEST = "at best (oracle)"


def toml(recommendation: Recommendation, facts: Sequence[str]) -> str:
    """The configuration file; `facts` are lines that describe the replay."""
    return "\n".join(_lines(recommendation, facts)) + "\n"


def summary(recommendation: Recommendation) -> Iterator[str]:
    """Yield the lines of a table of the choices for all domains with their results."""
    choices = {**recommendation.domains, "[default]": recommendation.default}
    rows = [("domain", "policy", "cached", "stale", "validations", "then: cached", "stale", "validations", "at best")]
    for domain, choice in choices.items():
        at_best = f"{choice.bound.validations:,}"
        rows.append((domain, choice.point.spec, *_figures(choice.first), *_figures(choice.then), at_best))
    yield from aligned(rows, words=2)
    for text in _without_rule(recommendation.others):
        yield from textwrap.wrap(text, WIDTH)
    yield ""
    yield f"then, all {recommendation.followed.cached:,} requests that found a copy:"
    yield from _compared(recommendation)


def _figures(counts: Counts) -> tuple[str, str, str]:
    return f"{counts.cached:,}", percent(stale_rate(counts)), f"{counts.validations:,}"


def _lines(found: Recommendation, facts: Sequence[str]) -> Iterator[str]:
    asked = percent(found.largest_stale_rate)
    yield f"# The fewest validations with at most {asked} stale hits among the requests that find a copy."
    yield WRITTEN
    for fact in facts:
        yield from _comment(fact)
    yield "#"
    yield from _comment(
        f"In the second part, {found.followed.cached:,} requests found a copy: stale hits among them, and validations"
    )
    yield from (f"# {line}" for line in _compared(found))
    if of_forms := list(table(found)):
        yield "#"
        yield from (f"# {line}" for line in of_forms)
    yield ""
    yield "[default]"
    yield "# Chosen on all domains together, for those without a rule of their own."
    if not found.is_founded:
        yield from _comment(f"Beware: {unfounded(found)}.")
    yield from (line for text in _without_rule(found.others) for line in _comment(text))
    yield from _lines_of(found.default, found)
    yield from settings_lines(found.default.point.policy.name, found.default.point.written)
    # A domain rule would inherit these keys of [default], with which it was not replayed.
    inherited = {key: LIVE_DEFAULTS[key] for key in found.default.point.written if key in LIVE_DEFAULTS}
    for domain, choice in found.domains.items():
        yield ""
        yield "[[domain]]"
        yield f"match = {json.dumps(HostPattern.parse(domain).text)}"
        yield from _lines_of(choice, found)
        yield from settings_lines(choice.point.policy.name, {**inherited, **choice.point.written})


def _compared(found: Recommendation) -> Iterator[str]:
    """Yield the results in the second part with this file, without a file, and of the oracle."""
    for who, counts in (
        ("with this file", found.followed),
        (_without(found), found.unconfigured),
        (AT_BEST, found.default.bound),
    ):
        yield f"  {who:<17} {_result_text(counts, found)}"
    if found.is_better_unconfigured:
        yield "  Beware: in the second part the proxy did better without this file."


def _without(found: Recommendation) -> str:
    return "as it is now" if found.in_use.rules else f"without ({found.present.point.spec})"


def unfounded(found: Recommendation) -> str:
    """Return the remark that the choice for all domains together has too little data."""
    return (
        "the choice for all domains together is little more than a guess: in the first part "
        f"{found.default.first.cached:,} requests found a copy and {found.changes:,} of them met a change, where "
        f"{LEAST_CACHED} and {LEAST_CHANGES} are the least for a choice"
    )


def _without_rule(domains: Sequence[str]) -> Iterator[str]:
    """Yield a sentence on the domains without their own rule, and the reason, if there are any."""
    if domains:
        named = ", ".join(map(_domain_shown, domains[:NAMED]))
        more = f" and {len(domains) - NAMED:,} more" if len(domains) > NAMED else ""
        yield (
            f"Too little data (in the first part, fewer than {LEAST_CACHED} requests that found a copy, or fewer than "
            f"{LEAST_CHANGES} of them that met a change), or no host: {named}{more}."
        )


def _domain_shown(domain: str) -> str:
    if not domain:
        return "objects without a host"
    return domain if is_host(domain) else printable(domain)


def _lines_of(choice: Choice, found: Recommendation) -> Iterator[str]:
    if not choice.reached:
        asked = percent(found.largest_stale_rate)
        yield f'# No candidate keeps to {asked}: this is the nearest. (policy = "always" does: it validates each time.)'
    for part, counts in (("first part:", choice.first), ("second part:", choice.then)):
        yield f"# {part:<12} {counts.cached:,} found a copy: {_result_text(counts, found)}"
    yield f"# {AT_BEST}: {_result_text(choice.bound, found)}"


def _result_text(counts: Counts, found: Recommendation) -> str:
    rate = stale_rate(counts)
    above = f", more than {percent(found.largest_stale_rate)}" if rate > found.largest_stale_rate else ""
    share = percent(counts.validations / counts.cached) if counts.cached else percent(0.0)
    return f"{percent(rate)} stale{above}; {counts.validations:,} validations, {share}"


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in textwrap.wrap(text, WIDTH))


def settings_lines(policy: str, parameters: Mapping[str, Value]) -> Iterator[str]:
    """Yield the lines of TOML that set a policy and its parameters."""
    yield f"policy = {json.dumps(policy)}"
    for key, value in parameters.items():
        yield f"{key} = {_toml_value(key, value)}"


def _toml_value(key: str, value: Value) -> str:
    """Return a parameter, text of a SPEC or a value, as TOML."""
    if key == "fallback":
        rules = value.split("+") if isinstance(value, str) else value
        return json.dumps([] if rules == ["none"] else rules)
    try:
        return repr(float(str(value)))
    except ValueError:
        return json.dumps(value)

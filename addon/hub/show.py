"""The state of a channel as text, which `bestbefore show --hub` prints."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bestbefore.addon.admin.sanitize import plain_word
from bestbefore.addon.admin.units import size, span, utc

_UNUSED = "no edge has subscribed on this channel: one does so some seconds after its start"


def channel_text(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the reports of sites in printable ASCII, with a final newline.

    Each has what the hub reported, if it publishes for the site, and `subscribed`: those who subscribe now.
    """
    lines: list[str] = []
    for name, report in reports.items():
        site = plain_word(name)
        try:
            lines += _lines(site, report)
        except (KeyError, TypeError, ValueError):
            lines.append(f"site {site}: its hub has another version, whose report cannot be read")
    return "\n".join(lines or [_UNUSED]) + "\n"


def _lines(site: str, report: Mapping[str, Any]) -> Iterator[str]:
    subscribed = report["subscribed"]
    if "time_s" not in report:
        yield f"site {site}: no hub has published in the last minute; {_named('subscribed', subscribed)}"
        return
    behind_s = report["time_s"] - report["announced_until_s"]
    yield f"site {site} at {utc(report['time_s'])}, by {report['scheduler']}, {size(report['bandwidth'])} a second"
    yield f"  objects     {report['objects']}, of which {report['waiting']} wait ({size(report['waiting_bytes'])})"
    yield f"  announced   all changes known {f'{span(behind_s)} before' if behind_s > 0 else 'then'}"
    over_clients, over_data = report["client_freshness"], report["data_freshness"]
    yield f"  freshness   {over_clients:.3f} over clients, {over_data:.3f} over data"
    yield "  subscriber               kind        objects  waiting    bytes  patterns, with the objects that match"
    for one in report["subscribers"]:
        patterns = ", ".join(f"{plain_word(pattern)} ({count})" for pattern, count in one["patterns"].items())
        yield (
            f"  {plain_word(one['name']):<24} {one['kind']:<10} {one['objects']:>8} {one['waiting']:>8} "
            f"{size(one['waiting_bytes']):>8}  {patterns}"
        )
    reported = {one["name"] for one in report["subscribers"]}
    if since := [name for name in subscribed if name not in reported]:
        yield f"  {_named('subscribed since', since)}"
    if gone := [name for name in reported if name not in subscribed]:
        yield f"  {_named('has left since', sorted(gone))}"


def _named(what: str, names: Sequence[str]) -> str:
    return f"{what}: {', '.join(map(plain_word, names)) or 'no edge'}"

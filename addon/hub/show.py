"""The state of a channel as text, which `bestbefore show --hub` prints."""

from collections.abc import Iterator, Mapping
from typing import Any

from bestbefore.addon.admin.sanitize import plain_word
from bestbefore.addon.admin.units import size, span, utc


def channel_text(reports: Mapping[str, Mapping[str, Any] | None]) -> str:
    """Return the reports of sites in printable ASCII, with a final newline. None: no hub publishes for the site."""
    lines: list[str] = []
    for site, report in reports.items():
        try:
            lines += _lines(site, report)
        except (KeyError, TypeError, ValueError):
            lines.append(f"site {site}: its hub has another version, whose report cannot be read")
    return "\n".join(lines or ["no edge has subscribed on this channel"]) + "\n"


def _lines(site: str, report: Mapping[str, Any] | None) -> Iterator[str]:
    if report is None:
        yield f"site {site}: no hub has published in the last minute"
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

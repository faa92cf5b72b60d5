"""Parser of JSON Feed 1.0 and 1.1 (jsonfeed.org)."""

import json
from typing import Any

from bestbefore.addon.feeds.document import (
    LONGEST_LINK,
    MAX_PARSED_ITEMS,
    MOST_LINKS,
    Document,
    Item,
    digest,
    with_distinct_names,
)
from bestbefore.addon.feeds.times import parse_time


def read(text: bytes) -> Document | None:
    """Parse a feed; None if the text is not JSON, or other JSON."""
    try:
        feed: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(feed, dict) or "jsonfeed.org/version" not in str(feed.get("version")):
        return None
    listed = feed.get("items")
    given = listed[:MAX_PARSED_ITEMS] if isinstance(listed, list) else []
    entries = [entry for entry in given if isinstance(entry, dict)]
    try:
        items = with_distinct_names([_item(entry) for entry in entries], [_words(entry) for entry in entries])
        version = digest(_written(feed))
    except RecursionError:
        return None
    return Document("json", items, links=_links(feed), version=version)


def _item(entry: dict[str, Any]) -> Item:
    name = _text(entry, "id") or _text(entry, "url") or _text(entry, "external_url") or _words(entry)
    times = (parse_time(_text(entry, key)) for key in ("date_published", "date_modified"))
    time_s = next((time for time in times if time is not None), None)
    return Item(name, time_s, digest(_written(entry)))


def _links(feed: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    hubs = feed.get("hubs")
    listed = hubs[:MOST_LINKS] if isinstance(hubs, list) else []
    found = [("hub", _text(hub, "url")) for hub in listed if isinstance(hub, dict) and hub.get("type") == "WebSub"]
    return tuple(link for link in (*found, ("self", _text(feed, "feed_url"))) if 0 < len(link[1]) <= LONGEST_LINK)


def _words(entry: dict[str, Any]) -> str:
    return "\n".join(_text(entry, key) for key in ("url", "title", "content_text", "content_html"))


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _written(value: object) -> str:
    return json.dumps(value, sort_keys=True)

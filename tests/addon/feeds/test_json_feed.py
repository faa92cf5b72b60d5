"""JSON Feed."""

import json
from typing import Any

from bestbefore.addon.feeds.document import Document
from bestbefore.addon.feeds.json_feed import read


def feed(*items: Any, **more: Any) -> Document:
    found = read(json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": list(items), **more}).encode())
    assert found is not None
    return found


def test_an_item_is_named_by_its_id_then_its_url_then_its_words() -> None:
    found = feed({"id": 7}, {"url": "http://l/1"}, {"title": "t", "content_text": "c"}, "no item", None)
    assert [item.name for item in found.items] == ["7", "http://l/1", "\nt\nc\n"]


def test_the_time_of_publication_goes_before_that_of_the_last_change() -> None:
    found = feed(
        {"id": "1", "date_modified": "2026-11-20T08:00:00Z", "date_published": "2026-11-19T08:00:00Z"},
        {"id": "2", "date_modified": "2026-11-20T08:00:00Z", "date_published": 5},
        {"id": "3"},
    )
    assert [item.time_s for item in found.items] == [1_795_075_200.0, 1_795_161_600.0, None]


def test_an_edit_changes_the_content_and_the_version() -> None:
    before, after = feed({"id": "1", "title": "a"}), feed({"id": "1", "title": "b"})
    assert before.items[0].content != after.items[0].content
    assert before.version != after.version


def test_items_of_any_type_do_no_harm() -> None:
    assert feed({"id": ["x"], "url": {}}, {"id": True}, title=None).kind == "json"
    assert read(b'{"version": "https://jsonfeed.org/version/1", "items": {"id": 1}}') is not None
    assert read(b'{"version": "https://jsonfeed.org/version/1", "items": [{"id": ' + b"9" * 5000 + b"}]}") is None
    assert read(b'{"version": "https://jsonfeed.org/version/1", "items": [{"id": "\\ud800"}]}') is not None

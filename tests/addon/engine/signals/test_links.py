"""Hubs that are declared in Link fields and feeds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.engine.signals.links import DeclaredHub, declared_hub, links_of
from bestbefore.addon.rfc9111.message import Fields

URL = "http://example.org/feed"
FOUND = DeclaredHub("https://hub.example.net/", URL)


def link(*values: str) -> Fields:
    return Fields([("Link", value) for value in values])


@pytest.mark.parametrize("fields", [
    link(f'<https://hub.example.net/>; rel="hub", <{URL}>; rel="self"'),
    link("<https://hub.example.net/>;rel=hub", "</feed>; title=\"a, b\"; REL = self"),
    link(f'<https://hub.example.net/>; rel="x hub", <https://other/>; rel=hub, <{URL}>; rel="self canonical"'),
])  # fmt: skip
def test_hub_and_topic_are_found_by_link_fields(fields: Fields) -> None:
    assert declared_hub(URL, fields) == FOUND


def test_they_are_found_in_a_feed_after_the_fields() -> None:
    assert declared_hub(URL, Fields(), [("hub", "https://hub.example.net/"), ("self", "feed")]) == FOUND
    assert declared_hub(URL, link("</hub>;rel=hub"), [("hub", "https://x/"), ("self", URL)]) == DeclaredHub(
        "http://example.org/hub", URL
    )


@pytest.mark.parametrize("fields", [
    Fields(), link(f"<{URL}>; rel=self"), link("<https://hub.example.net/>; rel=hub"),
    link(f"<ftp://hub/>; rel=hub, <{URL}>; rel=self"),
    link("<https://hub.example.net/>; rel=hub, <http://other.example/feed>; rel=self"),
    link(f"<https://hub.example.net/>; title=hub, <{URL}>; rel=self"),
])  # fmt: skip
def test_what_is_incomplete_or_of_another_host_is_no_declaration(fields: Fields) -> None:
    assert declared_hub(URL, fields) is None


@given(st.text(alphabet="<>;=\", \\relhubselfa/:", max_size=200))
def test_no_field_raises(value: str) -> None:
    list(links_of(link(value)))
    declared_hub(URL, link(value))

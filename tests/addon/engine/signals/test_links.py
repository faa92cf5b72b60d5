"""Hubs that are declared in Link fields and feeds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.engine.signals.links import DeclaredHubs, declared_hubs, links_of
from bestbefore.addon.rfc9111.message import Fields

URL = "http://example.org/feed"
FOUND = DeclaredHubs(("https://hub.example.net/",), URL)


def link(*values: str) -> Fields:
    return Fields([("Link", value) for value in values])


@pytest.mark.parametrize("fields", [
    link(f'<https://hub.example.net/>; rel="hub", <{URL}>; rel="self"'),
    link("<https://hub.example.net/>;rel=hub", "</feed>; title=\"a, b\"; REL = self"),
    link(f'<https://hub.example.net/>; rel="x hub", <https://other/>; rel=hub, <{URL}>; rel="self canonical"'),
])  # fmt: skip
def test_hub_and_topic_are_found_by_link_fields(fields: Fields) -> None:
    found = declared_hubs(URL, fields)
    assert found is not None
    assert (found.hubs[0], found.topic) == (FOUND.hubs[0], FOUND.topic)


def test_of_several_hubs_each_is_found_once_in_order() -> None:
    hubs = [f"https://hub{n}.example/" for n in (2, 1, 2, 3, 4, 5)]
    fields = link("<ftp://hub/>; rel=hub", *(f"<{hub}>; rel=hub" for hub in hubs), f"<{URL}>; rel=self")
    assert declared_hubs(URL, fields) == DeclaredHubs((hubs[0], hubs[1], hubs[3], hubs[4]), URL)


def test_they_are_found_in_a_feed_after_the_fields() -> None:
    assert declared_hubs(URL, Fields(), [("hub", "https://hub.example.net/"), ("self", "feed")]) == FOUND
    assert declared_hubs(URL, link("</hub>;rel=hub"), [("hub", "https://x/"), ("self", URL)]) == DeclaredHubs(
        ("http://example.org/hub",), URL
    )


@pytest.mark.parametrize("fields", [
    Fields(), link(f"<{URL}>; rel=self"), link("<https://hub.example.net/>; rel=hub"),
    link(f"<ftp://hub/>; rel=hub, <{URL}>; rel=self"),
    link("<https://hub.example.net/>; rel=hub, <http://other.example/feed>; rel=self"),
    link(f"<https://hub.example.net/>; title=hub, <{URL}>; rel=self"),
])  # fmt: skip
def test_what_is_incomplete_or_of_another_host_is_no_declaration(fields: Fields) -> None:
    assert declared_hubs(URL, fields) is None


@given(st.text(alphabet="<>;=\", \\relhubselfa/:", max_size=200))
def test_no_field_raises(value: str) -> None:
    list(links_of(link(value)))
    declared_hubs(URL, link(value))

"""Entity tags of ours never reach the origin."""

import pytest

from bestbefore.addon.engine.own_tag import tag_for, without_own_tags
from bestbefore.addon.feeds.document import Document
from bestbefore.addon.rfc9111.message import Fields

OWN = f"W/{tag_for(Document('rss', (), version=7))}"


def test_a_tag_is_named_by_the_version() -> None:
    assert OWN == 'W/"bestbefore-0000000000000007"'


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ({"If-None-Match": OWN, "If-Modified-Since": "x", "Accept": "y"}, {"Accept": "y"}),
        ({"If-None-Match": f'"a", {OWN}, W/"b"', "If-Modified-Since": "x"},
         {"If-Modified-Since": "x", "If-None-Match": '"a", W/"b"'}),
        ({"If-None-Match": '"a"', "If-Modified-Since": "x"}, {"If-None-Match": '"a"', "If-Modified-Since": "x"}),
        ({"If-None-Match": "*"}, {"If-None-Match": "*"}),
        ({"Range": "bytes=0-5", "If-Range": OWN}, {}),
        ({"Range": "bytes=0-5", "If-Range": '"a"'}, {"Range": "bytes=0-5", "If-Range": '"a"'}),
        ({"If-None-Match": f"{OWN} nonsense"}, {}),
    ],
)  # fmt: skip
def test_the_origin_sees_the_others_alone(sent: dict[str, str], seen: dict[str, str]) -> None:
    assert dict(without_own_tags(Fields(sent.items())).raw) == seen

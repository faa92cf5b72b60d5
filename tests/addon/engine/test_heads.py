"""What the heads that we send bear besides the fields of the origin."""

from bestbefore.addon.engine import heads
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.cache_status import hit
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

SITE = Site(name="bestbefore-1", salt=b"s", max_cached_body=1)
AT_S = 784_111_777.0
DATE = ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
OTHERS = (("Via", "1.1 other"), ("Cache-Status", "OriginCache; hit; ttl=1100"))


def test_we_come_after_those_nearer_to_the_origin() -> None:
    copy = Copy("http://a/", Head(200, Fields([DATE, *OTHERS])), BodyRef("d", 1), AT_S, AT_S, AT_S, AT_S)
    for head in (
        heads.from_copy(Request("GET", Target.parse("http://a/")), copy, AT_S + 9.9, hit(), SITE),
        heads.forwarded(copy.head, AT_S, hit(), SITE),
    ):
        assert head.fields.get("via") == "1.1 other, 1.1 bestbefore-1"
        assert head.fields.get("cache-status") == "OriginCache; hit; ttl=1100, bestbefore; hit"


def test_a_copy_bears_its_age_in_whole_seconds() -> None:
    copy = Copy("http://a/", Head(200, Fields([DATE])), BodyRef("d", 1), AT_S, AT_S, AT_S, AT_S)
    head = heads.from_copy(Request("GET", Target.parse("http://a/")), copy, AT_S + 9.9, hit(), SITE)
    assert head.fields.get("age") == "9"


def test_an_answer_without_date_gets_one_and_loses_what_was_for_its_connection() -> None:
    received = Head(200, Fields([("Connection", "x"), ("X", "1"), ("Y", "2")]))
    fields = heads.forwarded(received, AT_S, hit(), SITE).fields
    assert (fields.get("date"), fields.get("x"), fields.get("y")) == (DATE[1], None, "2")


def test_an_interim_response_keeps_its_fields_but_those_of_framing() -> None:
    received = Head(103, Fields([("Link", "</a>"), ("Content-Length", "9"), ("Transfer-Encoding", "chunked")]))
    assert heads.interim(received, SITE).fields.raw == (("Link", "</a>"), ("Via", "1.1 bestbefore-1"))


def test_an_error_of_the_proxy_is_not_stored() -> None:
    head = heads.generated(502, AT_S, hit(), 5, ("Allow", "GET"))
    assert (head.status, head.reason) == (502, "Bad Gateway")
    assert head.fields.get("cache-control") == "no-store"
    assert (head.fields.get("content-length"), head.fields.get("allow")) == ("5", "GET")


def test_an_error_of_ours_is_plain_text_whatever_it_says() -> None:
    head = heads.generated(400, AT_S, hit(), 5)
    assert head.fields.get("content-type") == "text/plain; charset=utf-8"
    assert head.fields.get("x-content-type-options") == "nosniff"

"""What passes through mitmproxy itself."""

from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.forwarded import Passing, passed_head, sent_fields
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

SITE = Site("bestbefore-1", b"", 1)


def passing(method: str, *fields: tuple[str, str]) -> Passing:
    return Passing(Request(method, Target.parse("http://example.org/"), Fields(fields), has_body=True), 0.0, 0.0)


def test_connection_fields_stop_here_and_framing_stays() -> None:
    sent = sent_fields(
        passing("POST", ("Connection", "close, X-Hop"), ("X-Hop", "1"), ("Proxy-Authorization", "Basic x"),
                ("Transfer-Encoding", "chunked"), ("Keep-Alive", "5"), ("A", "b")).request,
        SITE,
    )
    assert sent.raw == (("A", "b"), ("Transfer-Encoding", "chunked"), ("Via", "1.1 bestbefore-1"))


def test_an_upgrade_is_passed_on_as_one() -> None:
    sent = sent_fields(passing("GET", ("Connection", "Upgrade"), ("Upgrade", "websocket")).request, SITE)
    assert sent.get("connection") == "Upgrade"
    assert sent.get("upgrade") == "websocket"


def test_the_answer_says_why_it_went_past_the_cache() -> None:
    head = passed_head(passing("POST"), Head(200, Fields([("Update-History", "1;since=0")])), 0.0, SITE)
    assert head.fields.get("cache-status") == "bestbefore; fwd=method; fwd-status=200"
    assert "update-history" not in head.fields
    head = passed_head(passing("GET"), Head(200), 0.0, SITE)
    assert head.fields.get("cache-status") == "bestbefore; fwd=bypass; fwd-status=200; detail=request-body"


def test_a_client_that_wants_to_close_is_told_that_we_do() -> None:
    head = passed_head(passing("POST", ("Connection", "close")), Head(200), 0.0, SITE)
    assert head.fields.get("connection") == "close"


def test_a_request_that_is_only_left_to_mitmproxy_is_called_untouched() -> None:
    plain = Passing(Request("GET", Target.parse("http://example.org/?")), 0.0, 0.0)
    head = passed_head(plain, Head(200), 0.0, SITE)
    assert head.fields.get("cache-status") == "bestbefore; fwd=bypass; fwd-status=200; detail=untouched"

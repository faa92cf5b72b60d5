"""What the log says of answers from copies."""

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.access.reach import EVERYWHERE
from bestbefore.addon.proxy.exchange.answer_builder import ActiveConfig, AnswerBuilder
from bestbefore.addon.proxy.exchange.context import RequestContext
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

NOW_S = 1_706_745_600.0
URL = "http://example.org/feed"
CURRENT = ("If-None-Match", '"a"')


@pytest.mark.parametrize(
    ("method", "fields", "is_feed", "shown"),
    [
        ("GET", (), True, ("full", 0)),
        ("GET", (CURRENT,), True, ("not-modified", 5)),
        ("HEAD", (), True, ("", 0)),
        ("GET", (CURRENT,), False, ("", 0)),
    ],
)
def test_how_a_copy_of_a_feed_answers_is_recorded(
    method: str, fields: tuple[tuple[str, str], ...], is_feed: bool, shown: tuple[str, int]
) -> None:
    active = ActiveConfig(load_config(None).rules, Site("proxy", b"salt", max_cached_body=1 << 20))
    builder = AnswerBuilder(ManualClock(NOW_S), active, lambda _: None)
    head = Head(200, Fields([("Date", format_http_date(NOW_S)), ("ETag", '"a"'), ("Content-Length", "5")]))
    copy = Copy(URL, head, BodyRef("d", 5), NOW_S, NOW_S, NOW_S, NOW_S, is_feed=is_feed)
    request = Request(method, Target.parse(URL), Fields(fields))
    context = RequestContext.of(request, "192.0.2.1", EVERYWHERE, 0.0, NOW_S)
    builder.from_copy(context, copy, b"<rss>", "proxy; hit")
    assert (context.record.feed, context.record.spared_bytes) == shown

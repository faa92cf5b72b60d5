"""Until when the same request gets the same answer from a copy: nothing that a client sees or the log says changes."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.heads import from_copy
from bestbefore.addon.engine.request import Serve, on_request
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.caching.reuse import Action
from bestbefore.addon.rfc9111.caching.unchanged import unchanged_until_s
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule

type MakeCopy = Callable[..., Copy]
type MakeRequest = Callable[..., Request]

RECEIVED_S = 1_779_827_200.0
RULE = load_config(None, {"state": "/nowhere"}).rules.default
SITE = Site(name="bestbefore-1", salt=b"s", max_cached_body=10_000)


def shown(request: Request, copy: Copy, rule: DomainRule, now_s: float) -> tuple[object, ...]:
    """What a client and the log get."""
    serve = on_request(request, [copy], rule, SITE, now_s)
    assert isinstance(serve, Serve)
    assert serve.reuse.ttl_s is not None
    member = cache_status.hit(ttl_s=serve.reuse.ttl_s, detail=serve.reuse.reason)
    return from_copy(request, copy, now_s, member, SITE), serve.reuse.action, serve.shorten_would_validate


@given(
    after_s=st.floats(-100, 400),
    then=st.floats(0, 1, exclude_max=True),
    age_s=st.integers(0, 50),
    received_s=st.floats(0, 1),
    learned_s=st.none() | st.floats(-10, 400),
    obey=st.sampled_from(["strict", "shorten", "override"]),
    asked=st.sampled_from([(), ("Cache-Control: max-age=20",), ("If-None-Match: *",), ("Range: bytes=0-1",)]),
)
def test_until_then_the_answer_is_the_same(
    stored: MakeCopy, request_to: MakeRequest, after_s: float, then: float, age_s: int,
    received_s: float, learned_s: float | None, obey: str, asked: tuple[str, ...],
) -> None:  # fmt: skip
    copy = stored("Cache-Control: max-age=300", f"Age: {age_s}", 'ETag: "a"')
    copy = replace(copy, current_s=copy.current_s + received_s, response_time_s=copy.response_time_s + received_s)
    if learned_s is not None:
        copy = copy.with_verdict(RECEIVED_S + learned_s, "indttl", RULE.key)
    request, rule, now_s = request_to(*asked), replace(RULE, obey=obey), RECEIVED_S + after_s
    serve = on_request(request, [copy], rule, SITE, now_s)
    if not isinstance(serve, Serve):
        return
    until_s = unchanged_until_s(request, copy, serve.reuse, now_s)
    assert until_s <= now_s + 1
    if until_s > now_s:
        assert serve.reuse.action is Action.FRESH
        assert shown(request, copy, rule, now_s + then * (until_s - now_s)) == shown(request, copy, rule, now_s)


def test_it_is_the_next_second_of_its_age_or_of_what_it_has_left(stored: MakeCopy, request_to: MakeRequest) -> None:
    copy = stored("Cache-Control: max-age=300", "Age: 10")

    def until(after_s: float, copy: Copy = copy) -> float:
        now_s = RECEIVED_S + after_s
        serve = on_request(request_to(), [copy], RULE, SITE, now_s)
        assert isinstance(serve, Serve)
        return unchanged_until_s(request_to(), copy, serve.reuse, now_s) - now_s

    assert until(5.25) == pytest.approx(0.75, abs=1e-4)
    assert until(5.25, replace(copy, current_s=copy.current_s + 0.5)) == pytest.approx(0.25, abs=1e-4)
    assert until(-1.0) == 0.0, "the clock is behind"

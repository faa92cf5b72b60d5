from collections.abc import Callable
from dataclasses import replace

from bestbefore.addon.rfc9111.conditional.answer import answer
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request

type MakeCopy = Callable[..., Copy]
type MakeRequest = Callable[..., Request]


def test_a_copy_is_answered_with_its_head_and_its_age(
    stored: MakeCopy, request_to: MakeRequest
) -> None:
    copy = stored("Cache-Control: max-age=60", "Age: 30", 'ETag: "a"', status=203)
    head = answer(request_to(), copy, 35.9)
    assert head.status == 203
    assert head.fields.values("age") == ("35",)
    assert head.fields.without({"age"}) == copy.head.fields


def test_the_client_that_has_it_gets_a_304_with_tag_and_age(
    stored: MakeCopy, request_to: MakeRequest
) -> None:
    head = answer(request_to('If-None-Match: "a"'), stored("Cache-Control: max-age=60", 'ETag: "a"'), 5)
    assert (head.status, head.fields.get("etag"), head.fields.get("age")) == (304, '"a"', "5")
    assert "content-length" not in head.fields


def test_the_age_sent_is_within_what_age_can_say(stored: MakeCopy, request_to: MakeRequest) -> None:
    copy = stored("Cache-Control: max-age=60")
    assert answer(request_to(), copy, 1e12).fields.get("age") == "2147483648"
    assert answer(request_to(), copy, -1.0).fields.get("age") == "0"


def test_an_entity_tag_of_ours_is_weak_and_stands_in_for_one_that_is_missing(
    stored: MakeCopy, request_to: MakeRequest
) -> None:
    copy = replace(stored("Cache-Control: max-age=60"), own_etag='"ours"')
    assert answer(request_to(), copy, 5).fields.values("etag") == ('W/"ours"',)
    head = answer(request_to('If-None-Match: "x", W/"ours"'), copy, 5)
    assert (head.status, head.fields.get("etag")) == (304, 'W/"ours"')
    assert not copy.has_validator


def test_the_origins_entity_tag_goes_before_ours(stored: MakeCopy, request_to: MakeRequest) -> None:
    copy = replace(stored("Cache-Control: max-age=60", 'ETag: "a"'), own_etag='"ours"')
    assert answer(request_to('If-None-Match: W/"ours"'), copy, 5).status == 200
    assert answer(request_to(), copy, 5).fields.values("etag") == ('"a"',)

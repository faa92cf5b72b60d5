from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.storing import NoStore, copy_of, why_not_store
from bestbefore.addon.rfc9111.conditional.validation import updated
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.directives import of_response
from bestbefore.addon.rfc9111.fields.targeted import CDN_CACHE_CONTROL, governing
from bestbefore.addon.rfc9111.message import Fields, Head, Request

type MakeFields = Callable[..., Fields]
type Response = Callable[..., Head]
type RequestTo = Callable[..., Request]

NOW_S = 1_779_827_200.0
CDN = (CDN_CACHE_CONTROL,)


def copied(request: Request, head: Head, targeted: tuple[str, ...] = CDN) -> Copy:
    return copy_of(
        request, head, BodyRef("d", 5), request_time_s=NOW_S, response_time_s=NOW_S, salt=b"", targeted=targeted
    )


def test_a_valid_field_stands_in_for_cache_control_and_expires(fields: MakeFields) -> None:
    received = fields("Cache-Control: no-store", "Expires: 0", "CDN-Cache-Control: max-age=60", 'ETag: "1"')
    ruled = governing(received, CDN)
    assert of_response(ruled).max_age == 60
    assert not of_response(ruled).no_store
    assert "expires" not in ruled
    assert "etag" in ruled
    assert received.get("cache-control") == "no-store", "what is passed on is as it came"


def test_a_field_that_is_not_obeyed_changes_nothing(fields: MakeFields) -> None:
    received = fields("Cache-Control: max-age=1", "CDN-Cache-Control: max-age=60")
    assert governing(received, ()) is received
    assert governing(received, ("other-cache-control",)) is received


@pytest.mark.parametrize("value", [
    "", " ", "max-age=60,", "max-age =60", "max-age= 60", "MaX-aGe=60", "max-age=60, &&&", "no-store;", "max-age=60;=",
    'max-age="60"', "max-age=60.0", "max-age=-1", "max-age=abc", "max-age", "max-age=(60)", "max-age=:NjA=:",
    "max-age=9999999999999999", "no-store=1", "no-store=?0", "no-store=yes", 'no-store="x"', "private=set-cookie",
    "no-cache=?0", "no-cache=5", "max-age=60, é", "max-age=@99999999999999",
])
def test_an_empty_or_invalid_field_is_ignored_whole(fields: MakeFields, value: str) -> None:
    received = fields("Cache-Control: max-age=1", f"CDN-Cache-Control: {value}")
    assert governing(received, CDN) is received


@pytest.mark.parametrize(("value", "directives"), [
    ("max-age=60", "max-age=60"),
    ("  max-age=60 ,  no-cache", "max-age=60, no-cache"),
    ("max-age=10, max-age=60", "max-age=60"),
    ("foobar, max-age=60;x=1;y", "max-age=60"),
    ("foo=1.5, bar=(a b), baz=:aGk=:, qux=?0, max-age=60", "max-age=60"),
    ('private="set-cookie, x"', 'private="set-cookie, x"'),
    (r'no-cache="a\"b"', r'no-cache="a\"b"'),
    ("max-age=99999999999", "max-age=99999999999"),
    ("none", ""),
])
def test_directives_are_read_as_a_dictionary(fields: MakeFields, value: str, directives: str) -> None:
    assert governing(fields("Cache-Control: no-store", f"CDN-Cache-Control: {value}"), CDN).values(
        "cache-control"
    ) == (directives,)


def test_several_lines_are_one_dictionary(fields: MakeFields) -> None:
    received = fields("CDN-Cache-Control: max-age=60", "CDN-Cache-Control: no-cache")
    assert governing(received, CDN).get("cache-control") == "max-age=60, no-cache"


def test_the_first_valid_field_of_the_list_rules(fields: MakeFields) -> None:
    received = fields("C-Cache-Control: max-age=3", "B-Cache-Control: max-age=2", "A-Cache-Control: max-age=x, max-age")
    listed = ("a-cache-control", "b-cache-control", "c-cache-control")
    assert governing(received, listed).get("cache-control") == "max-age=2"
    assert governing(received, listed[::-1]).get("cache-control") == "max-age=3"


def test_it_decides_what_is_stored_and_for_how_long(request_to: RequestTo, response: Response) -> None:
    private = response("Cache-Control: max-age=60", "CDN-Cache-Control: private")
    assert why_not_store(request_to(), private, NOW_S) is None
    assert why_not_store(request_to(), private, NOW_S, targeted=CDN) is NoStore.PRIVATE
    head = response("Cache-Control: no-store", "Expires: 0", "CDN-Cache-Control: max-age=60, must-revalidate")
    assert why_not_store(request_to(), head, NOW_S) is NoStore.NO_STORE
    assert why_not_store(request_to(), head, NOW_S, targeted=CDN) is None
    copy = copied(request_to(), head)
    assert copy.lifetime == (60, "max-age")
    assert copy.cache_control.must_revalidate
    assert copy.head.fields.get("cache-control") == "no-store"
    assert copy.head.fields.get("cdn-cache-control") == "max-age=60, must-revalidate"


def test_a_field_that_names_fields_keeps_them_out_of_the_store(request_to: RequestTo, response: Response) -> None:
    head = response('CDN-Cache-Control: max-age=60, private="x-user"', "X-User: ann", "Cache-Control: max-age=60")
    assert "x-user" in copied(request_to(), head, ()).head.fields
    assert "x-user" not in copied(request_to(), head).head.fields


def test_it_binds_the_copies_of_persons_too(request_to: RequestTo, response: Response) -> None:
    request = request_to("Cookie: a=1", url="https://example.org/")
    head = response("Cache-Control: public, max-age=60", "CDN-Cache-Control: max-age=60")
    assert not copied(request, head, ()).personal
    assert copied(request, head).personal


def test_a_304_may_bring_another_one(request_to: RequestTo, response: Response) -> None:
    copy = copied(request_to(), response("Cache-Control: no-store", "CDN-Cache-Control: max-age=60", 'ETag: "1"'))
    head = response("CDN-Cache-Control: max-age=5", 'ETag: "1"', status=304)
    renewed = updated(copy, request_to(), head, request_time_s=NOW_S, response_time_s=NOW_S, salt=b"")
    assert renewed.lifetime == (5, "max-age")


def test_a_field_for_this_connection_alone_cannot_be_kept(request_to: RequestTo, response: Response) -> None:
    head = response("Cache-Control: max-age=60", "CDN-Cache-Control: no-cache", "Connection: CDN-Cache-Control")
    assert why_not_store(request_to(), head, NOW_S, targeted=CDN) is NoStore.CONNECTION


ANY = st.text(st.characters(max_codepoint=255), max_size=40)
ALMOST = st.from_regex(r'[a-z-]+=[-0-9."?:;@%=a-z]*', fullmatch=True)


@given(ANY | ALMOST)
def test_no_text_makes_it_fail(value: str) -> None:
    received = Fields([("Cache-Control", "no-store"), ("CDN-Cache-Control", value)])
    of_response(governing(received, CDN))

import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.dictionaries import (
    DictionaryCandidate,
    UseAsDictionary,
    as_dictionary,
    decoded_head,
    digest_of,
    is_coded,
    may_offer,
    offering,
    recoded_head,
    selected,
    use_as_dictionary,
)
from bestbefore.addon.rfc9111.caching.storing import copy_of
from bestbefore.addon.rfc9111.copy import BodyRef
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

URL = "https://example.org/js/app.js"
NOW_S = 1_779_827_200.0
type MakeRequest = Callable[..., Request]
type MakeHead = Callable[..., Head]


@pytest.mark.parametrize(
    ("value", "use"),
    [
        ('match="/js/*"', UseAsDictionary("/js/*")),
        ('match="/js/*", match-dest=("script"), id="v1", type=raw', UseAsDictionary("/js/*", "v1")),
        *((value, None) for value in ("", 'id="v1"', "match=/js/", 'match="/js/*", type=other', 'match=""', "match")),
        *((value, None) for value in ('match="/a", id=v1', 'match="/a" "b"', 'match="/a", id="' + "x" * 1025 + '"')),
    ],
)
def test_use_as_dictionary_is_read(value: str, use: UseAsDictionary | None) -> None:
    assert use_as_dictionary(Fields([("Use-As-Dictionary", value)])) == use


@given(st.text(st.characters(max_codepoint=255), max_size=60))
def test_no_field_makes_it_fail(value: str) -> None:
    use_as_dictionary(Fields([("Use-As-Dictionary", value)]))


def test_without_the_field_there_is_none() -> None:
    assert use_as_dictionary(Fields()) is None


MATCH = 'Use-As-Dictionary: match="/js/*"'
PUBLIC = "Cache-Control: public, max-age=0"


@pytest.mark.parametrize(
    ("fetched", "stored", "asked", "usable"),
    [
        ((), (MATCH,), (), True),
        ((), (MATCH, "Cache-Control: max-age=60, must-revalidate"), (), True),
        ((), (MATCH, "Cache-Control: max-age=0, must-revalidate"), (), False),
        ((), (MATCH, "Cache-Control: no-cache"), (), False),
        ((), (MATCH, "Cache-Control: no-transform"), (), False),
        ((), (MATCH,), ("Cache-Control: no-transform",), False),
        ((), (), (), False),
        ((), ('Use-As-Dictionary: match="/css/*"',), (), False),
        (("Cookie: a=b",), (MATCH, PUBLIC), (), False),
        (("Authorization: x",), (MATCH, PUBLIC), (), False),
        ((), (MATCH, PUBLIC, "Set-Cookie: a=b"), (), False),
        ((), (MATCH,), ("Cookie: a=b",), False),
        ((), (MATCH,), ("Authorization: x",), False),
        ((), (MATCH,), ("Range: bytes=0-1",), False),
    ],
)
def test_only_what_any_client_may_have_is_a_dictionary(
    request_to: MakeRequest, response: MakeHead,
    fetched: tuple[str, ...], stored: tuple[str, ...], asked: tuple[str, ...], usable: bool,
) -> None:
    copy = copy_of(
        request_to(*fetched, url=URL), response(*stored), BodyRef("0", 5),
        request_time_s=NOW_S, response_time_s=NOW_S, salt=b"salt",
    )
    request = request_to(*asked, url=URL)
    assert as_dictionary(request, replace(copy, client="another"), NOW_S) is None
    assert (may_offer(request, request) and as_dictionary(request, copy, NOW_S) is not None) is usable
    assert not may_offer(request_to(*asked, url=URL.replace("https", "http")), request)


def test_candidates_are_what_any_client_may_have(request_to: MakeRequest, response: MakeHead) -> None:
    copy = copy_of(
        request_to(url=URL), response(MATCH), BodyRef("0", 5), request_time_s=NOW_S, response_time_s=NOW_S, salt=b"salt"
    )
    assert DictionaryCandidate.of(copy) == DictionaryCandidate(URL, "/js/*", NOW_S)
    for other in ({"personal": "a"}, {"url": "http://example.org/js/a"}, {"head": response()}):
        assert DictionaryCandidate.of(replace(copy, **other)) is None


def test_the_longest_matching_pattern_precedes_and_then_the_latest_copy() -> None:
    patterns = ["/js/*", "*", "/js/*", "/css/app.js"]
    known = [DictionaryCandidate(f"{URL}{n}", match, n) for n, match in enumerate(patterns)]
    assert [int(one.received_s) for one in selected(known, Target.parse(URL))] == [2, 0, 1]


def test_the_request_names_the_digest_and_the_coding(request_to: MakeRequest) -> None:
    sent = request_to("Accept-Encoding: gzip, br", url=URL)
    digest = digest_of(b"hello")
    assert digest == hashlib.sha256(b"hello").digest()
    fields = offering(sent, digest, UseAsDictionary("/*", 'a"b')).fields
    assert fields.get("accept-encoding") == "gzip, br, dcz"
    assert fields.get("available-dictionary") == ":LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
    assert fields.get("dictionary-id") == r'"a\"b"'
    plain = offering(request_to(url=URL), digest, UseAsDictionary("/*")).fields
    assert (plain.get("accept-encoding"), plain.get("dictionary-id")) == ("dcz", None)


def test_decoded_content_has_a_head_of_its_own(response: MakeHead) -> None:
    head = response(
        "Content-Encoding: DCZ", "Content-Length: 9", 'ETag: "1"', "Content-Digest: x", "Vary: Available-Dictionary"
    )
    assert is_coded(head)
    assert not is_coded(response("Content-Encoding: gzip"))
    decoded = decoded_head(head)
    assert decoded.fields.names() == {"date", "etag", "vary"}
    assert decoded.fields.get("etag") == 'W/"1"'
    recoded = recoded_head(decoded)
    assert recoded.fields.get("content-encoding") == "gzip"
    assert recoded.fields.values("vary") == ("Available-Dictionary", "Accept-Encoding")
    for vary in ("*", "Available-Dictionary, accept-encoding"):
        assert recoded_head(response(f"Vary: {vary}")).fields.values("vary") == (vary,)

"""What is remembered of responses that could not be shared."""

from bestbefore.addon.proxy.exchange.sharing.hit_for_miss import ENTRIES, ERROR_REMEMBERED_S, REMEMBERED_S, HitForMiss
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

NOW_S = 1_706_300_000.0
PRIVATE = Head(200, Fields([("Cache-Control", "private")]))
BY_LANGUAGE = Head(200, Fields([("Vary", "Accept-Language")]))


def request_for(*fields: tuple[str, str], url: str = "http://a/", partition: str = "") -> Request:
    return Request("GET", Target.parse(url), Fields(fields), partition=partition)


def is_known(known: HitForMiss, request: Request, now_s: float = NOW_S) -> bool:
    variant = known.variant(request)
    assert variant is not None
    return known.has(request, variant, now_s)


def test_it_holds_for_one_object_and_some_minutes() -> None:
    known = HitForMiss()
    assert not is_known(known, request_for())
    known.add(request_for(), PRIVATE, NOW_S)
    assert is_known(known, request_for(), NOW_S + REMEMBERED_S - 1)
    assert not is_known(known, request_for(), NOW_S + REMEMBERED_S)
    assert not is_known(known, request_for(), NOW_S - 1000.0), "the clock was set back"
    assert not is_known(known, request_for(url="http://a/b"))
    assert not is_known(known, request_for(partition="p"))


def test_an_error_says_little_about_the_next_response() -> None:
    known = HitForMiss()
    known.add(request_for(), Head(503, Fields()), NOW_S)
    assert is_known(known, request_for(), NOW_S + ERROR_REMEMBERED_S - 1)
    assert not is_known(known, request_for(), NOW_S + ERROR_REMEMBERED_S)


def test_it_is_forgotten_once_a_response_may_be_shared() -> None:
    known = HitForMiss()
    known.add(request_for(), PRIVATE, NOW_S)
    known.discard(request_for(), (), NOW_S)
    assert not is_known(known, request_for())
    known.discard(request_for(), (), NOW_S)


def test_it_holds_for_one_variant() -> None:
    german, english = (request_for(("Accept-Language", language)) for language in ("de", "en"))
    known = HitForMiss()
    known.add(german, BY_LANGUAGE, NOW_S)
    assert is_known(known, german)
    assert not is_known(known, english)
    known.add(german, Head(500, Fields()), NOW_S)  # an error often has no Vary
    assert known.variant(german) != known.variant(english)


def test_no_request_for_all_is_affected_by_one_with_a_cookie_a_validator_or_a_range() -> None:
    known = HitForMiss()
    conditions = ("If-None-Match", '"1"'), ("If-Modified-Since", "x"), ("Range", "bytes=0-1")
    for field in (("Cookie", "me"), ("Authorization", "me"), *conditions):
        known.add(request_for(field), PRIVATE, NOW_S)
        assert is_known(known, request_for(field))
    assert not is_known(known, request_for())
    assert is_known(known, request_for(("Cookie", "you")))


def test_a_variant_that_a_request_waited_for_in_vain_is_told_apart() -> None:
    german, english = (request_for(("Accept-Language", language)) for language in ("de", "en"))
    known = HitForMiss()
    assert known.variant(german) == known.variant(english) == ()
    known.select(german, BY_LANGUAGE)
    assert known.variant(german) != known.variant(english)
    assert known.variant(request_for(("Accept-Language", "x" * 2000))) is None
    known.add(request_for(("Accept-Language", "x" * 2000)), PRIVATE, NOW_S)


def test_another_query_and_a_whole_directory_are_judged_by_others() -> None:
    known = HitForMiss()
    urls = ["http://a/api/1?x", "http://a/api/2", "http://a/api/3?a/b", "http://a/api/4"]
    known.add(request_for(url=urls[0]), PRIVATE, NOW_S)
    assert known.is_likely(request_for(url="http://a/api/1"), NOW_S)
    assert not known.is_likely(request_for(url=urls[3]), NOW_S)
    for url in urls[1:3]:
        known.add(request_for(url=url), PRIVATE, NOW_S)
    assert known.is_likely(request_for(url=urls[3]), NOW_S)
    assert not is_known(known, request_for(url=urls[3]))
    for other in (request_for(("Cookie", "me"), url=urls[3]), request_for(url=urls[3], partition="p"),
                  request_for(url="http://a/apis"), request_for(url="http://b/api/1"), request_for(url="https://a/api/1")):
        assert not known.is_likely(other, NOW_S)
    known.discard(request_for(url=urls[2]), (), NOW_S)
    assert not known.is_likely(request_for(url=urls[3]), NOW_S)


def test_errors_say_nothing_of_others() -> None:
    known = HitForMiss()
    for status in (404, 503):
        known.add(request_for(url="http://a/?x"), Head(status, Fields()), NOW_S)
    assert not known.is_likely(request_for(), NOW_S)


def test_names_without_end_are_not_kept() -> None:
    known = HitForMiss()
    known.select(request_for(), Head(200, Fields([("Vary", "a" * 2000)])))
    assert known.variant(request_for()) == ()


def test_the_latest_objects_are_remembered() -> None:
    known = HitForMiss()
    for number in range(ENTRIES + 1):
        known.add(request_for(url=f"http://a/{number}"), PRIVATE, NOW_S)
    assert not is_known(known, request_for(url="http://a/0"))
    assert is_known(known, request_for(url=f"http://a/{ENTRIES}"))

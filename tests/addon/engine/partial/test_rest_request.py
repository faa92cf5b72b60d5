"""The request for the rest of a response, and what answers it."""

import pytest

from bestbefore.addon.engine.partial.rest_request import before_rest, for_rest
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

ETAG, OTHER, WEAK = ("ETag", '"1"'), ("ETag", '"2"'), ("ETag", 'W/"1"')
DATE, MODIFIED = ("Date", "Sat, 27 Jan 2024 12:00:00 GMT"), ("Last-Modified", "Sat, 27 Jan 2024 11:00:00 GMT")


def head(*fields: tuple[str, str], status: int = 200) -> Head:
    return Head(status, Fields(fields))


def request(*fields: tuple[str, str]) -> Request:
    return Request("GET", Target.parse("http://a/"), Fields(fields))


def test_the_rest_is_requested_if_it_is_of_the_same_version() -> None:
    sent = request(("Accept", "*/*"), ("If-None-Match", '"0"'), ("Range", "bytes=0-9"))
    for first, validator in ((head(ETAG), '"1"'), (head(DATE, MODIFIED), MODIFIED[1])):
        made = for_rest(sent, first, 1000)
        assert made is not None
        assert made.fields == Fields([("Accept", "*/*"), ("Range", "bytes=1000-"), ("If-Range", validator)])


@pytest.mark.parametrize("first", [head(), head(WEAK), head(MODIFIED), head(ETAG, status=206)])
def test_without_a_strong_validator_there_is_no_rest(first: Head) -> None:
    assert for_rest(request(), first, 1000) is None


@pytest.mark.parametrize(
    ("found", "before"),
    [
        (head(ETAG, ("Content-Range", "bytes 1000-1999/2000"), status=206), 0),
        (head(ETAG, ("Content-Range", "bytes 1000-1998/2000"), status=206), None),
        (head(ETAG, ("Content-Range", "bytes 0-1999/2000"), status=206), None),
        (head(OTHER, ("Content-Range", "bytes 1000-1999/2000"), status=206), None),
        (head(ETAG, status=206), None),
        (head(ETAG), 1000),
        (head(OTHER), None),
        (head(), None),
        (head(ETAG, ("Content-Encoding", "gzip")), None),
        (head(ETAG, status=416), None),
    ],
)
def test_it_is_the_rest_of_that_version_or_nothing(found: Head, before: int | None) -> None:
    assert before_rest(found, head(ETAG), 1000) == before

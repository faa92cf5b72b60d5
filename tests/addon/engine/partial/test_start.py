"""Which part is stored of a response that did not arrive to its end."""

import pytest

from bestbefore.addon.engine.partial.start import start_of
from bestbefore.addon.engine.response import Relay
from bestbefore.addon.rfc9111.caching.storing import copy_of
from bestbefore.addon.rfc9111.conditional.parts import Place, partition_of, place
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import BodyRef
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

ETAG = ("ETag", '"1"')
LENGTH = ("Content-Length", "100")


def relay(*fields: tuple[str, str], status: int = 200, why: str = "") -> Relay:
    """The decision to store a response."""
    head = Head(status, Fields((("Date", "Fri, 26 Jan 2024 20:26:40 GMT"), *fields)))
    request = Request("GET", Target.parse("http://example.org/film"))
    draft = copy_of(request, head, BodyRef("", 0), request_time_s=1.0, response_time_s=1.0, salt=b"")
    return Relay(head, why, draft)


def test_the_start_of_a_response_with_a_strong_validator_is_a_part() -> None:
    part = start_of(relay(ETAG, LENGTH), BodyRef("d", 40))
    assert part is not None
    assert place(part.head) == Place(Span(0, 40), 100)
    assert (part.body, part.partition) == (BodyRef("d", 40), partition_of(""))


def test_the_start_of_a_part_is_a_part() -> None:
    arriving = relay(ETAG, ("Content-Range", "bytes 50-89/100"), ("Content-Length", "40"), status=206)
    part = start_of(arriving, BodyRef("d", 10))
    assert part is not None
    assert place(part.head) == Place(Span(50, 60), 100)
    assert start_of(arriving, BodyRef("d", 40)) is None


@pytest.mark.parametrize(
    "of",
    [
        relay(LENGTH),
        relay(("ETag", 'W/"1"'), LENGTH),
        relay(ETAG, ("Content-Length", "many")),
        relay(ETAG, LENGTH, ("Accept-Ranges", "none")),
        relay(ETAG, LENGTH, status=404),
        relay(ETAG, LENGTH, why="no-store"),
        Relay(Head(200, Fields())),
    ],
)
def test_what_cannot_be_completed_is_not_kept(of: Relay) -> None:
    assert start_of(of, BodyRef("d", 40)) is None


def test_nothing_is_kept_of_what_never_arrived() -> None:
    assert start_of(relay(ETAG, LENGTH), BodyRef("d", 0)) is None

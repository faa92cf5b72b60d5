"""Builders for the tests of the RFC 9111 core. Header lines are written as they look: `"Cache-Control: max-age=60"`."""

from collections.abc import Callable

import pytest

from bestbefore.addon.rfc9111.caching.storing import copy_of
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

RECEIVED_S = 1_779_827_200.0
"""Tue, 26 May 2026 20:26:40 GMT: when every stored response of these tests was received, unless they say otherwise."""


def fields_of(*lines: str) -> Fields:
    return Fields((name, value) for name, _, value in (line.partition(": ") for line in lines))


def request_of(
    *lines: str, method: str = "GET", url: str = "http://example.org/page", has_body: bool = False
) -> Request:
    return Request(method, Target.parse(url), fields_of(*lines), has_body=has_body)


def response_of(*lines: str, status: int = 200) -> Head:
    """A response with a Date, unless one is given (`"Date: "` makes it an empty one)."""
    dated = any(line.startswith("Date:") for line in lines)
    return Head(status, fields_of(*lines) if dated else fields_of("Date: Tue, 26 May 2026 20:26:40 GMT", *lines))


def stored_of(
    *lines: str,
    status: int = 200,
    request: Request | None = None,
    request_time_s: float = RECEIVED_S,
    response_time_s: float = RECEIVED_S,
) -> Copy:
    return copy_of(
        request or request_of(),
        response_of(*lines, status=status),
        BodyRef("0" * 32, 5),
        request_time_s=request_time_s,
        response_time_s=response_time_s,
        salt=b"salt",
    )


@pytest.fixture(scope="session")
def fields() -> Callable[..., Fields]:
    return fields_of


@pytest.fixture(scope="session")
def request_to() -> Callable[..., Request]:
    return request_of


@pytest.fixture(scope="session")
def response() -> Callable[..., Head]:
    return response_of


@pytest.fixture(scope="session")
def stored() -> Callable[..., Copy]:
    return stored_of

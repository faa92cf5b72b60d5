"""What the log says of a request before it is answered, and whom it may reach."""

import pytest

from bestbefore.addon.proxy.access.reach import BEYOND_THIS_MACHINE, EVERYWHERE, PUBLIC, Reach
from bestbefore.addon.proxy.exchange.context import RequestContext
from bestbefore.addon.rfc9111.message import Fields, Request, Target

NOW_S = 1_706_745_600.0


def context(*fields: tuple[str, str], reach: Reach = EVERYWHERE) -> RequestContext:
    request = Request("GET", Target.parse("http://example.org/"), Fields(fields))
    return RequestContext.of(request, "192.0.2.1", reach, 5.0, NOW_S)


@pytest.mark.parametrize(
    ("fields", "personal"),
    [
        ((), False),
        ((("Accept", "*/*"),), False),
        ((("Cookie", "a=b"),), True),
        ((("Authorization", "Basic YTpi"),), True),
        ((("Cookie", "a=b"), ("Authorization", "Basic YTpi")), True),
    ],
)
def test_a_request_with_a_cookie_or_credentials_is_personal(
    fields: tuple[tuple[str, str], ...], personal: bool
) -> None:
    assert context(*fields).record.personal is personal


def test_a_request_took_the_monotonic_time_until_its_end() -> None:
    record = context().answered(7.5, 12, complete=True)
    assert (record.time_s, record.duration_s, record.sent_bytes, record.complete) == (NOW_S, 2.5, 12, True)
    assert not record.background


def test_the_log_names_user_and_protocol_of_a_client_and_no_protocol_of_a_refresh() -> None:
    request = Request("GET", Target.parse("http://example.org/"), version="HTTP/2.0")
    made = [
        RequestContext.of(request, "192.0.2.1", EVERYWHERE, 5.0, NOW_S, user="ann", background=background).record
        for background in (False, True)
    ]
    assert [(record.user, record.protocol) for record in made] == [("ann", "HTTP/2.0"), ("ann", "")]


def test_a_client_that_reaches_no_loopback_address_is_restricted() -> None:
    assert [context(reach=reach).restricted for reach in (EVERYWHERE, BEYOND_THIS_MACHINE, PUBLIC)] == [
        False, True, True,
    ]

"""Only what any client may have is sent to other proxies."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.engine.channel.publication import Unpublished, why_not_published
from bestbefore.addon.rfc9111.caching.storing import copy_of, why_not_store
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

NOW_S = 1_706_300_000.0
PUBLIC = Copy(
    "http://example.org/", Head(200, Fields([("ETag", '"a"')])), BodyRef("d", 4), NOW_S, NOW_S, NOW_S, NOW_S
)


def why(copy: Copy, **known: Any) -> Unpublished | None:
    return why_not_published(copy, **({"named": False, "most_bytes": 1000} | known))


def test_a_plain_copy_may_be_sent() -> None:
    assert why(PUBLIC) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"fetched_with_cookie": True}, Unpublished.PERSONAL),
        ({"fetched_with_authorization": True}, Unpublished.PERSONAL),
        ({"personal": "hash"}, Unpublished.PERSONAL),
        ({"client": "hash"}, Unpublished.PERSONAL),
        ({"partition": "p"}, Unpublished.PERSONAL),
        ({"selecting": (("cookie", None),)}, Unpublished.PERSONAL),
        ({"part_number": 1}, Unpublished.NOT_WHOLE),
        ({"outdated": True}, Unpublished.OUTDATED),
        ({"local": True}, Unpublished.PRIVATE_ADDRESS),
        ({"range": "10.0.0.0/8"}, Unpublished.PRIVATE_ADDRESS),
        ({"body": BodyRef("d", 1001)}, Unpublished.TOO_LARGE),
    ],
)
def test_what_is_bound_or_partial_may_not(changes: dict[str, Any], reason: Unpublished) -> None:
    assert why(replace(PUBLIC, **changes)) is reason


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ([("ETag", '"a"'), ("Cache-Control", "private")], 200, Unpublished.DIRECTIVE),
        ([("ETag", '"a"'), ("Cache-Control", "no-store")], 200, Unpublished.DIRECTIVE),
        ([("ETag", '"a"'), ("Cache-Control", "no-cache")], 200, Unpublished.DIRECTIVE),
        ([("ETag", '"a"'), ("Set-Cookie", "a=b")], 200, Unpublished.PERSONAL),
        ([], 200, Unpublished.UNVALIDATED),
        ([("ETag", '"a"')], 404, Unpublished.NOT_WHOLE),
    ],
)
def test_what_the_response_forbids_may_not(
    fields: list[tuple[str, str]], status: int, reason: Unpublished
) -> None:
    assert why(replace(PUBLIC, head=Head(status, Fields(fields)))) is reason


def test_a_lifetime_is_as_good_as_a_validator() -> None:
    assert why(replace(PUBLIC, head=Head(200, Fields([("Cache-Control", "max-age=60")])))) is None


def test_a_named_host_may_be_private_and_have_secret_urls() -> None:
    assert why(replace(PUBLIC, local=True), named=True) is None
    assert why(PUBLIC, is_secret=True) is Unpublished.SECRET_URL
    assert why(PUBLIC, is_secret=True, named=True) is None


FIELD_LINES = st.sampled_from([
    ("Cache-Control", "private"), ("Cache-Control", 'private="x"'), ("Cache-Control", "max-age=60"),
    ("Cache-Control", "public"), ("Cache-Control", "no-cache"), ("Cache-Control", "must-revalidate"),
    ("Set-Cookie", "a=b"), ("ETag", '"a"'), ("Vary", "Cookie"), ("Vary", "Accept, Authorization"),
])  # fmt: skip


@given(
    asked=st.lists(st.sampled_from([("Cookie", "a=b"), ("Authorization", "Basic x"), ("Accept", "a")]), unique=True),
    shown=st.lists(FIELD_LINES, unique=True),
    scheme=st.sampled_from(["http", "https"]),
)
def test_nothing_that_was_fetched_for_one_client_is_ever_sent(
    asked: list[tuple[str, str]], shown: list[tuple[str, str]], scheme: str
) -> None:
    request = Request("GET", Target.parse(f"{scheme}://example.org/"), Fields(asked))
    head = Head(200, Fields(shown))
    if why_not_store(request, head, NOW_S) is not None:
        return
    copy = copy_of(request, head, BodyRef("d", 4), request_time_s=NOW_S, response_time_s=NOW_S, salt=b"s")
    names = {name for name, _ in asked}
    values = " ".join(value for name, value in shown if name == "Cache-Control")
    bound = names & {"Cookie", "Authorization"} or any(name == "Set-Cookie" for name, _ in shown)
    if bound or "private" in values or any(name == "Vary" and value != "Accept" for name, value in shown):
        assert why(copy, named=True) is not None

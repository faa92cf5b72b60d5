"""Copies and subscriptions for the tests of the channel."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bestbefore.addon.hub.wire.subscription import SubscriberKind, Subscription
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head

NOW_S = 1_706_300_000.0
KEY = b"0123456789abcdef0123456789abcdef"


@pytest.fixture
def make_copy() -> Callable[..., Copy]:
    """Makes copies of a version of a page, received at `at_s`."""

    def make(
        version: str = "1", *fields: tuple[str, str], path: str = "page", at_s: float = NOW_S, **known: Any
    ) -> Copy:
        head = Head(200, Fields([("ETag", f'"{version}"'), *fields]))
        url = f"http://example.org/{path}"
        made = Copy(url, head, BodyRef(f"digest-{version}", 100), at_s, at_s, at_s, at_s)
        return replace(made, **known)

    return make


@pytest.fixture
def subscribe() -> Callable[..., Subscription]:
    """Makes subscriptions."""

    def make(
        name: str = "edge", *patterns: str, since: int = 1, kind: SubscriberKind = SubscriberKind.SUBSCRIBER
    ) -> Subscription:
        return Subscription(name, "all", kind, patterns or ("example.org",), since, "h" * 16)

    return make

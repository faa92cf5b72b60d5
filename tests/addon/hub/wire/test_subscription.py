"""Subscriptions: patterns, tokens, signatures."""

from msgspec.structs import replace

from bestbefore.addon.hub.wire.subscription import SubscriberKind, Subscription, decode, encode
from bestbefore.addon.rfc9111.message import Target

KEY = b"0123456789abcdef0123456789abcdef"
ONE = Subscription("edge", "all", SubscriberKind.SUBSCRIBER, ("example.org/feeds/*", "*.example.net"), 7, "holder")


def test_any_pattern_matches() -> None:
    wanted = [
        url for url in (
            "http://example.org/feeds/a", "http://example.org/", "https://www.example.net/x", "http://example.net/"
        )
        if ONE.is_wanted(Target.parse(url))
    ]  # fmt: skip
    assert wanted == ["http://example.org/feeds/a", "https://www.example.net/x"]


def test_the_token_changes_with_what_the_hub_must_know() -> None:
    assert ONE.token == replace(ONE).token
    others = [replace(ONE, since=8), replace(ONE, patterns=("*",)), replace(ONE, holder="other")]
    assert len({one.token for one in (ONE, *others)}) == 4


def test_only_signed_subscriptions_count() -> None:
    signed = encode(ONE, KEY)
    assert decode(signed, KEY) == ONE
    assert decode(signed, KEY[::-1]) is None
    assert decode(signed[:-1], KEY) is None
    assert decode(b"", KEY) is None
    assert decode(encode(replace(ONE, patterns=("http://x/",)), KEY), KEY) is None

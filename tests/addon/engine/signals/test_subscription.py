"""Subscriptions to hubs: the state machine of one."""

import hashlib
import hmac
from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from bestbefore.addon.engine.signals.subscription import (
    LEASE_S,
    LONGEST_LEASE_S,
    NEXT_HUB_AFTER_S,
    SHORTEST_LEASE_S,
    PushProof,
    PushState,
    PushSubscription,
    PushVerifier,
)
from bestbefore.policies.units import DAY_S, HOUR_S

ONE = PushSubscription("http://x/feed", "http://x/topic", "http://hub/", "path", "secret")
YES = {"hub.mode": "subscribe", "hub.topic": ONE.topic, "hub.challenge": "c", "hub.lease_seconds": "864000"}


def active(now_s: float = 0.0) -> PushSubscription:
    found = ONE.asked(now_s).verified(YES, now_s)
    assert found is not None
    return found


def test_it_is_active_once_the_hub_has_verified_it_and_is_renewed_in_time() -> None:
    assert not ONE.asked(0.0).is_live(1.0)
    one = active(100.0)
    assert (one.state, one.since_s, one.until_s, one.due_s()) == (PushState.ACTIVE, 100.0, 864_100.0, 691_300.0)
    renewing = one.asked(one.due_s())
    assert renewing.is_live(one.due_s()), "the lease lasts meanwhile"
    renewed = renewing.verified(YES, one.due_s() + 1)
    assert renewed is not None
    assert (renewed.since_s, renewed.until_s) == (100.0, one.due_s() + 1 + 864_000)
    assert not renewed.is_live(renewed.until_s)


@pytest.mark.parametrize(("given", "lease_s"), [
    ("10", SHORTEST_LEASE_S), ("99999999", LONGEST_LEASE_S), ("", LEASE_S), ("-5", LEASE_S), ("9" * 20, LEASE_S),
])  # fmt: skip
def test_the_lease_is_bounded(given: str, lease_s: float) -> None:
    found = ONE.asked(0.0).verified(YES | {"hub.lease_seconds": given}, 0.0)
    assert found is not None
    assert found.until_s == lease_s


@pytest.mark.parametrize(("one", "query"), [
    (ONE, YES),
    (ONE.asked(0.0), YES | {"hub.topic": "http://other/"}),
    (ONE.asked(0.0), {key: value for key, value in YES.items() if key != "hub.challenge"}),
    (ONE.asked(0.0), YES | {"hub.mode": "unsubscribe"}),
    (active(), YES | {"hub.mode": "unsubscribe"}),
    (active().ending(1.0), YES),
    (replace(ONE, state=PushState.DENIED), YES),
])  # fmt: skip
def test_an_intent_that_is_not_ours_is_not_verified(one: PushSubscription, query: dict[str, str]) -> None:
    assert one.verified(query, 1.0) is None


def test_an_end_is_verified_if_it_was_asked_for() -> None:
    ended = active().ending(5.0).verified(YES | {"hub.mode": "unsubscribe"}, 6.0)
    assert ended is not None
    assert (ended.state, ended.until_s, ended.is_live(7.0)) == (PushState.KNOWN, 0.0, False)


def test_after_a_denial_the_hub_is_left_in_peace_for_a_week() -> None:
    one = active()
    assert one.denied({"hub.mode": "denied", "hub.topic": "http://other/"}, 5.0) is None
    denied = one.denied({"hub.mode": "denied", "hub.topic": one.topic, "hub.reason": "no"}, 5.0)
    assert denied is not None
    assert (denied.is_live(6.0), denied.due_s()) == (False, 5.0 + 7 * DAY_S)


def test_a_hub_that_does_not_verify_is_asked_ever_less() -> None:
    one, waits = ONE.asked(0.0), []
    for _ in range(6):
        waits.append(one.due_s() - one.changed_s)
        one = one.asked(one.due_s())
    assert waits == [HOUR_S, 2 * HOUR_S, 4 * HOUR_S, 8 * HOUR_S, 16 * HOUR_S, DAY_S]


NO = {"hub.mode": "denied", "hub.topic": ONE.topic}
TWO = replace(ONE, hubs=("http://hub/", "http://hub2/"))


def following(one: PushSubscription) -> PushSubscription:
    """What is asked next when it is due."""
    due_s = one.due_s()
    return (one.at_next("path2", "secret2", due_s) if one.passes_on(due_s) else one).asked(due_s)


def test_the_next_hub_is_asked_at_once_after_a_refusal_and_soon_without_verification() -> None:
    refused = TWO.asked(0.0).refused(1.0)
    assert refused.due_s() == 1.0
    second = following(refused)
    assert (second.hub, second.path, second.secret) == ("http://hub2/", "path2", "secret2")
    assert following(TWO.asked(0.0)).changed_s == NEXT_HUB_AFTER_S
    first = following(second)
    assert (first.hub, first.changed_s - second.changed_s, first.failures) == ("http://hub/", HOUR_S, 1)
    last = following(following(first))
    assert last.changed_s - first.changed_s == NEXT_HUB_AFTER_S + 2 * HOUR_S, "each round waits longer"


def test_only_when_all_hubs_have_denied_none_is_asked_for_a_week() -> None:
    denied = TWO.asked(0.0).denied(NO, 1.0)
    assert denied is not None
    assert denied.due_s() == 1.0
    second = following(denied)
    both = second.denied(NO, 2.0)
    assert both is not None
    assert both.due_s() == 2.0 + 7 * DAY_S
    other = following(TWO.asked(0.0).refused(0.0)).denied(NO, 2.0)
    assert other is not None
    assert other.due_s() == 2.0 + HOUR_S


def test_a_hub_is_left_for_another_when_its_lease_has_ended_without_renewal() -> None:
    granted = TWO.asked(0.0).verified(YES, 0.0)
    assert granted is not None
    renewing = granted.asked(granted.due_s()).refused(granted.due_s())
    assert not renewing.passes_on(renewing.due_s())
    assert renewing.due_s() == granted.due_s() + HOUR_S
    assert renewing.is_live(renewing.due_s())
    assert renewing.passes_on(granted.until_s)


def test_the_request_names_topic_callback_and_secret() -> None:
    form = parse_qs(ONE.form("subscribe", "http://cb/path").decode())
    assert form == {
        "hub.mode": ["subscribe"], "hub.topic": [ONE.topic], "hub.callback": ["http://cb/path"],
        "hub.lease_seconds": ["864000"], "hub.secret": ["secret"],
    }  # fmt: skip
    assert "secret" not in ONE.form("unsubscribe", "http://cb/path").decode()


BODY = b"a push of some length"


@pytest.mark.parametrize(("method", "proof"), [
    ("sha256", PushProof.SIGNED), ("sha384", PushProof.SIGNED), ("sha512", PushProof.SIGNED),
    ("sha1", PushProof.UNSIGNED),
])  # fmt: skip
def test_a_signature_by_a_safe_method_proves_who_pushes(method: str, proof: PushProof) -> None:
    value = hmac.new(b"secret", BODY, getattr(hashlib, method)).hexdigest()
    verifier = PushVerifier("secret", f"{method}={value}")
    verifier.add(BODY[:5])
    verifier.add(BODY[5:])
    assert verifier.proof() is proof


def test_a_push_changed_in_any_byte_is_forged() -> None:
    value = hmac.new(b"secret", BODY, hashlib.sha256).hexdigest()
    for at in range(len(BODY)):
        verifier = PushVerifier("secret", f"sha256={value}")
        verifier.add(BODY[:at] + bytes([BODY[at] ^ 1]) + BODY[at + 1 :])
        assert verifier.proof() is PushProof.FORGED
    for wrong in (value[:-1], value[::-1], "ü", "0"):
        verifier = PushVerifier("secret", f"sha256={wrong}")
        verifier.add(BODY)
        assert verifier.proof() is PushProof.FORGED


@pytest.mark.parametrize("field", [None, "", "sha256", "sha256=", "md5=00", "=00"])
def test_without_a_signature_it_is_no_more_than_a_hint(field: str | None) -> None:
    assert PushVerifier("secret", field).proof() is PushProof.UNSIGNED

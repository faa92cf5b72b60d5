"""Clients that refuse our certificate."""

from bestbefore.addon.proxy.mitm.tunnels import TUNNELLED_S, Refusals


def test_the_second_refusal_opens_a_tunnel_for_an_hour_for_that_client_and_host() -> None:
    refusals = Refusals()
    assert not refusals.refused("192.0.2.1", "bank.example", 0.0)
    assert not refusals.tunnelled("192.0.2.1", "bank.example", 0.0)
    assert refusals.refused("192.0.2.1", "bank.example", 1.0)
    assert refusals.tunnelled("192.0.2.1", "bank.example", 2.0)
    assert not refusals.tunnelled("192.0.2.2", "bank.example", 2.0)
    assert not refusals.tunnelled("192.0.2.1", "other.example", 2.0)
    assert not refusals.tunnelled("192.0.2.1", "bank.example", 2.0 + TUNNELLED_S)


def test_a_third_refusal_is_not_announced_again() -> None:
    refusals = Refusals()
    assert [refusals.refused("a", "b", 0.0) for _ in range(4)] == [False, True, False, False]
